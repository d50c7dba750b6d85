"""Controls of the rules of a family in a file: what the world of its pair counts, and no reading shows."""

from __future__ import annotations

from typing import Any

from examples.ledger.ledger import LEDGER
from proof.meaning import meaning_of
from proof.promises.generic import rules_by_world
from tests.proof.histories import SERVICE, SOURCE, TARGET, Controls, History, Whole, check, step

GENERIC = Controls("")


def _world(managed: bool = False) -> dict[str, Any]:
    """A ledger that is kept at the source, and nothing waits. ``managed``: another manager may act at the target."""
    return {
        "moment": 10.0,
        "lags": 0.0,
        "sites": {
            SOURCE: {"serves": True, "managers": {}},
            TARGET: {"serves": True, "managers": {"pacemaker": "acts" if managed else "none"}},
        },
        "services": {
            SERVICE: {
                "serving": {SOURCE: True, TARGET: False},
                "takes": {SOURCE: True, TARGET: False},
                "waiting": {SOURCE: 0, TARGET: 0},
                "linked_since": 0.0,
                "both_active": [],
                "changes": [],
                "effects": [],
                "lost": 0,
                "received": [],
            }
        },
    }


def _closed(managed: bool = False) -> History:
    """The source was closed, and read as closed and empty over a link that holds."""
    run = History("ledger/controlled", _world(managed), (step(),), rules=rules_by_world(meaning_of(LEDGER), ()))
    run.order("set_writable", "source", state="no")
    run.ended()
    run.service["serving"][SOURCE] = run.service["takes"][SOURCE] = False
    ledger = {"kind": "ledger", "linked": True, "rows": 300, "writable": False}
    run.read(("source", "ledger", {**ledger, "unsent": 0}), ("target", "ledger", {**ledger, "unsent": None}))
    return run


def _moved() -> History:
    """The target was opened after that."""
    run = _closed()
    run.order("set_writable", "target", state="yes")
    run.ended()
    run.service["serving"][TARGET] = run.service["takes"][TARGET] = True
    return run


@GENERIC(1, "while ny serves clients")
def _opened_beside_the_source(harm: bool) -> History:
    run = _closed()
    run.service["takes"][SOURCE] = harm
    run.order("set_writable", "target", state="yes")
    return run


@GENERIC(2, "with 5 units still waiting at ny")
def _opened_before_the_units(harm: bool) -> History:
    run = _closed()
    run.service["waiting"][SOURCE] = 5 if harm else 0
    run.order("set_writable", "target", state="yes")
    return run


@GENERIC(5, "while pacemaker may act at nj, and no person accepted that")
def _opened_beside_a_manager(harm: bool) -> History:
    run = _closed(managed=harm)
    run.order("set_writable", "target", state="yes")
    return run


@GENERIC(1, "which could see by its link that ny is alive")
def _opened_by_who_is_cut_off(harm: bool) -> History:
    idle = check("ledger", "target", writable=False)
    run = Whole(
        step(require=[idle], do={"on": "target", "action": "set_writable", "args": {"state": "yes"}}),
        runbook="ledger/uncontrolled",
        world=_world(),
        rules=rules_by_world(meaning_of(LEDGER), ()),
    )
    run.started(attended=True)
    run.judge.answered(SERVICE, {"gate": "unfenced", "item": None, "why": ""}, "waive", "ann")
    run.answered("unfenced", "waive")
    run.service["linked_since"] = 9.0 if harm else None
    run.shows(on="target", reading="ledger", writable=False, linked=None, rows=300, unsent=None)
    run.send(run.intend("set_writable", "target", state="yes"), now=run.now)
    return run


@GENERIC(1, "and its own link had shown that ny is alive")
def _opened_beside_who_is_heard(harm: bool) -> History:
    run = History("ledger/uncontrolled", _world(), (step(),), rules=rules_by_world(meaning_of(LEDGER), ()))
    run.answered("unfenced", "waive")
    run.read(("target", "ledger", {"kind": "ledger", "linked": harm, "rows": 3, "writable": False, "unsent": None}))
    run.order("set_writable", "target", state="yes")
    return run


@GENERIC(1, "making nj serve made two active sites")
def _two_active_by_our_command(harm: bool) -> History:
    run = _moved()
    run.service["changes"] = [[11.0, TARGET, "active", "command"]]
    run.service["both_active"] = [[11.0, 12.0]] if harm else []
    run.judge.look(run.world)
    return run


@GENERIC(3, "done, and 3 units were lost")
def _done_with_a_loss(harm: bool) -> History:
    run = _moved()
    run.service["lost"] = 3 if harm else 0
    run.end("done")
    return run


@GENERIC(3, "2 units were said to be at risk, and 3 were lost")
def _more_lost_than_reported(harm: bool) -> History:
    run = _moved()
    run.answered("link-lost", "escalate")
    run.tell("lane.escalated", at_risk=2, ruling={"choice": "escalate", "by": "ann", "reason": "known"})
    run.service["lost"] = 3 if harm else 2
    run.end("escalated")
    return run


@GENERIC(17, "the report says that ny is active, and it is not")
def _claims_a_stopped_site(harm: bool) -> History:
    run = _closed()
    run.service["serving"][SOURCE] = not harm
    run.judge.claimed({SERVICE: {"roles": {SOURCE: "active"}, "outage_seconds": None}}, run.world)
    return run
