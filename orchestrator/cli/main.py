"""The ``failover`` command: its list of commands, and the one door through which every error leaves.

Importing this module must stay cheap: ``failover --help`` is typed at three in the morning too.
"""

from __future__ import annotations

import os
import sys
import traceback

import typer

from orchestrator.cli import definitions, lab, move, runs, status
from orchestrator.cli.terminal import say, say_error
from orchestrator.errors import FailoverError

EXIT_CODES = """\
Exit codes: 0 done; 2 usage or definition error; 3 refused, nothing changed; 4 findings; 5 reverted; 6 needs an
operator; 7 stuck; 8 locked by another run; 9 escalated; 70 a bug."""

app = typer.Typer(
    name="failover",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help=(
        "Moves replicated messaging services from one site to its mate, and back, without losing a message.\n\n"
        "Without an inventory it works on an embedded simulated pair and says SIMULATED."
    ),
    epilog=EXIT_CODES,
)
move.register(app)
status.register(app)
runs.register(app)
definitions.register(app)
lab.register(app)


def main() -> None:
    """Run one command. Deliberate errors become one sentence, a hint and their exit code; anything else is a bug."""
    try:
        app()
    except FailoverError as error:
        say_error(str(error), hint=error.hint)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        say_error("interrupted")
        raise SystemExit(130) from None
    except BrokenPipeError:
        # Whoever read our output went away (`| head`): nothing is left to say, and to nobody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except Exception as error:  # noqa: BLE001 - the other of the two doors: a bug must still end in a sentence
        say_error(
            f"this is a bug: {type(error).__name__}: {error}", hint="nothing more was sent; see the run's record"
        )
        if os.environ.get("FAILOVER_TRACEBACK"):
            traceback.print_exc()
        else:
            say("set FAILOVER_TRACEBACK=1 to see where")
        raise SystemExit(70) from None
