"""Real processes: killed, interrupted, two at a time, with nobody reading, and without room on the disk."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.processes import PATIENCE_S, Bench, line_with

pytestmark = pytest.mark.realtime

MOVE = ("controlled", "--vpn", "V", "--yes")


MakeBench = Callable[..., Bench]


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    return make_bench()


def moved(bench: Bench) -> None:
    """Activity is at nj, nothing was lost, and at no time were two sites active."""
    tally = bench.tally()
    assert (bench.roles(), tally.lost, tally.both_active) == (("standby", "active"), 0, ())


@pytest.mark.parametrize("instant", ["set role standby", "messages left"])
def test_killed_and_resumed(bench: Bench, instant: str) -> None:
    """Law (promise 4): kill -9 at any moment, then resume: the job is finished, at once, and nothing is lost."""
    process = bench.start(*MOVE)
    line_with(process, instant)
    process.kill()
    process.communicate()
    killed_is_told(bench)
    resumed = bench.run("resume")
    assert resumed.code == 0, resumed.err
    assert "taken over by ann" in resumed.err and "(epoch 2)" in resumed.err
    moved(bench)


def killed_is_told(bench: Bench) -> None:
    """Law: a run whose process is gone is INTERRUPTED, since when and led last by whom, everywhere, and never running.
    That no site is known to be active is told with it; its record ends, and time does not."""
    [listed] = bench.here("runs", "list", "--json").values
    shown = bench.here("runs", "show", "--json").values[0]
    for document in (listed, shown):
        assert (document["status"], document["led"], document["outcome"]) == ("interrupted", False, None)
        assert document["last_heard_at"] >= document["last_record_at"]
        assert [one["kind"] for one in document["alarms"]] == ["interrupted"]
        host, _, number = document["last_led_by"].rpartition(":")
        assert (bool(host), number.isdigit()) == (True, True)
    assert bench.here("runs", "list").out.split()[1] == "interrupted"
    text = bench.here("runs", "show").out
    assert text.splitlines()[1].startswith(f"SIMULATED  INTERRUPTED since {shown['last_heard_at']}: ")
    assert f"{shown['last_led_by']} was the last leader" in text
    assert re.search(r"NO SITE IS ACTIVE since \S+, for \d+ s by now, according to the readings", text)
    assert "INTERRUPTED after" in text
    assert "according to its last record" in text
    assert "running" not in text.lower()


def test_killed_and_called_off(bench: Bench) -> None:
    """Law: after kill -9 before the point of no return, abort gives activity back to the source."""
    process = bench.start(*MOVE)
    line_with(process, "messages left")
    process.kill()
    process.communicate()
    assert bench.here("abort", "--reason", "enough").code == 5
    assert (bench.roles(), bench.tally().lost) == (("active", "standby"), 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(bench: Bench, number: signal.Signals) -> None:
    """Law: the first signal pauses at a safe point, exit code 6, and tells how to go on; that works."""
    process = bench.start(*MOVE)
    line_with(process, "messages left")
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 6
    assert f"{number.name}: stopping at the next safe point" in err
    assert "PAUSED after" in out
    assert "Resume it: `failover resume 2" in out
    assert re.search(r"NO SITE ACTIVE for \d+s", err)
    assert "NO SITE IS ACTIVE since" in out
    assert bench.here("resume", "last").code == 0
    moved(bench)


@pytest.mark.parametrize(
    ("number", "instant"),
    [
        (signal.SIGTERM, "bridge is bound"),
        (signal.SIGINT, "set role standby"),
        (signal.SIGTERM, "set role active"),
    ],
)
def test_interrupted_at_other_steps(bench: Bench, number: signal.Signals, instant: str) -> None:
    """Law: at any step it is exit code 6 and a way to go on, or the end if that was nearer; then it is done."""
    process = bench.start(*MOVE)
    line_with(process, instant)
    process.send_signal(number)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in (0, 6)
    if process.returncode == 6:
        assert "Resume it: `failover resume 2" in out
        assert bench.here("resume", "last").code == 0
    moved(bench)


def test_interrupted_twice(make_bench: MakeBench) -> None:
    """Law: the second signal, of whatever kind, ends the process at once; the record is good to go on from."""
    bench = make_bench(latency=1.5)
    process = bench.start(*MOVE)
    line_with(process, "replication bridge is bound")
    process.send_signal(signal.SIGINT)
    line_with(process, "Press Ctrl-C again to exit at once")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGTERM
    assert bench.here("runs", "verify").code == 0
    assert bench.here("abort").code == 3
    assert bench.roles() == ("active", "standby")


def test_two_at_a_time(bench: Bench) -> None:
    """Law: while one process leads a run, no other can move that service or go on with it; it can ask for its end."""
    first = bench.start(*MOVE, "--fault", "drain: slow 100x")
    line_with(first, "messages left")
    second = bench.run(*MOVE)
    assert second.code == 8
    assert "V belongs to run " in second.complaint
    assert " leads" in second.complaint
    assert bench.here("resume").code == 8
    asked = bench.run("abort", "--reason", "too slow", "--json")
    assert (asked.code, asked.result["asked"], asked.result["aborted"]) == (5, ["V"], True)
    out, _ = first.communicate(timeout=PATIENCE_S)
    assert (first.returncode, "aborted by ann: too slow" in out) == (5, True)
    assert (bench.roles(), bench.tally().lost) == (("active", "standby"), 0)


def test_nobody_reads(bench: Bench) -> None:
    """Law: a reader that goes away does not stop the run, spoil its exit code, or fill its record."""
    process = bench.start(*MOVE, "--json")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"]["kind"] == "run.created"
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "Traceback" in err) == (0, False)
    kinds = [event["kind"] for event in bench.exported()]
    assert kinds.count("observer.failed") == 1
    moved(bench)


def test_a_reader_that_has_seen_enough(bench: Bench) -> None:
    """Law: `failover … | head` is no error of ours."""
    for command in (("runbook", "schema"), ("--help",)):
        process = bench.start(*command)
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, err) == (0, "")


def test_a_full_disk(bench: Bench) -> None:
    """Law: when nothing can be recorded any more nothing is sent any more, and room is waited for; a signal ends that,
    and with room again, resume goes on."""
    # In blocks of 512 bytes: room for the beginning of a run and not for its end.
    process = bench.start(*MOVE, before=["sh", "-c", 'ulimit -f 280; exec "$@"', "sh"])
    line_with(process, "nothing is sent until the journal answers")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 6
    assert "failover: the journal could not be written" in err
    assert "resume it when the cause is fixed: failover resume " in err
    assert re.search(r"^SIMULATED  V: (PERHAPS )?NO SITE ACTIVE for \d+s, according to the last reading$", err, re.M)
    assert bench.roles() != ("active", "active")
    assert bench.here("resume").code == 0
    assert bench.here("runs", "verify").code == 0
    moved(bench)


def test_a_full_disk_for_machines(bench: Bench) -> None:
    """Law: the error that stops a run tells machines too which services it leaves with no active site."""
    process = bench.start(*MOVE, "--json", before=["sh", "-c", 'ulimit -f 280; exec "$@"', "sh"])
    line_with(process, "nothing is sent until the journal answers")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=PATIENCE_S)
    result = json.loads(out.splitlines()[-1])["result"]
    assert (process.returncode, result["exit_code"]) == (6, 6)
    [left] = result["stands"]
    assert re.fullmatch(r"SIMULATED  V: (PERHAPS )?NO SITE ACTIVE for \d+s, according to the last reading", left)
    assert bench.here("resume").code == 0


def test_a_result_that_has_no_room(bench: Bench) -> None:
    """Law: a full disk under the output does not change what became of the run."""
    with Path("/dev/full").open("w") as full:
        moving = bench.run(*MOVE, stdout=full.fileno())
        showing = bench.run("runs", "show", stdout=full.fileno())
    sentence = "the output could not be written: No space left on device"
    assert (moving.code, moving.err.splitlines()[-1]) == (0, sentence)
    assert (showing.code, showing.complaint) == (6, sentence)
    moved(bench)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed(bench: Bench, closed: str) -> None:
    """Law: whoever starts it without standard streams, as some schedulers do, has the run, its record and its exit code;
    and no file of the run takes the place of one."""
    ended = bench.run(*MOVE, before=["sh", "-c", f'exec "$@" {closed}', "sh"])
    assert (ended.code, "bug" in ended.err) == (0, False)
    assert bench.here("runs", "verify").code == 0
    assert bench.run("status", before=["sh", "-c", f'exec "$@" {closed}', "sh"]).code in (0, 4)
    moved(bench)


def test_a_read_only_folder(bench: Bench) -> None:
    """Law: a state directory that cannot be used is said to be that, in one sentence, before anything begins."""
    bench.environment = {"FAILOVER_STATE": "/proc/nowhere"}
    ended = bench.run(*MOVE)
    assert ended.code == 6
    assert ended.complaint.startswith("the state directory /proc/nowhere cannot be used: ")
    assert bench.roles() == ("active", "standby")


def test_an_account_without_a_name(bench: Bench) -> None:
    """Law: a container's nameless account can run it too."""
    bench.environment = {"FAILOVER_USER": "", "LOGNAME": "", "USER": "", "LNAME": "", "USERNAME": ""}
    assert bench.run(*MOVE).code == 0
