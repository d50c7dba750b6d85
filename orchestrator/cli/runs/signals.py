"""Signal handling for commands that run until a person stops them, and for commands that must clean up before they
end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import typer

from orchestrator.cli.render.terminal import say_error
from orchestrator.stopping import Stop


@contextmanager
def until_stopped() -> Iterator[None]:
    """Run the block until it ends, or until Ctrl-C or SIGTERM ends it. A signal is no error here."""
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
def on_ctrl_z(do: Callable[[], None]) -> Iterator[None]:
    """Within the block, Ctrl-Z only calls ``do``, in a thread, because the signal handler may have interrupted the
    writing of a line. If Ctrl-Z was ignored before, it stays ignored."""

    def handle(number: int, frame: FrameType | None) -> None:
        threading.Thread(target=do, name="ctrl-z", daemon=True).start()

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(signal.SIGTSTP, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)


@contextmanager
def asked_to_stop() -> Iterator[Stop]:
    """An event that Ctrl-C and SIGTERM set. Within the block the first signal interrupts nothing, so the present work
    ends by itself.

    A second signal interrupts the work.
    """
    asked = Stop()

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


@contextmanager
def stopped_in_order(what_stays: str = "do not use an unfinished result") -> Iterator[None]:
    """Run the block. On Ctrl-C or SIGTERM the block cleans up. Then the signal is reported, and the exit code shows it.

    ``what_stays`` ends the reported sentence. Raises ``typer.Exit``. A second signal ends the process at once.
    """
    came = signal.SIGINT

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = signal.Signals(number)
        signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    signals = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, stop) for number in signals}
    try:
        yield
    except KeyboardInterrupt as error:
        say_error(f"stopped by {came.name}; {what_stays}")
        raise typer.Exit(128 + came) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
