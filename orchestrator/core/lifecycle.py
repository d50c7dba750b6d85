"""The lifecycle of lanes and runs: one table each, and a referee that refuses every transition without a row.

The package ``transitions`` only checks the tables: no automatic transitions, no queue, no callbacks. Nothing here has
side effects. The diagrams in ``docs/explanation/lifecycle.md`` are rendered from these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from transitions import Machine

from orchestrator.errors import IllegalTransition


class Row(NamedTuple):
    """In state ``source``, ``trigger`` leads to ``dest``. ``comment`` says when."""

    source: str
    trigger: str
    dest: str
    comment: str


LANE_TABLE: tuple[Row, ...] = (
    Row("ready", "start", "running", "the first step starts"),
    Row("ready", "refuse", "refused", "the lane was aborted before its first step"),
    Row("running", "refuse", "refused", "a check failed before anything was changed"),
    Row("running", "commit", "committed", "the step that is the point of no return took effect"),
    Row("running", "complete", "done", "the last step of a runbook without a point of no return is done"),
    Row("running", "escalate", "escalating", "the guarantee broke, and an operator decided to continue without it"),
    Row("running", "revert", "reverting", "the lane rolls back"),
    Row("running", "halt", "needs-operator", "the lane stopped at a safe step"),
    Row("committed", "complete", "done", "the last step is done"),
    Row("committed", "halt", "needs-operator", "the lane stopped; the lane can only continue"),
    Row("escalating", "escalate", "escalating", "another guarantee broke, and an operator decided the same"),
    Row("escalating", "complete_escalated", "escalated", "the last step is done, without the guarantee"),
    Row("escalating", "halt", "needs-operator", "the lane stopped; the lane can only continue"),
    Row("reverting", "finish_revert", "reverted", "every change was rolled back, and a reading proved it"),
    Row("reverting", "jam", "stuck", "a change could not be rolled back; an operator must check"),
    Row("needs-operator", "resume_running", "running", "a person resumed the lane"),
    Row("needs-operator", "resume_committed", "committed", "a person resumed the lane past the point of no return"),
    Row("needs-operator", "resume_escalating", "escalating", "a person resumed the lane after an escalation"),
    Row("stuck", "resume_reverting", "reverting", "an operator checked the lane and allowed another attempt"),
)

RUN_TABLE: tuple[Row, ...] = (
    Row("planned", "start", "running", "a process took the lease"),
    Row("running", "start", "running", "a process took over from a process that died"),
    Row("running", "pause", "paused", "the run was interrupted and stopped at a safe point"),
    Row("running", "finish", "finished", "every lane has ended"),
    Row("paused", "start", "running", "the run was resumed"),
    Row("finished", "start", "running", "a lane that needs an operator was resumed"),
)

LANE_ENDS = frozenset({"done", "reverted", "escalated", "refused", "needs-operator", "stuck"})
RESUMABLE_ENDS = frozenset({"needs-operator", "stuck"})

END_TRIGGERS = {
    "refused": "refuse",
    "done": "complete",
    "escalated": "complete_escalated",
    "reverted": "finish_revert",
    "needs-operator": "halt",
    "stuck": "jam",
}


class Referee:
    """Gives the state to which a trigger leads, by the table, or raises ``IllegalTransition``."""

    def __init__(self, name: str, table: tuple[Row, ...]) -> None:
        seen = {(row.source, row.trigger) for row in table}
        if len(seen) != len(table):
            # transitions silently ignores a second row with the same source and trigger
            raise ValueError(f"the {name} table has two rows with the same state and trigger")
        self._name = name
        # Computed once for all rows, because a machine holds only one state at a time and several threads may fold.
        self._verdicts = _verdicts(name, table)

    def next(self, status: str, trigger: str) -> str:
        """The state after ``trigger`` in ``status``. Raises ``IllegalTransition``."""
        try:
            return self._verdicts[status, trigger]
        except KeyError:
            raise IllegalTransition(f"{self._name}: {trigger} is not possible in the state {status}") from None


def _verdicts(name: str, table: tuple[Row, ...]) -> Mapping[tuple[str, str], str]:
    """The next state for each row, as ``transitions`` computes it. Raises ``ValueError`` if it differs from the row."""
    seat = _Seat()
    machine = Machine(
        model=seat,
        states=list(dict.fromkeys(state for row in table for state in (row.source, row.dest))),
        transitions=[[row.trigger, row.source, row.dest] for row in table],
        initial=table[0].source,
        auto_transitions=False,
        queued=False,
        model_attribute="status",
    )
    verdicts = {}
    for row in table:
        machine.set_state(row.source, model=seat)
        if not machine.events[row.trigger].trigger(seat) or seat.status != row.dest:
            raise ValueError(f"the {name} table: the row {row.source}, {row.trigger} does not lead to {row.dest}")
        verdicts[row.source, row.trigger] = seat.status
    return verdicts


class _Seat:
    """The object whose status the machine changes. It holds one status at a time and nothing else."""

    status: str


LANE_REFEREE = Referee("lane", LANE_TABLE)
RUN_REFEREE = Referee("run", RUN_TABLE)


def mermaid(table: tuple[Row, ...]) -> str:
    """The table as a Mermaid state diagram, for the documentation."""
    lines = ["stateDiagram-v2", f"    [*] --> {_node(table[0].source)}"]
    lines += [f"    {_node(row.source)} --> {_node(row.dest)}: {row.trigger}" for row in table]
    sources = {row.source for row in table}
    ends = dict.fromkeys(row.dest for row in table if row.dest not in sources)
    lines += [f"    {_node(end)} --> [*]" for end in ends]
    return "\n".join(lines) + "\n"


def _node(state: str) -> str:
    return state.replace("-", "_")
