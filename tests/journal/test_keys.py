"""What a key stands for: all that was asked. Another request with the same key is refused, whatever it differs in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import MARK, SecretStore
from orchestrator.journal.idempotency_keys import NOT_ASKED, UsedKey, differences, parts, stored
from orchestrator.model import events as ev
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.inventory import Device
from orchestrator.model.plan import ApprovalRule, Waves
from orchestrator.operations.runs.idempotency import what_was_asked
from orchestrator.operations.runtime import Tools
from tests.cli.complaints import untouched
from tests.cli.shell import VPN, Shell
from tests.core.builders import CHECK, a_plan
from tests.families.declared import COUNTER
from tests.hooks.hooking import a_hook

COMMIT = ev.Ruling(choice="commit", reason="all other branches are committed", by="file a.yaml")
RULE = ApprovalRule(needed=1, within=60.0, requester="ann")
POLICY = ev.Policy(on_gate={"bridge-lost": "revert"}, reasons={"bridge-lost": "r"}, transactions={"1-a-b": COMMIT})
PLAN = a_plan(services=("A", "B"), policy=POLICY).model_copy(update={"approval": RULE})


def with_policy(**changed: Any) -> ev.Plan:
    return PLAN.model_copy(update={"policy": POLICY.model_copy(update=changed)})


def with_rule(**changed: Any) -> ev.Plan:
    return PLAN.model_copy(update={"approval": RULE.model_copy(update=changed)})


def elsewhere() -> ev.Plan:
    """The same services at another device."""
    sites = dict(PLAN.inventory.sites)
    name = next(iter(sites))
    sites[name] = sites[name].model_copy(update={"devices": (Device(name="other", address="other.example"),)})
    return PLAN.model_copy(update={"inventory": PLAN.inventory.model_copy(update={"sites": sites})})


# By the part that is named: plans that ask for something else.
OTHERS: Mapping[str, list[ev.Plan]] = {
    "the runbook": [
        PLAN.model_copy(update={"runbook": a_plan(CHECK).runbook}),
        PLAN.model_copy(update={"runbook": PLAN.runbook.model_copy(update={"summary": "In disguise."})}),
        PLAN.model_copy(update={"families": (FamilyFile.model_validate(COUNTER),)}),
    ],
    "the direction": [
        PLAN.model_copy(update={"source": PLAN.target, "target": PLAN.source}),
        PLAN.model_copy(update={"pair": "another"}),
    ],
    "the services": [PLAN.model_copy(update={"services": one}) for one in (("A",), ("A", "B", "C"), ("A", "C"))],
    "the inventory": [elsewhere()],
    "the answers given in advance": [
        with_policy(on_gate={"bridge-lost": "escalate"}),
        with_policy(on_gate={}),
        with_policy(on_gate={**POLICY.on_gate, "unfenced": "waive"}),
        with_policy(reasons={"bridge-lost": "another reason"}),
        with_policy(reason="another reason"),
        with_policy(fail_fast=True),
    ],
    "the decisions on transactions": [
        with_policy(transactions={}),
        with_policy(transactions={"1-a-b": COMMIT.model_copy(update={"choice": "rollback"})}),
        with_policy(transactions={"1-a-b": COMMIT.model_copy(update={"reason": "because"})}),
        with_policy(transactions={"1-a-b": COMMIT, "1-c-d": COMMIT}),
    ],
    "the approvals": [
        PLAN.model_copy(update={"approval": None}),
        with_rule(needed=2),
        with_rule(within=61.0),
        with_rule(break_glass=False),
    ],
    "other options": [
        PLAN.model_copy(update={"waves": Waves(size=1)}),
        PLAN.model_copy(update={"simulated": not PLAN.simulated}),
    ],
}
EACH = [(part, other) for part, others in OTHERS.items() for other in others]


def compared(first: ev.Plan, other: ev.Plan, options: Any = None, others: Any = None) -> list[str]:
    key = UsedKey("run", stored(parts(first, options)))
    return list(differences(parts(other, others), key, first))


@pytest.mark.parametrize(("part", "other"), EACH, ids=[f"{part} {number}" for number, (part, _) in enumerate(EACH)])
def test_what_differs_is_named(part: str, other: ev.Plan) -> None:
    """Law: each thing that can be asked belongs to the request, in both directions; the part it belongs to is named."""
    assert part in compared(PLAN, other)
    assert part in compared(other, PLAN)
    assert compared(PLAN, PLAN) == compared(other, other) == []


@pytest.mark.parametrize("options", [{"--break-glass": "why"}, {"--fault": ["drain: stall"]}, {"--spool": "lost"}])
def test_an_option_that_no_plan_has_is_asked_too(options: Mapping[str, object]) -> None:
    """Law: breaking the glass, for example, is no field of the plan, and another request all the same."""
    assert compared(PLAN, PLAN, {}, options) == compared(PLAN, PLAN, options, {}) == ["other options"]


def test_every_field_of_a_plan_is_asked_or_known_not_to_be() -> None:
    """Law: a field that a plan gets later is compared by itself, unless it is named as one that nobody asks for."""
    tried = {
        name for others in OTHERS.values() for other in others for name in PLAN.model_dump() if _differs(other, name)
    }
    assert tried | NOT_ASKED == set(ev.Plan.model_fields)


def _differs(other: ev.Plan, name: str) -> bool:
    return bool(getattr(other, name) != getattr(PLAN, name))


def test_what_nobody_asked_for_does_not_count() -> None:
    """Law: who asks, from which file, in which order, who is told of it, and what was found in older records are no part
    of the request: automation may ask again from another account."""
    hooked = PLAN.inventory.model_copy(update={"hooks": (a_hook(),)})
    same = [
        PLAN.model_copy(update={"services": ("B", "A")}),
        PLAN.model_copy(update={"notes": ("last known: active",), "outage": ev.Outage(at=1.0)}),
        PLAN.model_copy(update={"inventory": hooked}),
        with_rule(requester="bob"),
        with_policy(
            transactions={"1-a-b": COMMIT.model_copy(update={"by": "file b.yaml", "account": "bob", "uid": 1002})}
        ),
    ]
    assert [compared(PLAN, other) for other in same] == [[]] * len(same)
    waves = PLAN.model_copy(update={"waves": Waves(size=1)})
    assert compared(waves, waves.model_copy(update={"services": ("B", "A")})) == ["the services"]


def test_in_which_order_it_is_said_does_not_count() -> None:
    """Law: the same answers and the same decisions are the same request, whichever of them is read first."""
    first = with_policy(
        on_gate={"bridge-lost": "revert", "unfenced": "waive"}, transactions={"1": COMMIT, "2": COMMIT}
    )
    other = with_policy(
        on_gate={"unfenced": "waive", "bridge-lost": "revert"}, transactions={"2": COMMIT, "1": COMMIT}
    )
    assert compared(first, other) == []
    assert compared(PLAN, PLAN, {"command": "move", "--spool": "lost"}, {"--spool": "lost", "command": "move"}) == []


def test_an_option_that_is_not_given_is_not_asked() -> None:
    """Law: a later version knows of more options, and a request that gives none of them is the same as before."""
    assert compared(PLAN, PLAN, {"command": "move"}, {"command": "move", "--fault": [], "--later": None}) == []


def test_no_secret_is_in_what_a_key_stands_for(tmp_path: Path) -> None:
    """Promise 10: what is kept of a request are hashes of texts without secrets, since a hash can be guessed at."""
    tools = Tools(tmp_path, VirtualClock(), SecretStore(environment={}), Registry())
    tools.secrets.redactor.learn("Hunter2!")
    with_it, without = (
        what_was_asked(tools, with_policy(reason=f"because {word}"), {"--break-glass": f"since {word}"})
        for word in ("Hunter2!", MARK)
    )
    assert with_it == without


def test_a_key_of_an_older_version_is_held_against_its_plan() -> None:
    """Law: 0.1.0 kept no request; what its plan tells is compared, and options that no plan has are not."""
    key = UsedKey("run", None)
    assert differences(parts(PLAN, {"--break-glass": "why"}), key, PLAN) == []
    assert "the decisions on transactions" in differences(parts(with_policy(transactions={})), key, PLAN)


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


@pytest.mark.parametrize(
    ("more", "differs"),
    [
        (("--on-bridge-loss", "escalate"), "the answers given in advance"),
        (("--fail-fast",), "the answers given in advance"),
        (("--xa", "stop"), "the answers given in advance and the decisions on transactions"),
        (("--vpn", "Risk_VPN"), "the services"),
        (("--from", "nj"), "the direction"),
        (("--wave", "1"), "other options"),
        (("--approve-by", "1"), "the approvals"),
        (("--fault", "drain: stall"), "other options"),
    ],
)
def test_a_key_is_refused_for_another_request(shell: Shell, more: tuple[str, ...], differs: str) -> None:
    """Law: whatever else is asked with a used key is refused in one sentence that names the first run and what differs,
    with exit code 2; nothing starts, and no device hears of it."""
    assert shell.move("--from", "nj", "--idempotency-key", "k").code == 3
    first = ("controlled", "--vpn", VPN, "--yes", "--from", "nj", "--idempotency-key", "k")
    typed = [*first, *(() if "--xa" in more else ("--xa", shell.decisions)), *more]
    if "--from" in more:
        typed = [one for one in typed if one not in ("--from", "nj")]
    ended = shell(*typed)
    assert (ended.code, ended.complaint.endswith(f"; this request differs in {differs}")) == (2, True), (
        ended.complaint
    )
    assert "'k' was used for another request: run " in ended.complaint
    assert ended.hint == "this idempotency key already belongs to another request; use a new key"
    assert len(shell("runs", "list", "--json").values) == 1
    untouched(shell)
    assert shell(*first, "--xa", shell.decisions).code == 3


def test_a_restore_asked_again(shell: Shell) -> None:
    """Law: what is found in the record of an earlier outage may be another thing by the time somebody asks again; the
    request is the same, and an option that says something of it is not."""
    assert shell("uncontrolled", "--vpn", VPN, "--site", "ny", "--yes", "--reason", "dark").code in (0, 3)
    again = ("restore", "--vpn", VPN, "--site", "ny", "--yes", "--xa", shell.decisions, "--idempotency-key", "k")
    first = shell(*again)
    assert shell(*again).code == first.code
    assert "differs in other options" in shell(*again, "--spool", "lost").complaint
