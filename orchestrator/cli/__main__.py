"""``python -m orchestrator.cli``: the ``failover`` command without its script."""

from orchestrator.cli.main import main

main()
