"""For a cluster: spark-submit --master … examples/spark_submit.py reconcile LEFT RIGHT --out DIR.

The arguments are those of ``failover pipeline``. The session is the one that spark-submit gives; its settings hold.
"""

from __future__ import annotations

import sys

from orchestrator.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["pipeline", *sys.argv[1:]]))
