"""Checks at each step of the walk that no forbidden thing happens: the promises of the product, over plain facts.

There are two kinds of facts: those *read* in this run (evidence), and the state of the model (truth). A change is judged
twice: by the evidence when it is decided, and by the truth when it takes effect. The family defines serving, drained and
confirmed. The judge must never use the code that decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple

from orchestrator.core.decide.gates import LEFT_GATE
from orchestrator.family.contract import ActionSpec
from orchestrator.model import events as ev
from orchestrator.model.runbook import Runbook
from proof.exploration.family import SIDE_NAMES, Change, E, Family, P, change_of, complete_pending


class Account(NamedTuple, Generic[E]):
    """The run's readings and changes so far.

    ``changes``: steps that made a change which can be undone. ``obeyed``: changes in force that must not be sent twice.
    ``changed``: a change was made that nothing undoes.
    """

    evidence: E
    changes: tuple[str, ...] = ()
    obeyed: tuple[Change, ...] = ()
    changed: bool = False


class Act(NamedTuple):
    """An intended action: the change, its step, and whether it rolls back that step."""

    change: Change
    step: str
    undo: bool


class Judge(Generic[P, E]):
    """The rules for one runbook."""

    def __init__(self, family: Family[P, E], runbook: Runbook, actions: Mapping[str, ActionSpec]) -> None:
        self._family = family
        self._runbook = runbook
        self._steps = {step.id: step for step in runbook.steps}
        self._actions = actions

    def begin(self) -> Account[E]:
        """The account before anything was read."""
        return Account(self._family.evidence(self._runbook))

    # --- by the evidence ------------------------------------------------------------------------------------------

    def recorded(
        self, account: Account[E], pair: P, events: Iterable[ev.Event], *, unattended: bool
    ) -> tuple[Account[E], list[str]]:
        """The account after ``events``, and the rules they break. ``unattended``: there was no operator to decide."""
        broken: list[str] = []
        for event in events:
            match event:
                case ev.Observed():
                    account = account._replace(evidence=account.evidence.noted(event))
                case ev.ActionIntended():
                    broken += self._intended(account, pair, act_of(event))
                case ev.GateDecided():
                    account = account._replace(evidence=account.evidence.decided(event))
                    if (event.gate, event.ruling.choice) == (LEFT_GATE, "accept"):
                        account = account._replace(changes=self._not_left(account))
                case ev.Escalated() if unattended:
                    broken.append("escalated-unattended")
                case ev.StepDone():
                    broken += self._done(pair, event)
                case ev.UndoDone():
                    account, found = self._undone(account, pair, event)
                    broken += found
                case ev.LaneEnded():
                    broken += self._ended(account, pair, event)
                case _:
                    pass
        return account, broken

    def _intended(self, account: Account[E], pair: P, act: Act) -> list[str]:
        broken = self._family.forbids(account.evidence, act.change, undo=act.undo)
        if act.change in account.obeyed:
            broken.append("sent-twice")
        in_force = self._in_force(account, pair)
        if act.undo and act.step in in_force and in_force[-1] != act.step:
            broken.append("undo-order")
        return broken

    def _in_force(self, account: Account[E], pair: P) -> list[str]:
        """The changes that nobody else has undone meanwhile, and those that have not taken effect yet."""
        landed = complete_pending(self._family, pair)
        return [step for step in account.changes if self._family.is_so(landed, self._change_of(step))]

    def _not_left(self, account: Account[E]) -> tuple[str, ...]:
        """The changes without those of a whole site. The run may leave such a change, because it perhaps existed before
        the run."""
        return tuple(step for step in account.changes if self._steps[step].claim != "hold")

    def _change_of(self, step: str) -> Change:
        do = self._steps[step].do
        assert do is not None  # only a step with an action changes anything
        return change_of(do)

    def _ended(self, account: Account[E], pair: P, event: ev.LaneEnded) -> list[str]:
        in_force = self._in_force(account, pair)
        if event.outcome is ev.Outcome.REFUSED and (account.changed or in_force):
            return ["not-refused"]
        if event.outcome is ev.Outcome.REVERTED and in_force:
            return ["not-reverted"]
        if event.outcome not in tuple(ev.Outcome):
            return ["unnamed-end"]
        return self._family.leaves(account.evidence, pair, event.outcome)

    def _done(self, pair: P, event: ev.StepDone) -> list[str]:
        step = self._steps[event.step]
        if step.do is None or step.for_each is not None:
            return []
        return [] if self._family.is_so(pair, change_of(step.do)) else ["not-done"]

    def _undone(self, account: Account[E], pair: P, event: ev.UndoDone) -> tuple[Account[E], list[str]]:
        undo = self._steps[event.step].undo
        kept = tuple(step for step in account.changes if step != event.step)
        if self._steps[event.step].leaves_nothing:
            return account._replace(changes=kept), []
        if event.skipped or undo is None:
            return account, []
        is_so = self._family.is_so(pair, change_of(undo.do))
        return account._replace(changes=kept), [] if is_so else ["not-done"]

    # --- by the truth ---------------------------------------------------------------------------------------------

    def took_effect(self, account: Account[E], before: P, after: P, act: Act) -> tuple[Account[E], list[str]]:
        """The account after ``act`` was obeyed, and the rules that its effect breaks."""
        broken = self._family.harms(account.evidence, before, after, act.change, undo=act.undo)
        return self._booked(account, before, after, act), broken

    def _booked(self, account: Account[E], before: P, after: P, act: Act) -> Account[E]:
        spec = self._actions[act.change.action]
        changes, obeyed, changed = account.changes, account.obeyed, account.changed
        if act.undo:
            changes = tuple(step for step in changes if step != act.step)
        elif after != before and spec.inverse is None:
            changed = True
        elif after != before and act.step not in changes:
            changes = (*changes, act.step)
        if not spec.idempotent:
            obeyed = (*(one for one in obeyed if not _replaces(spec, act.change, one)), act.change)
        evidence = self._family.booked(account.evidence, before, after, act.change)
        return Account(evidence, changes, obeyed, changed)


def _replaces(spec: ActionSpec, change: Change, earlier: Change) -> bool:
    """Does ``change`` replace ``earlier``? After the opposite change, sending the earlier one again is not a
    repetition."""
    return earlier == change or (
        spec.inverse is not None and (earlier.side, earlier.action) == (change.side, change.action)
    )


def act_of(event: ev.ActionIntended) -> Act:
    """The action that an event intends."""
    change = Change(SIDE_NAMES.index(event.on), event.action, tuple(sorted(event.args.items())))
    return Act(change, event.step, event.undo)
