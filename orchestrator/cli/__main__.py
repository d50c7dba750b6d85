"""``python -m orchestrator.cli``: the ``failover`` command without its script."""

import sys

from orchestrator.cli.main import main

sys.exit(main())
