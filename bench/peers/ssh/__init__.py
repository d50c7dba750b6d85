"""The same steps for twenty services over SSH."""
