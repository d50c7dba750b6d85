"""The replication fabric that configurations make together."""
