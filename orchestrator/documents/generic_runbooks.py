"""Makes the runbooks of a file-based family without its own, from its facets and from the effects of its actions.

``controlled`` closes the source, waits until the target has everything, and opens the target. ``uncontrolled`` opens
the target after the source was silent for a while and a person attested or waived the fence. ``restore`` and
``failback`` are the way back. ``guard`` closes a source that serves while its mate serves too. No runbook is made if the
file does not determine the action, or if no reading would show that the target has everything.
"""

from __future__ import annotations

import json
from collections.abc import Container

from orchestrator.documents.generic_facets import Facets, Steps, not_made
from orchestrator.documents.generic_restore import becoming_mate, failback, restore
from orchestrator.errors import DefinitionError
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.facets import Facet
from orchestrator.model.runbook import Runbook

KINDS = ("controlled", "uncontrolled", "restore", "failback", "guard")
_MADE = "The program made this runbook from the family file."
_LINK_LOST = {
    "grace": "30s",
    "gate": "link-lost",
    "choices": ["wait", "revert", "escalate"],
    "unattended": "revert",
}
_STALLED = {"after": "1m", "gate": "drain-stalled", "choices": ["wait", "revert", "escalate"], "unattended": "revert"}
_POLL = {"min": "100ms", "max": "1s"}
# What an operator does about a check that does not hold.
_RELINK = "check the link between the sites, and read both sites with `failover status`"
_SERVING = "find out with `failover status` which site serves, and start the move from that site"
_CLOSE_ONE = "close the site that must not serve, and read both sites with `failover status`"
_TAKEN = "read both sites with `failover status`: if the target serves, there is nothing to take over"
_NOT_LOST = "read both sites with `failover status`, and use `failover controlled` if the failed site serves"
_HEARD = "reach the failed site another way and use `failover controlled`, or stop the failed site first"
_LET_SERVE = (
    "read both sites with `failover status SERVICE`. If TARGET serves, end the run with `failover abort --leave --reason"
    " TEXT`. Otherwise run `failover resume`"
)
_OPENED = (
    "read both sites with `failover status SERVICE`, and find out who opened SOURCE. Do not open TARGET while SOURCE"
    " serves"
)
_MOVED = (
    "read both sites with `failover status SERVICE`. If TARGET serves and SOURCE does not, end the run with `failover"
    " abort --leave --reason TEXT`. Otherwise run `failover resume`"
)
_NAME_FAILED = "check with `failover status` which site serves, and name the failed site with `--site`"


def generic_runbook(file: FamilyFile, kind: str, own: Container[str] = ()) -> Runbook:
    """The runbook ``kind``, one of ``KINDS``. ``own`` names the kinds that the family brings itself. Raises
    ``DefinitionError`` with the reason if the runbook cannot be made."""
    if kind == "failback" and "controlled" not in own:
        _controlled(file)  # failback continues with controlled, so controlled must be possible
    made = {"controlled": _controlled, "uncontrolled": _uncontrolled, "guard": _guard}
    steps = {**made, "restore": restore, "failback": failback}[kind](file)
    summary = {
        "controlled": f"Planned switch of a {file.words.service} to its mate. Nothing is lost. {_MADE}",
        "uncontrolled": f"The failed site is lost. Its mate takes over the {file.words.service}. {_MADE}",
        "restore": f"The failed site comes back as the mate of the acting site. {_MADE}",
        "failback": f"The {file.words.service} moves back to the restored site. Nothing is lost. {_MADE}",
        "guard": f"The failed site serves again while its mate serves. The failed site is closed. {_MADE}",
    }[kind]
    plain = {"runbook": f"{file.family}/{kind}", "summary": summary, "steps": steps}
    more = {"continue_with": f"{file.family}/controlled"} if kind == "failback" else {}
    return Runbook.model_validate_json(json.dumps(plain | more), strict=True)


def can_be_made(file: FamilyFile, kind: str, own: Container[str] = ()) -> bool:
    """Can ``generic_runbook`` make this runbook?"""
    try:
        generic_runbook(file, kind, own)
    except DefinitionError:
        return False
    return True


def _controlled(file: FamilyFile) -> Steps:
    facets = Facets(file)
    close = facets.closing("controlled")
    reopen, opens = facets.reopening(close), facets.opening()
    drained = facets.drained()
    if drained is None:
        why = (
            "no field shows that the target has everything: add a field with the facet backlog that also counts at a"
        )
        raise not_made(file, "controlled", f"{why} closed source, or two fields with the facets mark and reached")
    if not facets.links({"target": "x"}):
        raise not_made(file, "controlled", "no field reports the state of the link at the target (facet link)")
    lost = {"target": "the link was lost before the target had everything"}
    doubt = (
        [
            facets.check(
                "source",
                Facet.IN_DOUBT,
                0,
                "the source has prepared transactions without an outcome",
                "wait until each prepared transaction at the source has an outcome, or end it there",
            )
        ]
        if facets.has(Facet.IN_DOUBT, "serves")
        else []
    )
    return [
        {
            "id": "ready",
            "title": "Check that the source serves, and that the target is ready",
            "require": [
                facets.check(
                    "source", Facet.SERVES, True, "the source does not serve, so there is nothing to move", _SERVING
                ),
                facets.check("target", Facet.SERVES, False, "the target already serves", _CLOSE_ONE),
                *facets.links(
                    {"source": "the link is down at the source", "target": "the link is down at the target"},
                    remedy=_RELINK,
                ),
                *doubt,
            ],
        },
        *facets.managers("source", "target"),
        {
            "id": "close",
            "title": "Close the source",
            "require": [
                facets.check("target", Facet.SERVES, False, "the target serves", _CLOSE_ONE),
                *facets.links({"target": "the link is down at the target"}, remedy=_RELINK),
            ],
            "do": {"on": "source", "action": close},
            "expect": facets.shut(close),
            "undo": {
                "require": [
                    facets.check(
                        "target",
                        Facet.SERVES,
                        False,
                        "the target serves, so opening the source could make two active sites",
                        _LET_SERVE,
                    )
                ],
                "do": {"on": "source", "action": reopen},
                "expect": facets.shown(reopen),
            },
        },
        {
            "id": "drain",
            "title": "Wait until the target has everything",
            "until": [drained.check],
            "guard": [*drained.beside, *facets.links(lost)],
            "when_guard_breaks": _LINK_LOST,
            "progress": drained.progress,
            "when_stalled": _STALLED,
            "poll": _POLL,
        },
        {
            "id": "take-over",
            "title": "Open the target",
            "point_of_no_return": True,
            "require": [
                facets.check("source", Facet.SERVES, False, "the source serves again", _OPENED),
                facets.check("target", Facet.SERVES, False, "the target already serves", _MOVED),
            ],
            "reconfirm": [
                drained.check | {"say": "the target no longer has everything"},
                *facets.links({"target": "the link was lost after the target had everything"}),
            ],
            "when_guard_breaks": _LINK_LOST,
            "progress": drained.progress,
            "poll": _POLL,
            "do": {"on": "target", "action": opens},
            "expect": facets.shown(opens, "target"),
        },
        *(one | {"unless_escalated": True} for one in becoming_mate(file, "controlled")),
    ]


def _uncontrolled(file: FamilyFile) -> Steps:
    facets = Facets(file)
    opens = facets.opening()
    silent = {"on": "source", "reading": "reachability", "where": {"role_known": False}, "remedy": _NOT_LOST}
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
                    "say": "the failed site still serves; use `failover controlled`",
                },
                {
                    "on": "source",
                    "reading": "reachability",
                    "where": {"role": "standby"},
                    "say": "the failed site answers but does not serve, so it is not lost",
                    "remedy": "check with `failover status` whether its mate serves already. If not, look for an"
                    " unfinished run with `failover runs list`",
                },
            ],
            "hold": "10s",
            "timeout": "1m",
            "poll": {"min": "1s", "max": "2s"},
        },
        *facets.managers("target"),
        *_unlinked(facets),
        {
            "id": "unfenced",
            "title": "Confirm or waive the fence of the failed site",
            "ask": {
                "gate": "unfenced",
                "text": "No reading proves that clients are kept away from the failed site. If the site comes back"
                " while clients can reach it, both sites serve. attest: the site is fenced by a means that this"
                " program cannot see. waive: take over without that proof.",
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
                facets.check("target", Facet.SERVES, False, "the target already serves", _TAKEN),
                *facets.cut("the target hears from the failed site again", _HEARD),
                silent | {"say": "the failed site has come back"},
            ],
            "do": {"on": "target", "action": opens},
            "expect": facets.shown(opens, "target"),
        },
    ]


def _unlinked(facets: Facets) -> Steps:
    """Checks that the target does not hear from the source. If the target does, the source is not lost: only this
    program cannot reach it."""
    cut = facets.cut("the target still hears from the failed site, so the failed site is alive", _HEARD)
    if not cut:
        return []
    title = "Confirm that the target no longer hears from the failed site"
    return [{"id": "link-lost", "title": title, "until": cut, "timeout": "1m", "poll": {"min": "500ms", "max": "2s"}}]


def _guard(file: FamilyFile) -> Steps:
    """Only closes the failed site. ``restore`` makes the site a mate again."""
    facets = Facets(file)
    close = facets.closing("guard")
    left = "the other site does not serve, so this site is not changed"
    return [
        {
            "id": "acting",
            "title": "Check that the other site serves",
            "require": [facets.check("target", Facet.SERVES, True, left, _NAME_FAILED)],
            "patience": "5s",
        },
        {
            "id": "close",
            "title": "Close the failed site",
            "point_of_no_return": True,
            "require": [facets.check("target", Facet.SERVES, True, left, _NAME_FAILED)],
            "do": {"on": "source", "action": close},
            "expect": facets.shut(close),
            "within": "5s",
            "patience": "5s",
            "attempts": 20,
        },
    ]
