"""The replication fabric that the configurations form."""
