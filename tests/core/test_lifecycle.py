"""The lifecycle tables: no duplicates, no dead ends, nothing unreachable, and a referee that follows them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from orchestrator.core.lifecycle import (
    END_TRIGGERS,
    LANE_ENDS,
    LANE_REFEREE,
    LANE_TABLE,
    RESUMABLE_ENDS,
    RUN_REFEREE,
    RUN_TABLE,
    Referee,
    Row,
    mermaid,
)
from orchestrator.core.run import Stage
from orchestrator.errors import IllegalTransition
from orchestrator.model.events import Outcome
from tests.core.lifecycle_page import PAGE, blocks, names_in, regenerated

TABLES = [pytest.param(LANE_TABLE, LANE_REFEREE, id="lane"), pytest.param(RUN_TABLE, RUN_REFEREE, id="run")]


def states(table: Iterable[Row]) -> set[str]:
    return {state for row in table for state in (row.source, row.dest)}


def triggers(table: Iterable[Row]) -> set[str]:
    return {row.trigger for row in table}


@pytest.mark.parametrize(("table", "referee"), TABLES)
def test_the_referee_follows_the_table_and_nothing_else(table: tuple[Row, ...], referee: Referee) -> None:
    """For every state and every event: the row's destination if there is a row, ``IllegalTransition`` if not."""
    rows = {(row.source, row.trigger): row.dest for row in table}
    for state in states(table):
        for trigger in triggers(table):
            if (state, trigger) in rows:
                assert referee.next(state, trigger) == rows[state, trigger]
                continue
            with pytest.raises(IllegalTransition, match=f"{trigger} is not possible in the state {state}"):
                referee.next(state, trigger)


@pytest.mark.parametrize("name", ["to_done", "to_running", "may_start", "trigger", "is_done", ""])
def test_there_is_no_back_door(name: str) -> None:
    """The jumps that a state machine library offers by itself lead nowhere."""
    with pytest.raises(IllegalTransition):
        LANE_REFEREE.next("ready", name)


def test_an_unknown_state_is_illegal() -> None:
    """A state that no table knows, as from a forged record, is illegal."""
    with pytest.raises(IllegalTransition):
        LANE_REFEREE.next("enlightened", "start")


@pytest.mark.parametrize(("table", "referee"), TABLES)
def test_no_row_twice(table: tuple[Row, ...], referee: Referee) -> None:
    """No two rows have the same state and event; a table that has is refused when it is loaded."""
    assert len({(row.source, row.trigger) for row in table}) == len(table)
    with pytest.raises(ValueError, match="two rows"):
        Referee("doubled", (*table, Row(table[0].source, table[0].trigger, "elsewhere", "silently dead")))


@pytest.mark.parametrize(("table", "referee"), TABLES)
def test_every_state_is_reachable(table: tuple[Row, ...], referee: Referee) -> None:
    """From the first state every other one can be reached."""
    reached = {table[0].source}
    for _ in table:
        reached |= {row.dest for row in table if row.source in reached}
    assert reached == states(table)


def test_no_dead_ends() -> None:
    """Every state of a lane that is not an end for good has an exit, and from every state an end can be reached."""
    sources = {row.source for row in LANE_TABLE}
    assert states(LANE_TABLE) - sources == LANE_ENDS - RESUMABLE_ENDS
    for state in states(LANE_TABLE):
        reached = {state}
        for _ in LANE_TABLE:
            reached |= {row.dest for row in LANE_TABLE if row.source in reached}
        assert reached & (LANE_ENDS - RESUMABLE_ENDS)


def test_every_outcome_has_its_end() -> None:
    """Each named outcome is a state of the table, with an event that leads there and nowhere else."""
    assert {str(outcome) for outcome in Outcome} == set(LANE_ENDS) == set(END_TRIGGERS)
    for outcome, trigger in END_TRIGGERS.items():
        assert {row.dest for row in LANE_TABLE if row.trigger == trigger} == {outcome}


def test_past_the_point_of_no_return_there_is_no_way_back() -> None:
    """From committed and escalating no chain of events leads to reverting or reverted."""
    for state in ("committed", "escalating"):
        reached = {row.dest for row in LANE_TABLE if row.source == state}
        assert not reached & {"running", "reverting", "reverted", "refused"}
    assert not [row for row in LANE_TABLE if row.trigger == "commit" and row.source != "running"]


def test_a_resumed_lane_returns_to_where_it_came_from() -> None:
    """Each state that a resumable end can be reached from has its own event back, and only that."""
    for end in RESUMABLE_ENDS:
        came_from = {row.source for row in LANE_TABLE if row.dest == end}
        back = {(row.trigger, row.dest) for row in LANE_TABLE if row.source == end}
        assert back == {(f"resume_{state}", state) for state in came_from}


@pytest.mark.parametrize(("table", "referee"), TABLES)
def test_every_row_says_when(table: tuple[Row, ...], referee: Referee) -> None:
    """Each row has a comment, which the documentation shows."""
    assert all(row.comment for row in table)


# --- the page ------------------------------------------------------------------------------------------------------


def test_the_page_is_up_to_date() -> None:
    """``docs/explanation/lifecycle.md`` has the present tables; ``python -m tests.core.lifecycle_page`` writes it."""
    page = PAGE.read_text(encoding="utf-8")
    assert sorted(names_in(page)) == sorted(blocks())
    assert page == regenerated(page)


def test_the_page_explains_every_stage() -> None:
    """Each stage within a step has its row on the page."""
    page = PAGE.read_text(encoding="utf-8")
    assert [stage for stage in Stage if f"\n| {stage} |" not in page] == []


def test_the_diagram_has_every_row_and_every_end() -> None:
    """Each row is an arrow; the first state has an arrow in, and each end for good an arrow out."""
    lines = mermaid(LANE_TABLE).splitlines()
    assert lines[:2] == ["stateDiagram-v2", "    [*] --> ready"]
    assert sum(": " in line for line in lines) == len(LANE_TABLE)
    assert {line.split()[0] for line in lines if line.endswith("--> [*]")} == {
        "done",
        "reverted",
        "escalated",
        "refused",
    }
