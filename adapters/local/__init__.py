"""The operator's own commands, run on the machine that runs the program."""
