"""The command line: parses, calls what does the work, shows its outcome. What is heavy is imported late."""
