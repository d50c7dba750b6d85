"""Data as a YAML document."""

from __future__ import annotations

from typing import Any

import yaml


def yaml_text(data: Any) -> str:
    """One YAML document that starts with ``---``. ``data`` has JSON types."""
    return f"---\n{yaml.safe_dump(data, sort_keys=False, allow_unicode=False)}".rstrip("\n")
