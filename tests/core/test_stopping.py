"""A request to stop that a signal handler makes, wherever in its wait the main thread is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from orchestrator.stopping import Stop

pytestmark = pytest.mark.realtime

# A handler runs between any two lines of the wait: the signal is sent at the first, the second, and so on, until a wait
# has no such line any more.
INTERRUPTED = """\
import signal, sys
from {module} import {name}

def waited(at):
    stop, lines = {name}(), 0
    def trace(frame, event, argument):
        nonlocal lines
        if event == "line":
            lines += 1
            if lines == at:
                signal.raise_signal(signal.SIGINT)
        return trace
    def ask(number, frame):
        sys.settrace(None)
        stop.set()
    signal.signal(signal.SIGINT, ask)
    sys.settrace(trace)
    stop.wait(0.05)
    sys.settrace(None)
    return lines >= at

at = 1
while waited(at):
    at += 1
print(at)
"""


def lines_interrupted(module: str, name: str) -> int:
    """How many lines a wait has, each of which was interrupted. Raises ``TimeoutExpired`` where one waits for ever."""
    text = INTERRUPTED.format(module=module, name=name)
    return int(subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=5).stdout)


def test_a_signal_in_the_middle_of_the_wait() -> None:
    """Law: a handler may ask to stop at every line of the wait. Control: an event of the standard library waits for
    itself."""
    assert lines_interrupted("orchestrator.stopping", "Stop") > 3
    with pytest.raises(subprocess.TimeoutExpired):
        lines_interrupted("threading", "Event")


def test_it_is_set_once_for_good() -> None:
    """Law: a wait ends at once when it was set, before or again, and after its time when it was not."""
    stop = Stop()
    assert (stop.wait(0.001), stop.is_set()) == (False, False)
    stop.set()
    stop.set()
    assert [stop.wait(), stop.wait(), stop.wait(60.0)] == [True, True, True]
