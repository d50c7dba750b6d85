"""Makes the documentation's tables from the code: checks, rules and assumptions, as Markdown.

``docs/how-to/amps-validation.md`` contains these tables between markers. A test checks that both are equal.
"""

from __future__ import annotations

from collections.abc import Iterable

from adapters.amps.config.settings import Assumptions
from validator.rules.catalogue import NINE, OURS, Rule


def rules_table(rules: Iterable[Rule]) -> str:
    """A row for each rule: id, level, requirement, and the consequence of breaking it."""
    lines = ["| id | level | what must hold | otherwise |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{rule.id}` | {rule.level} | {_cell(rule.title.rstrip('.'))} | {_cell(rule.consequence)} |"
        for rule in rules
    ]
    return "\n".join(lines)


def assumptions_table() -> str:
    """Name, default and meaning of every assumption."""
    lines = ["| assumption | default | what is assumed |", "| --- | --- | --- |"]
    for name, field in Assumptions.model_fields.items():
        default = str(field.default).lower() if isinstance(field.default, bool) else field.default
        lines.append(f"| `{name}` | `{default}` | {_cell(field.description or '')} |")
    return "\n".join(lines)


def sections() -> dict[str, str]:
    """Every generated section by the name of its marker."""
    return {
        "the nine checks": rules_table(NINE),
        "the other rules": rules_table(OURS),
        "the assumptions": assumptions_table(),
    }


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
