"""Makes ``restore`` and ``failback`` from the facets of a file-based family that has no runbooks for the way back.

Each product has its own way to make a lost site a mate again. The file describes this way if its ``model`` gives fields
different values at the mate and at the serving site, and if one action each ``makes`` those values. The file does not
say how much data such an action drops, so an operator accepts the loss first. If two actions fit, or none, there is no
runbook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

from orchestrator.documents.generic_facets import Facets, Steps, not_made
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.declared.requests import rules_in
from orchestrator.model.facets import Facet

# The most actions that are put in order. A family that needs more has to bring its own runbook.
_ACTIONS_MAX = 5
_STALLED = {"after": "5m", "gate": "sync-stalled", "choices": ["wait", "stop"], "unattended": "stop"}
_POLL = {"min": "100ms", "max": "2s"}
_LEFT = "the other site no longer serves, so this site is not changed"
# What an operator does about a check that does not hold.
_AGAIN = "check with `failover status` which site serves, and start the restore again once the other site does"
_RESTORE = "resume an unfinished restore (`failover runs list`), or run `failover restore SERVICE --site TARGET`"
_RELINK = (
    "check the link between the sites. If the site was not restored, run `failover restore SERVICE --site TARGET`"
)
_OPENED = (
    "read both sites with `failover status SERVICE`, and find out who opened SOURCE. If SOURCE serves, end the run with"
    " `failover abort --leave --reason TEXT`, and copy what only SOURCE has. Otherwise run `failover resume`"
)
_CLOSED = (
    "read both sites with `failover status SERVICE`, and find out who closed TARGET. Do not open SOURCE, because only"
    " TARGET may have all data. If TARGET serves again, run `failover resume`"
)
_LINKED = "check the link between the sites, and read both with `failover status SERVICE`, then run `failover resume`"
_WRONG_SITE = "look for an unfinished run with `failover runs list`, and check that `--site` names the restored site"


def restore(file: FamilyFile) -> Steps:
    """The failed site (source) comes back as the mate of the acting site (target). No step is rolled back."""
    facets = Facets(file)
    close = facets.closing("restore")
    mate = _mate(file, facets, "restore")
    if not facets.has(Facet.LINK, "mate"):
        raise not_made(file, "restore", "no field reports the state of the link at the mate (facet link)")
    links = facets.links({"source": "", "target": ""}, serving="target", remedy=_LINKED)
    acting = facets.check(
        "target",
        Facet.SERVES,
        True,
        "the other site does not serve, but a restore needs a site that serves",
        "check with `failover status` which site serves, and name the failed site with `--site`. If no site serves, use"
        " `failover uncontrolled` first",
    )
    closed = facets.check("source", Facet.SERVES, False, "the failed site serves again", _OPENED)
    counted = (
        [{"on": "source", "reading": facets.value("source", Facet.BACKLOG)["reading"]}]
        if facets.has(Facet.BACKLOG, "closed")
        else []
    )
    given = None if mate else facets.drained("serves")
    steps = [
        {"id": "acting", "title": "Check that the other site serves", "require": [acting]},
        *facets.managers("source", "target"),
        {
            "id": "close",
            "title": "Close the failed site",
            "point_of_no_return": True,
            **({} if file.actions[close].idempotent else {"only_if": [facets.check("source", Facet.SERVES, True)]}),
            "require": [facets.check("target", Facet.SERVES, True, _LEFT, _AGAIN)],
            "do": {"on": "source", "action": close},
            "expect": facets.shut(close),
            **({"report": counted} if counted else {}),
        },
    ]
    if given is None:
        steps.append(_accepting(file, mate))
    else:
        steps.append(
            {
                "id": "arrived",
                "title": "Wait until the acting site has all data of the failed site",
                "until": [given.check | {"remedy": _LINKED}, closed, *links],
                "progress": given.progress,
                "when_stalled": _STALLED,
                "timeout": "1d",
                "poll": _POLL,
            }
        )
    return [
        *steps,
        *becoming_mate(file, "restore"),
        {
            "id": "following",
            "title": "Check that the failed site is the mate of the acting site",
            "until": [closed, *(one | {"remedy": _LINKED} for one in _flags(file, facets, "source")), *links],
            "timeout": "1h",
            "poll": _POLL,
        },
    ]


def failback(file: FamilyFile) -> Steps:
    """Proves that the restored site (target) is the mate of the acting site (source). The steps of ``controlled``
    follow."""
    facets = Facets(file)
    down = {
        "source": "the acting site has no link to the other site",
        "target": "the other site has no link to the acting site, so the other site is not restored",
    }
    links = facets.links(down, remedy=_RELINK)
    if not links:
        raise not_made(file, "failback", "no field reports the state of the link at either site (facet link)")
    arrived = []
    if facets.has(Facet.BACKLOG, "mate"):
        left = "the acting site does not have all data of the other site"
        wait = "wait until `failover status` shows that nothing is left at the restored site"
        arrived = [facets.check("target", Facet.BACKLOG, 0, left, wait)]
    serves = "the other site serves, so it is not restored as a mate"
    flags = [
        one | {"say": "the other site is not the mate of the acting site", "remedy": _RESTORE}
        for one in _flags(file, facets, "target")
    ]
    idle = "the source does not serve, so there is no service to move back"
    return [
        {
            "id": "acting",
            "title": "Check that the acting site serves",
            "require": [facets.check("source", Facet.SERVES, True, idle, _WRONG_SITE)],
        },
        {
            "id": "restored",
            "title": "Check that the other site is restored",
            "require": [facets.check("target", Facet.SERVES, False, serves, _RESTORE), *flags, *links, *arrived],
        },
    ]


def _accepting(file: FamilyFile, mate: Sequence[str]) -> dict[str, Any]:
    """The operator accepts a loss, because no reading shows which data only the failed site has, or that its mate gets
    this data."""
    why = "No reading shows that the acting site gets the data that only the failed site has."
    if mate:
        what = ", then ".join(file.actions[name].summary for name in mate)
        why = f"These actions make the failed site the mate: {what}. They may delete data that only the failed site has."
    return {
        "id": "data-loss",
        "title": "Accept that data of the failed site may be lost",
        "ask": {
            "gate": "data-loss",
            "text": f"{why} No reading shows how much data that is. Copy the data first. accept: the data may be lost"
            " (in advance: --accept-loss TEXT).",
            "choices": ["accept", "stop"],
            "unattended": "stop",
            "option": "--accept-loss TEXT",
        },
    }


def becoming_mate(file: FamilyFile, kind: str) -> Steps:
    """The steps that make a closed source the mate of a target that serves. Empty if the file gives a closed site and a
    mate the same fields."""
    facets = Facets(file)
    closed = facets.check("source", Facet.SERVES, False, "the closed site serves again", _OPENED)
    acting = facets.check("target", Facet.SERVES, True, _LEFT, _CLOSED)
    mate = facets.fields_at("mate")
    steps = []
    for action in _mate(file, facets, kind):
        made = file.actions[action]
        undone = next(name for name, value in made.makes.items() if mate.get(name) is value)
        shown = facets.shown(action)
        steps.append(
            {
                "id": action.replace("_", "-"),
                "title": f"Do at the source: {made.summary}",
                # An action that must not be sent twice is skipped if it was done already.
                **({} if made.idempotent else {"only_if": facets.fields("source", {undone: not mate[undone]})}),
                "require": [closed, acting],
                "do": {"on": "source", "action": action},
                "expect": shown
                if Facet.SERVES in made.makes
                else [*shown, facets.check("source", Facet.SERVES, False)],
            }
        )
    return steps


def _flags(file: FamilyFile, facets: Facets, side: str) -> Steps:
    """Checks that a side is the mate. They read the fields whose value at the mate differs from the serving site or from
    a closed site."""
    serves, closed, mate = (facets.fields_at(end) for end in ("serves", "closed", "mate"))
    return facets.fields(side, {one: mate[one] for one in mate if not serves[one] is closed[one] is mate[one]})


def _mate(file: FamilyFile, facets: Facets, kind: str) -> list[str]:
    """The actions that make a closed site the mate, in an order that never lets the site serve. Raises
    ``DefinitionError`` if there is no such order."""
    start, wanted = facets.fields_at("closed"), facets.fields_at("mate")
    other = {name: there for name, there in wanted.items() if start[name] is not there}
    actions = list(dict.fromkeys(_making(file, name, there, kind) for name, there in other.items()))
    if len(actions) > _ACTIONS_MAX:
        raise not_made(
            file,
            kind,
            f"a closed site needs {len(actions)} actions to become the mate, but at most {_ACTIONS_MAX} are possible",
        )
    for order in permutations(actions):
        *_, end = states = [start, *_states(file, start, order)]
        if end == wanted and not (_holds(file, start) and not all(_holds(file, state) for state in states)):
            return list(order)
    names = ", ".join(actions) or "no action"
    raise not_made(
        file, kind, f"no order of these actions makes a closed site the mate and also keeps it closed: {names}"
    )


def _making(file: FamilyFile, name: str, value: bool, kind: str) -> str:
    """The only action that gives a field this value at a site and does not let the site serve. Raises
    ``DefinitionError`` if there is not exactly one."""
    found = [
        action
        for action, one in file.actions.items()
        if one.makes.get(name) is value
        and one.makes.get(Facet.SERVES) is not True
        and not one.arguments
        and one.on_item is None
    ]
    if len(found) != 1:
        what = "no action does" if not found else f"these do: {', '.join(found)}"
        wanted = f"{name}: {str(value).lower()} at a closed site, as at the mate"
        raise not_made(file, kind, f"exactly one action must make {wanted}, but {what}")
    return found[0]


def _states(file: FamilyFile, start: Mapping[str, bool], order: Sequence[str]) -> Iterator[dict[str, bool]]:
    state = dict(start)
    for action in order:
        state |= {name: value for name, value in file.actions[action].makes.items() if name in state}
        yield dict(state)


def _holds(file: FamilyFile, state: Mapping[str, bool]) -> bool:
    """Do these fields keep a site from serving, even if an action tells the site to serve?"""
    rule = rules_in(file.model).get(Facet.SERVES)
    return rule is not None and any(state.get(one) is not is_so for one, is_so in rule.only_while.items())
