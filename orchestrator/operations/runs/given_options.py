"""The typed options of families: the family of each, and the decisions that they make in advance."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from orchestrator.documents.loader import read_document
from orchestrator.errors import DefinitionError
from orchestrator.family.moves import Given, Kind, MoveOption
from orchestrator.family.offers import Offered, answers_of_all, options_of_all
from orchestrator.model import events as ev
from orchestrator.model.families import family_called
from orchestrator.model.runbook import Choice, Runbook
from orchestrator.model.transactions import TransactionDecisions
from orchestrator.operations.runtime import checked_text

# A question that an option answers, its name in another family, and the option.
_BEFOREHAND = (
    ("bridge-lost", "link-lost", "--on-bridge-loss"),
    ("link-lost", "bridge-lost", "--on-bridge-loss"),
    ("drain-stalled", "", "--on-stall"),
)


def options_meant(family: str, kind: Kind, given: Given) -> Sequence[MoveOption]:
    """The options that were ``given``, as ``family`` defines them; if the family is unknown (empty), as the first
    family that has them. Raises ``DefinitionError`` for an option that this family does not have, or that lacks another
    option."""
    return _meant(options_of_all(kind), family, given) if given else ()


def _meant(offered: Offered, family: str, given: Given) -> Sequence[MoveOption]:
    found = []
    for flag in given:
        mine = [option for name, option in offered[flag] if family in ("", name)]
        if not mine:
            names = " and ".join(name for name, _ in offered[flag])
            raise DefinitionError(
                f"{flag} is an option of {names}, but this pair is of the family {family}", hint="leave it out"
            )
        if mine[0].values and given[flag] not in mine[0].values:
            raise DefinitionError(f"{flag} must be one of: {', '.join(mine[0].values)}")
        if mine[0].needs and mine[0].needs not in given:
            needed = mine[0].needs
            raise DefinitionError(f"{flag} answers a question that is only asked with {needed}", hint=f"add {needed}")
        found.append(mine[0])
    return found


def policy_given(
    options: Sequence[MoveOption], given: Given, on_stall: str | None, *, attended: bool, who: ev.Who
) -> ev.Policy:
    """The decisions that these options make in advance. ``who``: the person who typed them. Raises
    ``DefinitionError``."""
    on_gate: dict[str, Choice] = {}
    reasons: dict[str, str] = {}
    transactions: Mapping[str, ev.Ruling] = {}
    if on_stall is not None:
        on_gate["drain-stalled"] = _choice("drain-stalled", on_stall)
    for option in options:
        value = given[option.flag]
        if option.chooses:
            on_gate[option.chooses] = _choice(option.chooses, value)
        if option.decides:
            answer, transactions = _decided(option, value, attended=attended, who=who)
            on_gate.update(answer)
        on_gate.update(option.answers)
        reasons.update(dict.fromkeys(option.answers, checked_text(value, "the reason") if option.answers else ""))
    return ev.Policy(on_gate=on_gate, reasons=reasons, transactions=transactions)


def answers_given(
    given: Given, on_stall: str | None, runbook: Runbook, *, attended: bool, who: ev.Who
) -> tuple[ev.Policy, Collection[str]]:
    """The decisions that options of ``resume`` make for a run, and the gates on items that an operator is asked again:
    those with a file, or ``ask``. ``who``: the person who typed them. Raises ``DefinitionError``."""
    family = runbook.family if family_called(runbook.family) is not None else ""  # an operator's own procedure
    options = _meant(answers_of_all(), family, given) if given else ()
    policy = as_asked(policy_given(options, given, on_stall, attended=attended, who=who), runbook)
    asked = {one.decides for one in options if one.decides and given[one.flag] not in ("stop", "revert")}
    return policy, asked if attended else ()


def as_asked(policy: ev.Policy, runbook: Runbook) -> ev.Policy:
    """The policy with the runbook's own names of the questions: one family's bridge is another family's link.

    Raises ``DefinitionError`` for an answer to a question that the runbook never asks.
    """
    asked = {
        rule.gate
        for step in runbook.steps
        for rule in (step.when_guard_breaks, step.when_stalled)
        if rule is not None
    }
    on_gate = dict(policy.on_gate)
    for gate, alike, option in _BEFOREHAND:
        if gate in on_gate and gate not in asked:
            if alike not in asked:
                raise DefinitionError(
                    f"{option} answers a question that {runbook.runbook} never asks",
                    hint=f"leave it out; the runbook asks while it waits: {', '.join(sorted(asked)) or 'nothing'}",
                )
            on_gate[alike] = on_gate.pop(gate)
    return policy.model_copy(update={"on_gate": on_gate})


def _decided(
    option: MoveOption, value: str, *, attended: bool, who: ev.Who
) -> tuple[Mapping[str, Choice], Mapping[str, ev.Ruling]]:
    """The decisions of ``ask``, ``stop``, ``revert`` or a file about the items of the option's gate."""
    gate, flag = option.decides, option.flag
    if value == "ask" and not attended:
        raise DefinitionError(
            f"{flag} ask needs an operator, but no operator can answer",
            hint=f"use {flag} revert, or a file of decisions",
        )
    if value in ("stop", "revert"):
        return {gate: "stop" if value == "stop" else "revert"}, {}
    return {}, {} if value == "ask" else _decisions(Path(value), option.decisions, who)


def _choice(gate: str, text: str) -> Choice:
    choices: Mapping[str, Choice] = {"wait": "wait", "revert": "revert", "escalate": "escalate"}
    if text not in choices:
        raise DefinitionError(f"{text!r} is not a valid answer to {gate}", hint=f"one of: {', '.join(choices)}")
    return choices[text]


def _decisions(path: Path, model: type[TransactionDecisions], who: ev.Who) -> dict[str, ev.Ruling]:
    read = read_document(path, model)
    rulings: dict[str, ev.Ruling] = {}
    for item, (choice, reason) in read.result().decided().items():
        from_file = ev.Who(f"file {path.name}", who.account, who.uid)
        rulings[item] = ev.Ruling(choice=choice, reason=reason, file=read.digest, **from_file._asdict())
    return rulings
