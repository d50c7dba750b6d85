"""The ``failover`` command: its list of commands, and the only place that reports errors.

Importing this module must stay fast, because an operator also types ``failover --help`` during an outage.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import manual
from orchestrator.cli.commands import (
    check,
    compare,
    definitions,
    family,
    guard,
    hooks,
    lab,
    pipeline,
    rehearse,
    repair,
    runs,
    simulate,
    snapshot,
    status,
    validate,
    watch,
)
from orchestrator.cli.commands import (
    control as ongoing,
)
from orchestrator.cli.commands import (
    controlled as move,
)
from orchestrator.cli.commands import (
    recover as unplanned,
)
from orchestrator.cli.context import WIRE
from orchestrator.cli.help import GroupedCommands
from orchestrator.cli.lazy import command_tree
from orchestrator.cli.render.terminal import open_what_is_closed, say, say_error, show, show_json, tolerate_any_text
from orchestrator.cli.replaced import replacement
from orchestrator.cli.wire_log import WireLog, in_front
from orchestrator.clock import SystemClock
from orchestrator.errors import FailoverError, OutputLost

if TYPE_CHECKING:
    from orchestrator.operations.runtime import Tools

EXIT_CODES = """\
Exit codes: 0 done; 2 usage or definition error; 3 refused, nothing changed; 4 findings; 5 reverted; 6 needs an
operator; 7 stuck; 8 locked by another run; 9 escalated; 10 not aborted; 70 a bug."""

_OBJECTS_BETWEEN_COLLECTIONS = 50_000  # The default of Python is 700


def _show_version(wanted: bool) -> None:
    if wanted:
        from orchestrator.version import VERSION

        show(f"failover {VERSION}")
        raise typer.Exit


app = typer.Typer(
    name="failover",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help=(
        "Move replicated messaging services from one site to its mate, and back, without losing a message.\n\n"
        "Without an inventory, every command works on an embedded simulated pair and says SIMULATED."
    ),
    epilog=EXIT_CODES,
    cls=GroupedCommands,
)


@app.callback()
def _of_all(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    family: Annotated[
        list[Path] | None,
        typer.Option("--family", metavar="FILE", help="A file that declares a family; repeat for several."),
    ] = None,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            show_default=False,
            help="Show each command that is sent to a device; -vv also shows the answers.",
        ),
    ] = 0,
    log_file: Annotated[
        Path | None, typer.Option("--log-file", metavar="FILE", help="Write commands and answers to FILE, redacted.")
    ] = None,
) -> None:
    """The options of all commands."""
    if verbose or log_file is not None:
        wire = WireLog(verbose, log_file)
        context.meta[WIRE] = wire
        context.call_on_close(wire.close)
    if family:
        from orchestrator.operations.declared_families import name_families

        name_families(family)


move.register(app)
unplanned.register(app)
repair.register(app)
ongoing.register(app)
status.register(app)
check.register(app)
watch.register(app)
guard.register(app)
rehearse.register(app)
runs.register(app)
definitions.register(app)
family.register(app)
validate.register(app)
hooks.register(app)
lab.register(app)
simulate.register(app)
manual.register(app)
snapshot.register(app)
compare.register(app)
pipeline.register(app)


@cache
def _command() -> Callable[..., Any]:
    """The tree of commands. A process that runs several commands makes it once."""
    return command_tree(app)


def main(arguments: Sequence[str] | None = None, tools: Tools | None = None) -> int:
    """Run one command and return its exit code. ``tools`` replaces this process's own tools.

    A deliberate error becomes one sentence, a hint and its exit code. Any other error is a bug, and is reported as a bug.
    """
    started = SystemClock().now()
    typed = in_front(sys.argv[1:] if arguments is None else arguments)
    open_what_is_closed()
    tolerate_any_text()
    try:
        with _private_files(), _few_collections():
            _command()(typed, prog_name="failover", obj=tools)
    except SystemExit as end:
        return _ended(end, as_json="--json" in typed)
    except FailoverError as error:
        if isinstance(error, OutputLost) and error.is_reader_gone:
            return 0  # the reader, such as `| head`, has closed the pipe
        return _failed(error, as_json="--json" in typed)
    except Exception as error:  # noqa: BLE001 - the other of the two doors: a bug must still end in a sentence
        replaced = replacement(error, started)
        if replaced is not None:
            return _failed(replaced, as_json="--json" in typed)
        bug = FailoverError(
            f"this is a bug: {type(error).__name__}: {error}",
            hint="no more commands were sent; see the record of the run",
        )
        if os.environ.get("FAILOVER_TRACEBACK"):
            traceback.print_exc()
        else:
            say("set FAILOVER_TRACEBACK=1 to see where the error is")
        return _failed(bug, as_json="--json" in typed)
    return 0


@contextmanager
def _private_files() -> Iterator[None]:
    """Within the block, only this account can read the files that a command writes, such as evidence and reports."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def _few_collections() -> Iterator[None]:
    """Within the block, the garbage collector runs less often. Imports make many permanent objects, and each collection
    visits all of them and frees nothing. That takes a tenth of the time of a command of half a second."""
    thresholds = gc.get_threshold()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _ended(end: SystemExit, *, as_json: bool) -> int:
    """The exit code of a command that ended by itself, or of text that is no command. typer has already reported the
    mistake as text, so only the JSON result is written here."""
    if isinstance(end.__context__, BrokenPipeError):
        return 0  # the reader of the help has closed the pipe
    code = end.code if isinstance(end.code, int) else 0
    misuse = getattr(end.__context__, "format_message", None)
    if as_json and misuse is not None:
        _show_error(str(misuse()), "", code)
    return code


def _failed(error: FailoverError, *, as_json: bool) -> int:
    say_error(str(error), hint=error.hint)
    if as_json:
        _show_error(str(error), error.hint, error.exit_code, error.stands)
    return error.exit_code


def _show_error(sentence: str, hint: str, code: int, stands: Sequence[str] = ()) -> None:
    """Write the error as JSON in place of a result. If stdout itself was lost, nothing is written."""
    left = {"stands": list(stands)} if stands else {}
    try:
        show_json({"result": {"exit_code": code, "error": sentence, "hint": hint, **left}})
    except OutputLost:
        return
