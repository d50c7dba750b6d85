"""Commands that go on until somebody stops them: Ctrl-C and SIGTERM are their ordinary end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator import events as ev
    from orchestrator.cli.wiring import Tools


@contextmanager
def until_stopped() -> Iterator[None]:
    """Do the block until it ends, or until Ctrl-C or SIGTERM ends it, which is no error."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Set by Ctrl-C and SIGTERM, which break into nothing within this block: what is under way ends by itself.

    A second Ctrl-C breaks in.
    """
    asked = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def stop_with_its_run(tools: Tools, plan: ev.Plan) -> None:
    """Whoever stops a run that such a command leads stops the command too. Raises ``KeyboardInterrupt``."""
    from orchestrator.lease import claims, service_key
    from orchestrator.state import fold

    with closing(tools.journal()) as journal:
        claimed = claims(journal)
        owners = {claimed.get(service_key(plan, service)) for service in plan.services}
        if any(run is not None and fold(journal.records(run)).status == "paused" for run in owners):
            raise KeyboardInterrupt
