"""The ways of a family to keep clients off a failed site, as the fence plan of an inventory names them.

Besides these, every site may be fenced by the operator's own ``command``, or by a person who then attests it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.model.installed import installed


@dataclass(frozen=True, slots=True)
class FenceKind:
    """One way to fence. ``does``: its effect, in words. ``action`` shuts the site, and ``reading`` shows that it is shut.

    ``pattern``: the pattern of its value in a fence plan, and ``says``: the pattern in words for a person. Without a
    pattern the value is ``true``. ``published``: the JSON Schema of inventories names this way.
    """

    does: str
    action: str
    reading: str
    pattern: str = ""
    says: str = ""
    published: bool = True


def known_fences(own: str = "") -> Mapping[str, FenceKind]:
    """By name, the ways to fence of the installed families. If two have the same name, that of the family ``own``
    counts."""
    found: dict[str, FenceKind] = {}
    families = installed().families
    for family in (*families.values(), families.get(own)):
        found |= getattr(family, "fences", {})
    return found
