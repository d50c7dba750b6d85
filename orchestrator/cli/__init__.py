"""The command line: parses options, calls the operation, and shows its outcome. Modules that load slowly are imported
late."""
