"""The runbooks of a family in a file that has none of its own, made from its facets and from what its actions make.

``controlled`` closes the source, waits until nothing waits there any more, and opens the target. ``uncontrolled`` opens
the target once the source was silent for a while and somebody answered for the fence. Where the file leaves open which
action is meant, or nothing would show that the target has everything, there is none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from orchestrator.errors import DefinitionError
from orchestrator.model.facets import Facet
from orchestrator.model.family_file import FamilyFile
from orchestrator.model.runbook import Runbook

KINDS = ("controlled", "uncontrolled")
_LINK_LOST = {
    "grace": "30s",
    "gate": "link-lost",
    "choices": ["wait", "revert", "escalate"],
    "unattended": "revert",
}
_STALLED = {"after": "1m", "gate": "drain-stalled", "choices": ["wait", "revert", "escalate"], "unattended": "revert"}
_POLL = {"min": "100ms", "max": "1s"}


def generic_runbook(file: FamilyFile, kind: str) -> Runbook:
    """The runbook ``kind``, one of ``KINDS``. Raises ``DefinitionError`` with the reason why none can be made."""
    steps = _controlled(file) if kind == "controlled" else _uncontrolled(file)
    summary = {
        "controlled": f"Planned switch of a {file.words.service} to its mate, by facets alone. Nothing is lost.",
        "uncontrolled": f"The failed site is dark. Its mate takes over the {file.words.service}, by facets alone.",
    }[kind]
    plain = {"runbook": f"{file.family}/{kind}", "summary": summary, "steps": steps}
    return Runbook.model_validate_json(json.dumps(plain), strict=True)


def can_be_made(file: FamilyFile, kind: str) -> bool:
    """Does ``generic_runbook`` make one?"""
    try:
        generic_runbook(file, kind)
    except DefinitionError:
        return False
    return True


class _Facets:
    """Where a family's facets are read."""

    def __init__(self, file: FamilyFile) -> None:
        self._file = file
        self._places = {
            field.facet: (reading, name, field)
            for reading, declared in file.readings.items()
            for name, field in declared.fields.items()
            if field.facet is not None
        }

    def has(self, facet: Facet, *, serving: bool) -> bool:
        """Is it read, and has it a meaning at a site that serves, or at one that does not?"""
        if facet not in self._places:
            return False
        serves_in, serves, _ = self._places[Facet.SERVES]
        reading, _, field = self._places[facet]
        return reading != serves_in or field.when.get(serves, serving) is serving

    def check(self, side: str, facet: Facet, value: bool | int, say: str = "") -> dict[str, Any]:
        """A check of one side."""
        reading, name, _ = self._places[facet]
        return {"on": side, "reading": reading, "where": {name: value}} | ({"say": say} if say else {})

    def progress(self, side: str, facet: Facet) -> dict[str, Any]:
        """What a wait follows."""
        reading, name, _ = self._places[facet]
        return {"on": side, "reading": reading, "field": name}

    def links(self, say: Mapping[str, str]) -> list[dict[str, Any]]:
        """Checks of the link at the ends that tell of it; ``say``: what is wrong, by side."""
        ends = {"source": self.has(Facet.LINK, serving=True), "target": self.has(Facet.LINK, serving=False)}
        return [
            self.check(side, Facet.LINK, True, say[side]) for side, tells in ends.items() if tells and side in say
        ]


def _controlled(file: FamilyFile) -> list[dict[str, Any]]:
    facets = _Facets(file)
    close, reopen = _closing(file)
    opens = _opening(file)
    if not (facets.has(Facet.BACKLOG, serving=True) and facets.has(Facet.BACKLOG, serving=False)):
        raise _none(file, "controlled", "no field counts what waits at a source that was closed (facet backlog)")
    if not facets.links({"target": "x"}):
        raise _none(file, "controlled", "no field tells the target's end of the link (facet link)")
    backlog = facets.check("source", Facet.BACKLOG, 0)
    closed = facets.check("source", Facet.SERVES, False)
    lost = {"target": "the link was lost before the target had everything"}
    doubt = (
        [facets.check("source", Facet.IN_DOUBT, 0, "something at the source has no outcome yet")]
        if facets.has(Facet.IN_DOUBT, serving=True)
        else []
    )
    return [
        {
            "id": "ready",
            "title": "Check that the source serves, and that the target is ready",
            "require": [
                facets.check("source", Facet.SERVES, True, "the source does not serve, so there is nothing to move"),
                facets.check("target", Facet.SERVES, False, "the target serves already"),
                *facets.links(
                    {"source": "the link is down at the source", "target": "the link is down at the target"}
                ),
                *doubt,
            ],
        },
        {
            "id": "close",
            "title": "Close the source",
            "require": [
                facets.check("target", Facet.SERVES, False, "the target serves"),
                *facets.links({"target": "the link is down at the target"}),
            ],
            "do": {"on": "source", "action": close},
            "expect": [closed],
            "undo": {
                "require": [
                    facets.check(
                        "target",
                        Facet.SERVES,
                        False,
                        "the target serves, so opening the source could make two active sites",
                    )
                ],
                "do": {"on": "source", "action": reopen},
                "expect": [facets.check("source", Facet.SERVES, True)],
            },
        },
        {
            "id": "drain",
            "title": "Wait until the target has everything",
            "until": [backlog],
            "guard": facets.links(lost),
            "when_guard_breaks": _LINK_LOST,
            "progress": facets.progress("source", Facet.BACKLOG),
            "when_stalled": _STALLED,
            "poll": _POLL,
        },
        {
            "id": "take-over",
            "title": "Open the target",
            "point_of_no_return": True,
            "require": [
                facets.check("source", Facet.SERVES, False, "the source serves again"),
                facets.check("target", Facet.SERVES, False, "the target serves already"),
            ],
            "reconfirm": [
                backlog | {"say": "the target does not have everything any more"},
                *facets.links({"target": "the link was lost after the target had everything"}),
            ],
            "when_guard_breaks": _LINK_LOST,
            "progress": facets.progress("source", Facet.BACKLOG),
            "poll": _POLL,
            "do": {"on": "target", "action": opens},
            "expect": [facets.check("target", Facet.SERVES, True)],
        },
    ]


def _uncontrolled(file: FamilyFile) -> list[dict[str, Any]]:
    facets = _Facets(file)
    opens = _opening(file)
    silent = {"on": "source", "reading": "reachability", "where": {"role_known": False}}
    return [
        {
            "id": "source-lost",
            "title": "Check that the failed site stays silent",
            "until": [silent],
            "never": [
                {
                    "on": "source",
                    "reading": "reachability",
                    "where": {"role": "active"},
                    "say": "it still serves; use `failover controlled`",
                },
                {
                    "on": "source",
                    "reading": "reachability",
                    "where": {"role": "standby"},
                    "say": "it answers and does not serve, so it is not lost",
                },
            ],
            "hold": "10s",
            "timeout": "1m",
            "poll": {"min": "1s", "max": "2s"},
        },
        {
            "id": "unfenced",
            "title": "Answer for the fence of the failed site",
            "ask": {
                "gate": "unfenced",
                "text": "No reading proves that clients are kept away from the failed site. If it comes back while nobody"
                " keeps them away, both sites serve. attest: it is fenced, by a means this program cannot see. waive:"
                " take over all the same.",
                "choices": ["attest", "waive", "stop"],
                "unattended": "stop",
                "option": "--attest TEXT",
            },
        },
        {
            "id": "take-over",
            "title": "Open the target",
            "point_of_no_return": True,
            "require": [
                facets.check("target", Facet.SERVES, False, "the target serves already"),
                silent | {"say": "the failed site has come back"},
            ],
            "do": {"on": "target", "action": opens},
            "expect": [facets.check("target", Facet.SERVES, True)],
        },
    ]


def _closing(file: FamilyFile) -> tuple[str, str]:
    """The one action that only ends service and can be taken back, and its inverse."""
    found = [
        (name, action.inverse)
        for name, action in file.actions.items()
        if action.makes == {Facet.SERVES: False} and not action.arguments and action.inverse is not None
    ]
    if len(found) != 1:
        what = "no action" if not found else f"not one action but {', '.join(name for name, _ in found)}"
        raise _none(file, "controlled", f"{what} makes serves: false and nothing else, and has an inverse")
    return found[0]


def _opening(file: FamilyFile) -> str:
    """The one action that only begins service."""
    found = [
        name for name, action in file.actions.items() if action.makes == {Facet.SERVES: True} and not action.arguments
    ]
    if len(found) != 1:
        what = "no action" if not found else f"not one action but {', '.join(found)}"
        raise _none(file, "generic", f"{what} makes serves: true and nothing else")
    return found[0]


def _none(file: FamilyFile, kind: str, why: str) -> DefinitionError:
    what = "runbook" if kind == "generic" else f"runbook {kind}"
    return DefinitionError(
        f"{file.family} has no {what} of its own, and its file does not give one: {why}",
        hint=f"write it beside the family file: {file.family}/{'controlled' if kind == 'generic' else kind}.yaml",
    )
