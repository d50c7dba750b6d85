"""The forms of a printed list: for people, for people in full (``wide``), or as data."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from orchestrator.cli.render.terminal import show_json, show_yaml


class Form(StrEnum):
    """The values of ``-o``."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


def form_of(form: Form, *, as_json: bool) -> Form:
    """The form from the options. ``--json`` means ``-o json``."""
    return Form.JSON if as_json else form


def show_data(form: Form, data: Any) -> bool:
    """Print ``data`` if the form is JSON or YAML. Returns whether it was printed."""
    if form is Form.JSON:
        show_json(data)
    elif form is Form.YAML:
        show_yaml(data)
    return form in (Form.JSON, Form.YAML)
