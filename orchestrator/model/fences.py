"""The ways of a family to keep clients off a failed site, as the fence plan of an inventory names them.

Beside them every site may be fenced by a ``command`` of the operator's own, or by what a person does and then attests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.model.installed import installed


@dataclass(frozen=True, slots=True)
class FenceKind:
    """``does``: what it does, in words; ``action`` shuts the site, and ``reading`` shows that it is shut.

    ``pattern``: what its value looks like, and ``says``: the same for a person; without a pattern it is ``true``.
    ``published``: the JSON Schema of inventories names it.
    """

    does: str
    action: str
    reading: str
    pattern: str = ""
    says: str = ""
    published: bool = True


def known_fences(own: str = "") -> Mapping[str, FenceKind]:
    """By name, those of the installed families; of two with one name, that of the family ``own``."""
    found: dict[str, FenceKind] = {}
    families = installed().families
    for family in (*families.values(), families.get(own)):
        found |= getattr(family, "fences", {})
    return found
