"""What all tests share: Ctrl-C reaches child processes, and a whole run prints its seconds by folder."""

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
