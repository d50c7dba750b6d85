"""The command line: the only place that knows every name. What is heavy is imported by the command that needs it."""
