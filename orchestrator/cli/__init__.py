"""The command line: parses, calls what does the work, shows what came of it. What is heavy is imported late."""
