"""For a cluster: spark-submit --master … "$(python -m pipeline.submit --path)" reconcile LEFT RIGHT --out DIR.

The arguments are those of ``failover pipeline``. The program uses spark-submit's session and its settings.
"""

from __future__ import annotations

import sys
from pathlib import Path
from runpy import run_module

if __name__ == "__main__":
    if sys.argv[1:] == ["--path"]:
        sys.stdout.write(f"{Path(__file__).resolve()}\n")
    else:
        sys.argv = ["failover", "pipeline", *sys.argv[1:]]
        run_module("orchestrator.cli", run_name="__main__")
