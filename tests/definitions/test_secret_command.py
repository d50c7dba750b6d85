"""Secrets from a command: what it prints is the secret, and nothing of it is ever shown."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import ValidationError

from orchestrator.errors import DefinitionError
from orchestrator.family.secrets import FILE_BYTES_MAX, SecretStore
from orchestrator.model.inventory import SecretRef
from tests.process_state import ends

pytestmark = pytest.mark.realtime

WHAT = "password of admin at ny"


def reveal(*command: str, timeout_s: float = 30.0) -> str:
    return SecretStore(command_timeout_s=timeout_s).reveal(SecretRef(command=command), what=WHAT)


def python(code: str, *more: str) -> Sequence[str]:
    return (sys.executable, "-I", "-S", "-c", code, *more)


def refused(*command: str, timeout_s: float = 30.0) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        reveal(*command, timeout_s=timeout_s)
    return caught.value


@pytest.mark.parametrize(
    ("printed", "secret"),
    [("swordfish\n", "swordfish"), ("a b\r\n", "a b"), ("two\n\n", "two\n"), ("ümlaut", "ümlaut")],
)
def test_what_it_prints_is_the_secret(printed: str, secret: str) -> None:
    """Law: its standard output, without one newline at the end."""
    code = "import sys; sys.stdout.buffer.write(sys.argv[1].encode())"
    assert reveal(*python(code, printed)) == secret


def test_no_shell_takes_part() -> None:
    """Law: each argument arrives as it is written."""
    code = "import sys; print('|'.join(sys.argv[1:]))"
    assert reveal(*python(code, "$HOME", "a b", "*", ";id")) == "$HOME|a b|*|;id"


def test_it_is_run_once_and_redacted_from_then_on(tmp_path: Path) -> None:
    """Law: the command runs once for all who ask, and its output is replaced in every text."""
    log = tmp_path / "log"
    store = SecretStore()
    code = "import sys; open(sys.argv[1], 'a').write('x'); print('swordfish')"
    reference = SecretRef(command=tuple(python(code, str(log))))
    assert [store.reveal(reference, what=WHAT) for _ in range(3)] == ["swordfish"] * 3
    assert log.read_text(encoding="utf-8") == "x"
    assert store.redactor.scrub("it is swordfish") == "it is [redacted]"


def test_a_slow_command_holds_up_no_other_secret(tmp_path: Path) -> None:
    """Law: while one command takes its time, as that of a hook may, the password of a device is to be had."""
    store, released = SecretStore(), tmp_path / "released"
    code = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\nprint('late')"
    slow = SecretRef(command=tuple(python(code, str(released))))
    found: list[str] = []
    waiting = threading.Thread(target=lambda: found.append(store.reveal(slow, what="secret of hook web")))
    waiting.start()
    assert store.reveal(SecretRef(command=tuple(python("print('swordfish')"))), what=WHAT) == "swordfish"
    assert found == []
    released.touch()
    waiting.join()
    assert found == ["late"]


def test_a_failure_has_the_exit_code_and_nothing_that_was_printed() -> None:
    """Law: neither output is in the error, which names the code and how to see for oneself."""
    code = "import sys; print('swordfish'); print('tunafish', file=sys.stderr); sys.exit(3)"
    error = refused(*python(code))
    assert f"the command of the {WHAT} ended with exit code 3; its output is not shown" in str(error)
    shown = str(error).replace(code, "")
    assert "fish" not in shown
    assert "run the command yourself: " in error.hint


def test_stderr_goes_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    """Law: what it writes beside the secret reaches no terminal."""
    assert reveal(*python("import sys; print('a'); print('noise', file=sys.stderr)")) == "a"
    assert capfd.readouterr() == ("", "")


def test_a_command_that_does_not_end_is_ended(tmp_path: Path) -> None:
    """Law: after its time it is killed with its children, and the error says so."""
    started = tmp_path / "started"
    code = (
        "import os, sys, time\n"
        "child = os.fork()\n"
        "open(sys.argv[1], 'w').write(str(child)) if child else None\n"
        "time.sleep(600)\n"
    )
    error = refused(*python(code, str(started)), timeout_s=5.0)
    assert f"the command of the {WHAT} did not end within 5 s" in str(error)
    assert ends(int(started.read_text(encoding="utf-8")))


def test_too_much_output() -> None:
    """Law: output without end is cut off at the size of a secret in a file."""
    code = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    assert f"larger than {FILE_BYTES_MAX // 1024} KiB" in str(refused(*python(code)))


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("/no/such/program",), "cannot be started: No such file or directory"),
        (("./show",), "is a relative path"),
        (("true",), f"the output of the command of the {WHAT} is empty"),
        (tuple(python("import sys; sys.stdout.buffer.write(b'\\xff')")), "is not UTF-8 text"),
    ],
)
def test_what_gives_no_secret_is_refused(command: Sequence[str], why: str) -> None:
    """Law: each refusal says what is wrong."""
    assert why in str(refused(*command))


def test_it_has_no_terminal_and_the_environment() -> None:
    """Law: it reads nothing from us, and finds what a password manager needs."""
    code = (
        "import os, sys; print(repr(sys.stdin.read()), os.getcwd(), os.environ['STORE'], os.getsid(0) == os.getpid())"
    )
    store = SecretStore(environment={**os.environ, "STORE": "s"})
    assert store.reveal(SecretRef(command=tuple(python(code))), what=WHAT) == "'' / s True"


@pytest.mark.parametrize(
    "written", [{"command": []}, {"command": [""]}, {"command": "pass show"}, {"command": ["a"], "env": "B"}]
)
def test_what_is_no_command(written: dict[str, object]) -> None:
    """Law: a list of at least one word, and no other source beside it."""
    with pytest.raises(ValidationError):
        SecretRef.model_validate(written)
