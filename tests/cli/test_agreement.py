"""Screen, JSON, report, list and exit code of one run say the same, for every way a run can end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.shell import VPN, Ended, Shell

Story = Callable[[Shell, tuple[str, ...]], Ended]


def _with_faults(*arguments: str) -> Story:
    return lambda shell, more: shell.move(*arguments, *more)


def _again(shell: Shell, more: tuple[str, ...]) -> Ended:
    assert shell.move().code == 0
    return shell.move(*more)


def _undecided(shell: Shell, more: tuple[str, ...]) -> Ended:
    return shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop", *more)


STORIES: dict[str, tuple[int, Story]] = {
    "done": (0, _with_faults()),
    "refused": (3, _again),
    "reverted": (5, _with_faults("--fault", "drain: bridge down")),
    "needs-operator": (6, _undecided),
    "stuck": (7, _with_faults("--fault", "drain: bridge down", "--fault", "revert: refuse 10h")),
    "escalated": (9, _with_faults("--fault", "drain +1s: bridge down", "--on-bridge-loss", "escalate")),
}


@pytest.mark.parametrize("outcome", STORIES)
def test_machines_and_people_are_told_the_same(shell: Shell, outcome: str) -> None:
    """Law (promise 12): exit code, JSON result, `runs show`, `runs report` and `runs list` are one fold."""
    code, story = STORIES[outcome]
    ended = story(shell, ("--json",))
    result = ended.result
    assert (ended.code, result["exit_code"], result["outcome"]) == (code, code, outcome)
    shown = shell("runs", "show", "last", "--json").values[-1]
    leader = {key: shown[key] for key in ("last_led_by", "last_heard_at")}
    assert shown == {**result, "led": False, "questions": [], **leader}
    assert leader["last_heard_at"] == result["last_record_at"]
    assert shell("runs", "report", "last").out.splitlines()[-1] == f"outcome: {outcome}, exit code {code}"
    listed = shell("runs", "list", "--json").values[0]
    assert (listed["outcome"], listed["exit_code"]) == (outcome, code)
    text = shell("runs", "show", "last").out
    assert f": {outcome.upper()} after " in text
    assert f"  {VPN}: {outcome}" in text


@pytest.mark.parametrize("outcome", STORIES)
def test_the_screen_says_it_too(shell: Shell, outcome: str) -> None:
    """Law: without --json the result is on stdout, in words, and the progress on stderr."""
    code, story = STORIES[outcome]
    ended = story(shell, ())
    assert ended.code == code
    assert f"ny to nj: {outcome.upper()} after " in ended.out
    assert f"  {VPN}: {outcome}" in ended.out
    assert f"the run ended: {outcome}" in ended.err
    assert "the run ended" not in ended.out
    advised = "what to do: " in ended.out
    assert advised == (outcome != "done")


def test_json_is_one_event_a_line_and_then_the_result(shell: Shell) -> None:
    """Law: the lines are the run's records, all of them and in order; the last line alone is the result."""
    *events, last = shell.move("--json").values
    assert [line["seq"] for line in events] == list(range(1, len(events) + 1))
    assert events[0]["event"]["kind"] == "run.created"
    assert events[-1]["event"]["kind"] == "run.finished"
    assert set(last) == {"result", "simulated_account"}
    exported = shell("runs", "export", "last").values
    assert [line["seq"] for line in exported] == [line["seq"] for line in events]


def test_the_story_for_machines(shell: Shell) -> None:
    """Law: `runs report --json` has every event as it was printed, with its sentence for a person, and the result. What
    a lane waited for is of the moment in which it was printed."""
    *printed, last = shell.move("--json").values
    events = [{key: value for key, value in line.items() if key != "waits_for"} for line in printed]
    *told, result = shell("runs", "report", "last", "--json").values
    assert [{key: value for key, value in line.items() if key != "text"} for line in told] == events
    assert result == {"result": last["result"]}
    texts = [f"{line['seq']:>5} {line['lane'] or '-'}: {line['text']}" for line in told if line["text"] is not None]
    lines = shell("runs", "report", "last").out.splitlines()
    assert [line.partition(" ")[2] for line in lines[1:-1]] == texts
    assert len(texts) < len(events)


def test_json_leaves_stderr_to_errors(shell: Shell) -> None:
    """Law: with --json and without an error, nothing at all is on stderr."""
    assert shell.move("--json").err == ""


def test_a_finding_is_its_own_exit_code(shell: Shell) -> None:
    """Law: `status` ends with 4 as soon as one pair is not as it should be, and says which; its JSON has the code."""
    good = shell("status", "--json")
    assert (good.code, good.values[0]["exit_code"]) == (0, 0)
    _undecided(shell, ())
    ended = shell("status", "--json")
    assert (ended.code, ended.values[0]["exit_code"]) == (4, 4)
    verdicts = {row["service"]: row["verdict"] for row in ended.values[0]["services"]}
    assert verdicts[VPN] == "no active site"
    assert "no active site" in shell("status").out


def test_the_command_that_shows_the_record_finds_it(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: beside its outcome stands where the record is, and a command that shows this very run: with the state
    directory, if one was named; in a shared journal the directory says nothing."""
    monkeypatch.setenv("FAILOVER_STATE", str(shell.state))
    [own] = [line for line in shell.move().out.splitlines() if line.startswith("Record: ")]
    assert own.endswith(f"(FAILOVER_STATE={shell.state} failover runs show {shell.run_name()})")
    monkeypatch.setenv("FAILOVER_JOURNAL", f"sqlite:///{shell.folder / 'shared.sqlite'}")
    [shared] = [line for line in shell.move("--from", "nj").out.splitlines() if line.startswith("Record: ")]
    assert shared.endswith(f"(failover runs show {shell.run_name()})")
