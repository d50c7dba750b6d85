"""A command is told: with the event on its input, little else in its environment, and no way to hold anything up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.clock import SystemClock, VirtualClock
from orchestrator.errors import HookFailed
from orchestrator.family.secrets import Redactor
from orchestrator.model import events as ev
from orchestrator.notifications.command import LEFT, CommandSender, kill
from orchestrator.notifications.message import Message, message_of
from tests.hooks.hooking import RUN, SECRET, lines_of
from tests.process_state import ends, has_ended

pytestmark = pytest.mark.realtime


def a_message(note: str = "") -> Message:
    event = ev.StepDone(step="drain", note=note).model_dump_json()
    line = {"run": RUN, "seq": 3, "at": 1_800_000_000.0, "lane": "Trading", "event": event}
    return message_of(line, simulated=True, scrub=Redactor().scrub_data)


def a_sender(
    *arguments: str,
    timeout_s: float = 20.0,
    is_halted: Callable[[], bool] = lambda: False,
    end: Callable[[subprocess.Popen[bytes]], None] = kill,
    **environment: str,
) -> CommandSender:
    redactor = Redactor()
    redactor.learn(SECRET)
    return CommandSender(
        arguments,
        timeout_s=timeout_s,
        clock=SystemClock(),
        scrub=redactor.scrub,
        environment=environment,
        is_halted=is_halted,
        end=end,
    )


def python(text: str) -> tuple[str, ...]:
    return sys.executable, "-c", text


def failure_of(sender: CommandSender, message: Message | None = None) -> HookFailed:
    with pytest.raises(HookFailed) as caught:
        sender(message or a_message())
    return caught.value


def test_the_event_is_on_its_input(tmp_path: Path) -> None:
    """Law: the command reads the event as one line of JSON, and then the end of its input."""
    path = tmp_path / "told"
    a_sender("sh", "-c", f"cat > {path}")(a_message())
    assert lines_of(path) == [json.loads(a_message().line())]


def test_its_environment_is_minimal(tmp_path: Path) -> None:
    """Promise 10: a command gets its own few variables and what the event is, and no password of ours."""
    path = tmp_path / "environment"
    text = f"import json, os; open({str(path)!r}, 'w').write(json.dumps(dict(os.environ)))"
    a_sender(*python(text), FAILOVER_NY_PASSWORD=SECRET, HOME="/some/where", LD_PRELOAD="x", PATH="/evil")(
        a_message()
    )
    [environment] = lines_of(path)
    environment.pop("LC_CTYPE", None)  # the interpreter's own doing
    assert environment == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/some/where",
        "LANG": "C.UTF-8",
        "FAILOVER_EVENT": "step.done",
        "FAILOVER_EVENT_ID": "run-1/3",
        "FAILOVER_RUN": "run-1",
        "FAILOVER_SIMULATED": "true",
    }


def test_it_starts_at_the_root(tmp_path: Path) -> None:
    """Law: where the program was started from makes no difference to a command."""
    path = tmp_path / "pwd"
    a_sender("sh", "-c", f"pwd > {path}")(a_message())
    assert path.read_text() == "/\n"


def test_no_shell_reads_its_arguments(tmp_path: Path) -> None:
    """Law: an argument arrives as it was written, whatever a shell would make of it."""
    path = tmp_path / "arguments"
    odd = ("$(touch x); `touch y`", "a b", "'\"", "*", "")
    text = f"import json, sys; open({str(path)!r}, 'w').write(json.dumps(sys.argv[1:]))"
    a_sender(*python(text), *odd)(a_message())
    assert lines_of(path) == [list(odd)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("import sys; sys.exit(3)", "exit code 3"),
        (
            "import sys; print('no such pager', flush=True); sys.exit('and no  mail')",
            "exit code 1: no such pager and no mail",
        ),
        ("import os; os.kill(os.getpid(), 9)", "ended by SIGKILL"),
    ],
)
def test_a_command_that_fails(text: str, sentence: str) -> None:
    """Law: any end but exit code 0 is a failure, with what the command said."""
    failure = failure_of(a_sender(*python(text)))
    assert str(failure) == sentence
    assert failure.cause == sentence.partition(":")[0].removeprefix("ended by ")


@pytest.mark.parametrize("arguments", [("/no/such/program",), ("no-such-program-anywhere",), ("/",), ("x\0y",)])
def test_a_command_that_cannot_be_started(arguments: tuple[str, ...]) -> None:
    """Law: a mistake in the inventory is a failure like others, not an end of the program."""
    assert "cannot be started" in str(failure_of(a_sender(*arguments)))


def test_a_command_that_never_ends_is_killed_with_its_children(tmp_path: Path) -> None:
    """Law: when the time is over, the command and all it has started are gone."""
    path = tmp_path / "pids"
    text = f"echo waiting; sleep 600 & echo $$ $! > {path}; wait"
    failure = failure_of(a_sender("sh", "-c", text, timeout_s=1.0))
    assert str(failure) == "the command did not end within 1s: waiting"
    pids = [int(word) for word in path.read_text().split()]
    assert all(map(ends, pids))


def test_who_cannot_wait_any_longer_cuts_it_off() -> None:
    """Law: a program that ends leaves no command behind that nobody watches."""
    halted = threading.Event()
    threading.Timer(0.3, halted.set).start()
    clock = SystemClock()
    began = clock.now()
    failure = failure_of(a_sender("sleep", "600", timeout_s=600.0, is_halted=halted.is_set))
    assert "cut off" in str(failure) and clock.now() - began < 10


@pytest.mark.parametrize("is_cut_off", [False, True])
def test_one_that_cannot_be_killed_holds_nothing_up(tmp_path: Path, is_cut_off: bool) -> None:
    """Law: a command that no signal ends (it changed its account, or hangs in the kernel) is not waited for, and while it
    is there no second one is started; once it is gone the hook is told again."""
    stuck: list[int] = []
    halted = threading.Event()
    hangs = tmp_path / "hangs"
    hangs.touch()
    sender = a_sender(
        *("sh", "-c", f"if test -e {hangs}; then exec sleep 600; fi"),
        timeout_s=60.0 if is_cut_off else 5.0,
        is_halted=halted.is_set,
        end=lambda process: stuck.append(process.pid),
    )
    if is_cut_off:
        halted.set()
    try:
        failure = failure_of(sender)
        assert failure.cause == LEFT
        assert str(failure).startswith(f"the command {'was cut off' if is_cut_off else 'did not end within 5s'}")
        assert str(failure).endswith(f"; process {stuck[0]} cannot be ended")
        again = failure_of(sender)
        assert (again.cause, str(again)) == (LEFT, f"process {stuck[0]} of an earlier attempt has not ended")
        assert not has_ended(stuck[0]) and len(set(stuck)) == 1
    finally:
        hangs.unlink()
        os.kill(stuck[0], 9)
    assert ends(stuck[0])
    halted.clear()
    sender(a_message())


def test_a_child_that_stays_behind_holds_nothing_up(tmp_path: Path) -> None:
    """Law: a command is done when it ends, though a child of its keeps its output open."""
    path = tmp_path / "pid"
    clock = SystemClock()
    began = clock.now()
    a_sender("sh", "-c", f"sleep 600 & echo $! > {path}; exit 0", timeout_s=60.0)(a_message())
    assert clock.now() - began < 20
    os.kill(int(path.read_text()), 9)


@pytest.mark.parametrize("text", ["exit 0", "exec <&-; exit 0", "head -c 5 >/dev/null; exit 0"])
def test_a_command_need_not_read_its_input(text: str) -> None:
    """Law: a command that only wants to know that something happened succeeds, however long the event is."""
    a_sender("sh", "-c", text)(a_message("x" * 3_000_000))


def test_a_command_that_talks_and_reads_a_lot_does_not_jam() -> None:
    """Law: input and output go at the same time, and output is kept only as far as a failure needs it."""
    text = (
        "import sys\nfor _ in range(200): sys.stdout.write('y' * 10000)\n"
        "assert len(sys.stdin.read()) > 2000000\nsys.exit('the end')"
    )
    failure = failure_of(a_sender(*python(text)), a_message("x" * 2_000_000))
    assert str(failure).endswith("the end") and len(str(failure)) < 400


def test_what_it_says_is_shown_without_secrets() -> None:
    """Promise 10: a secret that a command prints is in no failure, not even in part where its output is cut."""
    text = f"print({SECRET!r} * 2000, flush=True); raise SystemExit({SECRET + ' was refused'!r})"
    failure = failure_of(a_sender(*python(text)))
    assert str(failure).endswith("was refused")
    assert SECRET not in str(failure) and SECRET[4:] not in str(failure)


def test_no_more_is_kept_than_a_failure_needs() -> None:
    """Law: however much a command says, little of it is held in memory."""
    looked_through: list[int] = []

    def scrub(text: str) -> str:
        looked_through.append(len(text))
        return text

    sender = CommandSender(
        python("import sys; sys.exit('y' * 1_000_000)"),
        timeout_s=20.0,
        clock=SystemClock(),
        scrub=scrub,
        environment={},
        is_halted=lambda: False,
    )
    assert str(failure_of(sender)).endswith("y" * 300)
    assert 300 < max(looked_through) < 50_000


class _Ticking(VirtualClock):
    """A clock on which a second passes between any two looks at it."""

    def now(self) -> float:
        self.advance(1.0)
        return super().now()


def test_a_command_has_the_time_of_its_hook_and_no_more() -> None:
    """Law: the time-out of the inventory is kept to the second."""
    clock = _Ticking()
    began = clock.now()
    sender = CommandSender(
        ("sleep", "20"), timeout_s=6.0, clock=clock, scrub=str, environment={}, is_halted=lambda: False
    )
    assert failure_of(sender).cause == "time-out"
    assert 6.0 <= clock.now() - began <= 8.0
