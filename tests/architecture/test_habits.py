"""What no file of the project does, and that the exceptions are the listed ones."""

from __future__ import annotations

import pytest

from tests.architecture.floors import KERNEL
from tests.architecture.habits import (
    DOORS,
    LINES_MAX,
    LONGER,
    WAITERS,
    Checker,
    broad_handlers,
    clock_readers,
    impatient_tests,
    impurities,
    lawless_tests,
    locking_handlers,
    patches,
    picturing,
    too_long,
    undocumented_modules,
    unsafe,
)
from tests.architecture.source import Source, code, listed

# The core may use itself, the nouns and the contract; of the kernel not the clock: time is given to it as a number.
PURE_NAMES = (KERNEL - {"clock", "interpreter"}) | {"model", "core", "family.contract"}


def test_the_core_is_pure(product: list[Source]) -> None:
    """Lifecycle, state, decide and drain use no time, chance, input, output or logging: a fold is a fold."""
    core = [one for one in product if one.path.startswith("orchestrator/core/")]
    assert core
    assert not (found := impurities(core, PURE_NAMES)), listed(found)


def test_time_is_injected(product: list[Source]) -> None:
    """Only the clock asks the machine for the time, or sleeps."""
    found = clock_readers(source for source in product if source.path != "orchestrator/clock.py")
    assert not found, listed(found)


def test_nothing_is_swallowed(product: list[Source]) -> None:
    """No handler catches everything and goes on, but the listed doors."""
    assert not (found := broad_handlers(product)), listed(found)


def test_nobody_is_trusted_blindly(product: list[Source], tests: list[Source], bench: list[Source]) -> None:
    """Host keys and certificates are checked, and no shell reads our texts; in tests and benchmarks too."""
    assert not (found := unsafe([*product, *tests, *bench])), listed(found)


def test_words_stay_words(product: list[Source]) -> None:
    """No screen makes a picture of what stands between two colons: the name of a resource agent may have it."""
    assert not (found := picturing(product)), listed(found)


def test_handlers_hold_no_lock(product: list[Source], bench: list[Source]) -> None:
    """No module that sets a signal handler has a lock or an event: the handler could wait for the thread that it
    interrupts."""
    assert not (found := locking_handlers([*product, *bench])), listed(found)


def test_files_have_one_subject(product: list[Source], bench: list[Source]) -> None:
    """No file outside of the tests is longer than one subject needs."""
    assert not (found := too_long([*product, *bench])), listed(found)


def test_files_say_what_they_are_for(product: list[Source], tests: list[Source], bench: list[Source]) -> None:
    """Every module begins with its purpose."""
    found = undocumented_modules([*product, *tests, *bench])
    assert not found, listed(found)


def test_tests_use_seams(tests: list[Source]) -> None:
    """No test replaces a part of the product from outside."""
    assert not (found := patches(tests)), listed(found)


def test_tests_do_not_wait(tests: list[Source]) -> None:
    """Tests do not sleep, but those marked realtime."""
    assert not (found := impatient_tests(tests)), listed(found)


def test_tests_state_their_law(tests: list[Source]) -> None:
    """The docstring of every test says what must hold."""
    assert not (found := lawless_tests(tests)), listed(found)


def test_exceptions_have_reasons() -> None:
    """Whoever is excepted from a rule is so for a stated reason."""
    assert all(DOORS.values())
    assert all(LONGER.values())
    assert all(WAITERS.values())


def impure(sources: list[Source]) -> list[str]:
    return impurities(sources, ["core", "errors", "family.contract"])


def no_waiters(sources: list[Source]) -> list[str]:
    return impatient_tests(sources, {})


def no_doors(sources: list[Source]) -> list[str]:
    return broad_handlers(sources, {})


@pytest.mark.parametrize(
    ("checker", "lines"),
    [
        (impure, ["import random"]),
        (impure, ["from datetime import datetime"]),
        (impure, ["from orchestrator import clock"]),
        (impure, ["from orchestrator.clock import iso"]),
        (impure, ["from orchestrator.family.registry import Registry"]),
        (impure, ["print('x')"]),
        (impure, ["def f() -> None:", "    global x"]),
        (clock_readers, ["import time", "time.sleep(1)"]),
        (clock_readers, ["from time import monotonic"]),
        (clock_readers, ["from datetime import datetime", "datetime.now()"]),
        (clock_readers, ["import datetime", "datetime.date.today()"]),
        (clock_readers, ["import time", "time.strftime('%H')"]),
        (no_doors, ["try:", "    f()", "except Exception:", "    pass"]),
        (no_doors, ["try:", "    f()", "except (OSError, BaseException) as e:", "    raise ValueError from e"]),
        (no_doors, ["try:", "    f()", "except:", "    pass"]),
        (no_doors, ["with contextlib.suppress(Exception):", "    f()"]),
        (unsafe, ["client.set_missing_host_key_policy(paramiko.AutoAddPolicy())"]),
        (unsafe, ["from paramiko import WarningPolicy"]),
        (unsafe, ["get(url, verify=False)"]),
        (unsafe, ["context.verify_mode = ssl.CERT_NONE"]),
        (unsafe, ["context.check_hostname = False"]),
        (unsafe, ["run('ls', shell=True)"]),
        (picturing, ["from rich.console import Console", "Console(stderr=True, emoji=True)"]),
        (locking_handlers, ["import signal", "signal.signal(2, f)", "stop = threading.Event()"]),
        (patches, ["from unittest.mock import patch"]),
        (patches, ["from unittest import mock"]),
        (patches, ["import unittest.mock"]),
        (patches, ["def test_x(monkeypatch):", "    monkeypatch.setattr(os, 'name', 'x')"]),
        (no_waiters, ["import time", "def test_x():", "    time.sleep(1)"]),
        (too_long, ["x = 1"] * (LINES_MAX + 1)),
        (undocumented_modules, ["x = 1"]),
        (lawless_tests, ["class TestX:", "    def test_x(self):", "        pass"]),
    ],
)
def test_control_bad(checker: Checker, lines: list[str]) -> None:
    """Each checker finds each kind of bad source, exactly once."""
    assert len(checker([code("orchestrator/bad.py", *lines)])) == 1


@pytest.mark.parametrize(
    ("checker", "lines"),
    [
        (impure, ["from orchestrator.core import run", "from orchestrator.family.contract import x", "import math"]),
        (clock_readers, ["import time", "time.strftime('%H', time.gmtime(now))", "clock.sleep(1)", "clock.now()"]),
        (no_doors, ["try:", "    f()", "except BaseException:", "    unlock()", "    raise"]),
        (no_doors, ["try:", "    f()", "except (OSError, ValueError):", "    pass"]),
        (unsafe, ["get(url, verify=True)", "run(['ls'])", "context.check_hostname = True"]),
        (locking_handlers, ["import signal", "signal.signal(2, f)", "stop = Stop()"]),
        (locking_handlers, ["import signal", "signal.raise_signal(2)", "stop = threading.Event()"]),
        (patches, ["def test_x(monkeypatch):", "    monkeypatch.setenv('A', 'b')"]),
        (no_waiters, ["import time", "@pytest.mark.realtime", "def test_x():", "    time.sleep(1)"]),
        (no_waiters, ["import time", "pytestmark = [pytest.mark.realtime]", "time.sleep(1)"]),
        (too_long, ["x = 1"] * LINES_MAX),
        (undocumented_modules, ['"""X."""']),
        (lawless_tests, ["def test_x():", '    """Law."""', "    def test_y(): pass", "def helper(): pass"]),
    ],
)
def test_control_good(checker: Checker, lines: list[str]) -> None:
    """No checker objects to a good source."""
    assert checker([code("orchestrator/good.py", *lines)]) == []


def test_control_stale_exceptions() -> None:
    """An exception that nobody needs any more is itself a violation."""
    good = [code("orchestrator/good.py", "x = 1")]
    assert len(broad_handlers(good, {("orchestrator/good.py", "f"): "why"})) == 1
    assert len(impatient_tests(good, {("orchestrator/good.py", "f"): "why"})) == 1
    assert len(too_long(good, {"orchestrator/good.py": "why"})) == 1
