"""What all tests share: Ctrl-C reaches child processes, long forms run when asked for, and a whole run prints its seconds
by folder."""

from __future__ import annotations

import signal
from collections import defaultdict
from pathlib import PurePath

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A runner in the background ignores Ctrl-C. Handlers are reset when a program starts, ignored signals are inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A run of fewer folders is of a part: its sums are what pytest prints anyway.
_FOLDERS_OF_A_WHOLE_RUN = 5
_seconds: defaultdict[str, float] = defaultdict(float)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option ``--long``."""
    parser.addoption("--long", action="store_true", help="also the long forms of tests, those marked `long`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without ``--long`` a long form is not a test that was skipped: its short form is among the others."""
    if config.getoption("--long"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        items[:] = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up setup, call and teardown of each test by its folder under ``tests``."""
    _seconds[PurePath(report.nodeid.split("::")[0]).parts[1]] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the sums: seconds of all workers together, the most expensive folder first."""
    if len(_seconds) < _FOLDERS_OF_A_WHOLE_RUN:
        return
    terminalreporter.section("test-seconds by folder")
    for folder, seconds in sorted(_seconds.items(), key=lambda one: -one[1]):
        terminalreporter.write_line(f"{seconds:8.0f} s  {folder}")
    terminalreporter.write_line(f"{sum(_seconds.values()):8.0f} s  in all")
