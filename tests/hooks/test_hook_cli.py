"""Hooks from the command line: told while a run is led, said when they fail, delivered later, given up by a person."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import create_run
from orchestrator.model import events as ev
from orchestrator.notifications.message import signature
from simulator.embedded import embedded_layout
from tests import seam
from tests.cli.shell import VPN, Ended, Shell
from tests.hooks.hooking import SECRET, a_hook, lines_of, plan_with, record
from tests.hooks.receiving import serving

pytestmark = pytest.mark.realtime

Declared = Mapping[str, object]  # a hook, as an inventory has it
WANTED = ["run.started", "step.done", "lane.ended", "run.finished"]


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell with a clock of its own, whose environment has the secret of a webhook."""
    for name in ("STATE", "JOURNAL", "INVENTORY", "TRACEBACK"):
        monkeypatch.delenv(f"FAILOVER_{name}", raising=False)
    monkeypatch.setenv("FAILOVER_USER", "ann")
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys, environment={"HOOK_SECRET": SECRET})


def logging(path: Path, on: list[str] | None = None, name: str = "log") -> Declared:
    """A hook that appends what it is told to a file; as long as there is a file beside it called .down, it fails."""
    text = f"test ! -e {path}.down || {{ echo pager is down; exit 3; }}; cat >> {path}"
    return {"name": name, "on": on or WANTED, "command": ["sh", "-c", text]}


def inventory(shell: Shell, hooks: Sequence[Declared]) -> Path:
    """The simulated pair as an inventory with these hooks; its world goes on from one inventory to the next."""
    exists = (shell.folder / "inventory.yaml.world.json").exists()
    return shell.inventory(None if exists else embedded_layout(), hooks=hooks)


def move(shell: Shell, hooks: Sequence[Declared], *more: str) -> Ended:
    """Move the busiest service of a pair whose inventory has these hooks."""
    path = inventory(shell, hooks)
    return shell("controlled", "-i", str(path), "--vpn", VPN, "--yes", "--xa", shell.decisions, *more)


def recorded(shell: Shell) -> list[str]:
    """What the newest run's hook is to be told of, by the run's own record."""
    events = (json.loads(line["event"])["kind"] for line in shell("runs", "export").values)
    return [kind for kind in events if kind in WANTED]


def told(path: Path) -> list[str]:
    return [line["event"]["kind"] for line in lines_of(path)]


def test_a_move_tells_its_hooks(shell: Shell, tmp_path: Path) -> None:
    """Law: a hook is told of what it wants, in the words of --json but for how the pair stands by then, and nothing of it
    shows in the result."""
    log = tmp_path / "log"
    ended = move(shell, [logging(log)], "--json")
    assert ended.code == 0
    printed = [line for line in ended.values[:-1] if line["event"]["kind"] in WANTED]
    for line in printed:
        del line["serves"], line["no_active_site_since"]
    assert printed == lines_of(log)
    assert told(log)[-1] == "run.finished"
    listed = shell("hooks", "list")
    assert (listed.code, listed.out, listed.err.strip()) == (0, "", "all hooks have received all events")


def test_looking_ahead_tells_nobody(shell: Shell, tmp_path: Path) -> None:
    """Law: --dry-run is no run, so no hook hears of it."""
    log = tmp_path / "log"
    assert move(shell, [logging(log, ["*"])], "--dry-run").code == 0
    assert not log.exists()


def test_a_failing_hook_is_shown_and_delivered_later(shell: Shell, tmp_path: Path) -> None:
    """Law: a hook that fails changes neither outcome nor exit code; it is shown, listed, and told later in full."""
    log = tmp_path / "log"
    down = Path(f"{log}.down")
    down.touch()
    ended = move(shell, [logging(log)])
    assert ended.code == 0 and "DONE" in ended.out
    assert "pager is down" in ended.err and "failover hooks flush" in ended.err
    assert not log.exists()
    run = shell.run_name()
    [left] = shell("hooks", "list", "--json").values
    count = len(recorded(shell))
    assert left == {"run": run, "hook": "log", "events": count, "failed": "exit code 3: pager is down", "led": False}
    assert f"{count} events" in shell("hooks", "list", run).out

    tried = shell("hooks", "flush")
    assert tried.code == 4 and "pager is down" in tried.out
    down.unlink()
    flushed = shell("hooks", "flush", "--json")
    assert (flushed.code, flushed.values) == (
        0,
        [{"flushed": {"run": run, "hook": "log", "delivered": count, "failed": ""}}],
    )
    assert told(log) == recorded(shell) and told(log)[-1] == "run.finished"
    assert shell("hooks", "flush").code == 0 and len(told(log)) == count


def test_the_next_run_brings_what_older_ones_owe(shell: Shell, tmp_path: Path) -> None:
    """Law: any command that leads a run delivers what is pending, also of other runs."""
    log = tmp_path / "log"
    down = Path(f"{log}.down")
    down.touch()
    assert move(shell, [logging(log)]).code == 0
    down.unlink()
    waits = {
        "name": "wait",
        "on": ["run.created"],
        "command": ["sh", "-c", f"until grep -q run.finished {log}; do sleep .1; done"],
    }
    assert move(shell, [waits], "--from", "nj").code == 0
    assert told(log)[-1] == "run.finished"
    assert shell("hooks", "list").err.strip() == "all hooks have received all events"


def test_what_is_owed_can_be_given_up(shell: Shell, tmp_path: Path) -> None:
    """Law: a person can end the waiting for a receiver that is no more; of one hook, or of all."""
    logs = [tmp_path / name for name in ("a", "b", "c")]
    for log in logs:
        Path(f"{log}.down").touch()
    assert move(shell, [logging(log, ["run.finished"], log.name) for log in logs]).code == 0
    wrong = shell("hooks", "drop", "last", "--hook", "x")
    assert (wrong.code, wrong.hint) == (2, "the run has: a, b, c")
    assert "hook b: 1 event of run" in shell("hooks", "drop", "last", "--hook", "b").out
    assert [one["hook"] for one in shell("hooks", "list", "--json").values] == ["a", "c"]
    assert [one["dropped"]["hook"] for one in shell("hooks", "drop", "last", "--json").values] == ["a", "c"]
    assert shell("hooks", "drop", "last").err.strip() == "no event was waiting for delivery"
    assert not any(log.exists() for log in logs)


def test_a_run_that_is_led_is_left_to_its_process(shell: Shell, tmp_path: Path) -> None:
    """Law: while a process leads a run, it is that process's to tell its hooks: no other does, or gives them up."""
    log = tmp_path / "log"
    shell.tools()
    journal = Journal.at(shell.state / "journal.sqlite")
    recorded = record(journal, shell.clock, plan_with(a_hook("log", command=["sh", "-c", f"cat >> {log}"])))
    flushed = shell("hooks", "flush")
    assert flushed.code == 0 and "delivers to hook log itself" in flushed.err
    assert shell("hooks", "drop", "run-1").code == 8
    assert shell("hooks", "list", "--json").values[0]["led"] is True
    assert not log.exists()
    recorded.lease.release()
    assert shell("hooks", "flush").code == 0
    assert told(log) == ["run.created"]
    journal.close()


@pytest.mark.parametrize("secret", [{"env": "HOOK_SECRET"}, {"command": ["printenv", "HOOK_SECRET"]}], ids="".join)
def test_a_webhook_from_end_to_end(shell: Shell, secret: Declared) -> None:
    """Promise 10: a webhook is told, and its secret is nowhere: not in the journal, nor on the screen."""
    with serving() as endpoint:
        hook = {"name": "web", "on": WANTED, "webhook": {"url": endpoint.url, "secret": secret}}
        ended = move(shell, [hook])
    assert ended.code == 0
    post = endpoint.posts[0]
    moment = int(post.headers["X-Failover-Signature"].removeprefix("t=").partition(",")[0])
    assert post.headers["X-Failover-Signature"] == signature(SECRET, post.body, moment)
    assert [event["type"] for event in endpoint.events] == [f"io.failover.{kind}" for kind in recorded(shell)]
    assert {event.get("subject") for event in endpoint.events} == {None, VPN}
    exported = shell("runs", "export").out
    stored = b"".join(path.read_bytes() for path in shell.state.rglob("*") if path.is_file())
    assert SECRET not in ended.out + ended.err + exported and SECRET.encode() not in stored


def test_a_missing_secret_is_said(shell: Shell) -> None:
    """Law: a webhook whose secret is not there is a hook that fails, and says what is missing."""
    with serving() as endpoint:
        hook = {"name": "web", "on": ["*"], "webhook": {"url": endpoint.url, "secret": {"env": "NO_SUCH"}}}
        ended = move(shell, [hook])
    assert ended.code == 0 and endpoint.posts == []
    assert "secret of hook web is expected in the environment variable NO_SUCH" in ended.err
    assert "T0KEN" not in ended.err


def test_a_command_that_prints_a_secret(shell: Shell, tmp_path: Path) -> None:
    """Promise 10: what a failing command says about a secret is in no record and on no screen."""
    file = tmp_path / "secret"
    file.write_text(SECRET)
    file.chmod(0o600)
    with serving() as endpoint:
        hooks: list[Declared] = [
            {"name": "web", "on": ["run.started"], "webhook": {"url": endpoint.url, "secret": {"file": str(file)}}},
            {"name": "leak", "on": ["run.finished"], "command": ["sh", "-c", f"cat {file}; exit 1"]},
        ]
        ended = move(shell, hooks)
    listed = shell("hooks", "list")
    assert "exit code 1: [redacted]" in ended.err and "[redacted]" in listed.out
    stored = b"".join(path.read_bytes() for path in shell.state.rglob("*") if path.is_file())
    assert SECRET not in ended.out + ended.err + listed.out and SECRET.encode() not in stored


def test_resuming_uses_the_hooks_of_the_run(shell: Shell, tmp_path: Path) -> None:
    """Law: a run keeps the hooks it began with: they are recorded with it, and the file may be gone."""
    log = tmp_path / "log"
    path = inventory(shell, [logging(log)])
    arguments = ("controlled", "-i", str(path), "--vpn", VPN, "--yes", "--xa", "stop")
    assert shell(*arguments).code == 6
    path.unlink()
    assert shell("resume", "--xa", shell.decisions).code == 0
    kinds = told(log)
    assert kinds.count("run.started") == 2 and kinds.count("run.finished") == 2
    numbers = [line["seq"] for line in lines_of(log)]
    assert numbers == sorted(set(numbers))


def test_a_corrupt_run_does_not_hide_the_others(shell: Shell, tmp_path: Path) -> None:
    """Law: what can be delivered is, whatever became of another run's record."""
    log = tmp_path / "log"
    shell.tools()
    journal = Journal.at(shell.state / "journal.sqlite")
    hook = a_hook("log", command=["sh", "-c", f"cat >> {log}"])
    for name in ("bad", "good"):
        plan = plan_with(hook).model_copy(update={"services": (name,)})
        record(journal, shell.clock, plan, name).lease.release()
    with journal.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE events SET hash = 'x' WHERE run = 'bad'")
    journal.close()
    assert "cannot be read" in shell("hooks", "list").out
    flushed = shell("hooks", "flush")
    assert flushed.code == 4
    assert [line["run"] for line in lines_of(log)] == ["good"]


# --- the idempotency key ------------------------------------------------------------------------------------------


def without_account(result: dict[str, object]) -> dict[str, object]:
    """What does not change: the simulated world's own account goes on with the world."""
    return {key: value for key, value in result.items() if key == "result"}


def test_the_same_key_gives_the_first_result(shell: Shell) -> None:
    """Law: asked again with its key, a command does nothing, and ends as the first run did."""
    first = shell.move("--json", "--idempotency-key", "change-4711")
    again = shell.move("--json", "--idempotency-key", "change-4711")
    assert (first.code, again.code) == (0, 0)
    assert without_account(again.values[-1]) == without_account(first.values[-1])
    assert len(again.values) == 1
    assert "was started with this key" in again.err
    assert len(shell("runs", "list", "--json").values) == 1
    assert shell.roles() == ("standby", "active")
    assert "DONE" in shell.move("--idempotency-key", "change-4711").out


def test_a_refusal_is_a_result_too(shell: Shell) -> None:
    """Law: a key stands for one attempt: asked again, it tells of the refusal, though it might work by now."""
    assert shell.move("--from", "nj", "--idempotency-key", "k").code == 3
    assert shell.move().code == 0
    assert shell.move("--from", "nj", "--idempotency-key", "k").code == 3
    assert shell.roles() == ("standby", "active")
    assert shell.move("--from", "nj", "--idempotency-key", "k2").code == 0


@pytest.mark.parametrize("more", [("--from", "nj"), ("--vpn", "Risk_VPN"), ("--runbook", "solace/failback")])
def test_a_key_for_something_else_is_refused(shell: Shell, more: tuple[str, str]) -> None:
    """Law: other services, the other direction or another runbook are another request; nothing starts."""
    assert shell.move("--idempotency-key", "k").code == 0
    other = shell.move("--idempotency-key", "k", *more)
    assert other.code == 2
    assert "'k' was used for another request" in other.complaint and "solace/controlled, ny to nj" in other.complaint
    assert len(shell("runs", "list", "--json").values) == 1


def test_looking_ahead_uses_no_key(shell: Shell) -> None:
    """Law: a preview begins no run, so its key is still free."""
    assert shell.move("--dry-run", "--idempotency-key", "k").code == 0
    assert shell("runs", "list", "--json").values == []
    assert shell.move("--idempotency-key", "k").code == 0


@pytest.mark.parametrize("key", ["", "a\nb", "x" * 201, "\udcff"])
def test_a_key_is_a_short_text(shell: Shell, key: str) -> None:
    """Law: a key that nobody could type again begins nothing."""
    assert shell.move("--idempotency-key", key).code == 2
    assert shell("runs", "list", "--json").values == []


@pytest.mark.parametrize("no_wait", [True, False])
def test_the_first_run_is_still_going_on(shell: Shell, no_wait: bool) -> None:
    """Law: the result is that of the run's end, waited for; or with --no-wait how it stands, with its exit code."""
    assert shell.move("--dry-run").code == 0
    journal = Journal.at(shell.state / "journal.sqlite")
    assert shell.move("--idempotency-key", "first").code == 0
    created = seam.told(ev.RunCreated, next(journal.records(shell.run_name())).event)
    plan = created.plan.model_copy(update={"services": ("Risk_VPN",)})
    lease, _ = create_run(journal, shell.clock, "run-2", created.model_copy(update={"plan": plan}), key="k")
    began = shell.clock.now()
    more = ["--no-wait"] if no_wait else []
    ended = shell(
        *(
            "controlled",
            "--vpn",
            "Risk_VPN",
            "--yes",
            "--xa",
            shell.decisions,
            "--idempotency-key",
            "k",
            "--json",
            *more,
        )
    )
    assert ended.code == 6 and ended.result["status"] == "planned"
    assert ended.result["run"] == "run-2"
    assert (shell.clock.now() >= lease.expires_at) is not no_wait
    assert (shell.clock.now() == began) is no_wait
    journal.close()


class _Watched(VirtualClock):
    """A clock on which something happens while somebody waits."""

    def __init__(self) -> None:
        super().__init__()
        self.slept = 0
        self.third: Callable[[], object] = lambda: None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.slept += 1
        if self.slept == 3:
            self.third()


def test_waiting_ends_when_the_run_is_led_no_more(shell: Shell) -> None:
    """Law: who waits for the first run waits for its process, and no longer than that leads it."""
    assert shell.move("--idempotency-key", "first").code == 0
    journal = Journal.at(shell.state / "journal.sqlite")
    created = seam.told(ev.RunCreated, next(journal.records(shell.run_name())).event)
    plan = created.plan.model_copy(update={"services": ("Risk_VPN",)})
    shell.clock = _Watched()
    shell.clock.advance(86_400)
    lease, _ = create_run(journal, shell.clock, "run-2", created.model_copy(update={"plan": plan}), key="k")
    shell.clock.third = lease.release
    ended = shell(
        *("controlled", "--vpn", "Risk_VPN", "--yes", "--xa", shell.decisions, "--idempotency-key", "k", "--json")
    )
    assert (ended.code, ended.result["run"], shell.clock.slept) == (6, "run-2", 3)
    assert "leads the run; waiting for the end of the run" in ended.err
    journal.close()


def test_a_pager_hears_that_people_are_asked(shell: Shell, tmp_path: Path) -> None:
    """Law: a plan that waits for people is a question like any other: ``gate.asked``, of the whole run, with how many
    are needed and until when; and its end, once."""
    log = tmp_path / "log"
    on = ["gate.asked", "gate.decided", "approval.given", "approval.refused"]
    ended = move(shell, [logging(log, on)], "--approve-by", "1", "--break-glass", "nobody is there")
    assert ended.code == 0
    asked, *rest = [line for line in lines_of(log) if line["event"]["gate"] == "approval"]
    assert (asked["lane"], asked["event"]["approval"]["needed"]) == (None, 1)
    assert [line["event"]["ruling"]["choice"] for line in rest] == ["break-glass"]
