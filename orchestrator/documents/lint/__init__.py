"""Lint of runbooks and inventories: findings with file and line."""
