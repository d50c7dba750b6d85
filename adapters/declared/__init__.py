"""Families that one file declares: its readings and actions, over a database or commands."""
