"""What all tests share: Ctrl-C reaches child processes, long tests run only on request, temporary folders are in
memory where there is room, and a whole run prints its seconds by folder."""

from __future__ import annotations

import os
import shutil
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


# Two workers and a disk: half of the time of a test that leads a run went into fsync, of files that are deleted after it.
_MEMORY, _ROOM_BYTES, _TEMPROOT = "/dev/shm", 4 * 1024**3, "PYTEST_DEBUG_TEMPROOT"


def pytest_configure() -> None:
    """Put temporary folders into memory where that is large and may run programs, unless another place is named."""
    if _TEMPROOT in os.environ or not os.access(_MEMORY, os.W_OK):
        return
    if not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC and shutil.disk_usage(_MEMORY).free >= _ROOM_BYTES:
        os.environ[_TEMPROOT] = _MEMORY


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--long``: keep the tests that are marked ``long``."""
    parser.addoption("--long", action="store_true", help="also run the tests that are marked long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without ``--long``, deselect what is marked ``long``: it is not part of the run, and so nothing is skipped."""
    if config.getoption("--long"):
        return
    kept = [item for item in items if item.get_closest_marker("long") is None]
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
    items[:] = kept


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
