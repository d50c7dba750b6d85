"""Statistics of earlier runs: the time of each phase, the drain rates of queues, and actions that were retried."""
