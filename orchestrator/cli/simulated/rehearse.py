"""Runs the rehearsed command on a simulated copy of the pair, and shows the debriefing.

It calls the real command with typed words, and with the tools of the rehearsal.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from orchestrator.cli.render.terminal import say, show, show_json
from orchestrator.counting import counted
from orchestrator.operations.rehearsal.debriefing import Debriefing
from orchestrator.operations.rehearsal.rehearse import SPEED_UP, RehearsalRequest, Rehearsing, rehearsing
from orchestrator.operations.runtime import JOURNAL_VARIABLE, STATE_VARIABLE, Tools

# Exit codes of runs that can be resumed: needs-operator, stuck.
_RESUMABLE = (6, 7)
# A decision that took fewer seconds than this was made at once.
_AT_ONCE = 0.1
# The option of every rehearsed command that names the site.
_SITE_OPTION = "--site"


class Program(Protocol):
    """The program's command line."""

    def main(self, args: Sequence[str], prog_name: str, *, obj: Tools) -> Any: ...


def run_rehearsal(tools: Tools, request: RehearsalRequest, program: Program, *, yes: bool, as_json: bool) -> int:
    """Rehearse, and show the outcome. Returns the exit code of the rehearsed command."""
    with rehearsing(tools, request) as copy:
        _announce(request, copy, as_json)
        code = _type(program, copy, _typed(request, copy, yes=yes, as_json=as_json))
        if not as_json:
            _debrief(request, copy, is_open=code in _RESUMABLE)
    return code


def _typed(request: RehearsalRequest, copy: Rehearsing, *, yes: bool, as_json: bool) -> list[str]:
    """The rehearsed command, word by word."""
    words = [request.kind, "--inventory", str(copy.inventory), _SITE_OPTION, copy.rehearsal.source]
    words += [*request.more, *_services(request, copy)]
    words += [word for fault in copy.faults for word in ("--fault", fault)]
    words += ["--yes"] if yes or not request.attended else []
    return words + (["--json"] if as_json else [])


def _services(request: RehearsalRequest, copy: Rehearsing) -> list[str]:
    """The services that are not among the words of ``more``, as plain words. A name that looks like an option becomes
    the value of ``--service``."""
    names = [name for name in copy.rehearsal.services if name not in request.plain]
    return [f"--service={name}" if name.startswith("-") else name for name in names]


def _type(program: Program, copy: Rehearsing, words: Sequence[str]) -> int:
    try:
        program.main(words, "failover", obj=copy.tools)
    except SystemExit as end:
        if getattr(end.__context__, "format_message", None) is not None:
            raise  # the typed text is no command
        return end.code if isinstance(end.code, int) else 0
    return 0


def _announce(request: RehearsalRequest, copy: Rehearsing, as_json: bool) -> None:
    pair = copy.rehearsal.pair.name
    if as_json:
        head = {
            "command": request.kind,
            "pair": pair,
            "seed": copy.rehearsal.seed,
            "faults": list(copy.faults),
        }
        show_json({"simulated": True, "rehearsal": {**head, **copy.scene.facts()}})
        return
    pace = "" if not request.fast else f", {SPEED_UP:.0f} times as fast" if request.attended else ", at once"
    say(f"SIMULATED  rehearsal of `failover {request.kind}` on a copy of {pair}{pace}")
    for line in copy.scene.lines():
        say(f"SIMULATED    {line}")
    for fault in copy.faults:
        say(f"SIMULATED    this fault will happen: {fault}")


def _debrief(request: RehearsalRequest, copy: Rehearsing, *, is_open: bool) -> None:
    """Print the decisions, their times, and the outcome of the messages."""
    found = copy.debriefing()
    show("")
    show("SIMULATED  the rehearsal")
    for line in _decided(found):
        show(f"  {line}")
    total = found.figures
    held = f" ({total['stranded']:,} of them are still held by a site that does not serve)" if total["lost"] else ""
    lost = counted(total["lost"], copy.words.backlog or "message")
    both = copy.scene.openness(total["both_active_intervals"])
    show(
        f"  the simulation counted: {lost} lost{held}, {total['duplicated']:,} duplicated, "
        f"{total['out_of_order']:,} out of order{'; ' if both else ''}{both}"
    )
    if request.keep:
        # A rehearsal does not use a shared journal. With a shared journal, the command would show a real run.
        alone = f"{JOURNAL_VARIABLE}= " if os.environ.get(JOURNAL_VARIABLE) else ""
        show(f"  the record is kept: {alone}{STATE_VARIABLE}={copy.directory} failover runs show")
    elif is_open:
        show("  the record was deleted, so the run cannot be resumed; add --keep to rehearse a resume too")
    show(f"  to repeat this rehearsal: {_again(request, copy)}")


def _decided(found: Debriefing) -> Iterator[str]:
    if found.decided is None:
        return
    if not found.decided and not found.withdrawn:
        yield "no decision was needed"
    for service, one in found.decided:
        yield f"{service}: {one.gate}: {one.choice}, by {one.by}, {_took(one.seconds)}"
    for question in found.withdrawn:
        yield f"{question.service}: {question.gate}: asked, and no longer needed {_took(question.seconds)}"


def _again(request: RehearsalRequest, copy: Rehearsing) -> str:
    words = ["failover", "rehearse", request.kind, "--seed", str(copy.rehearsal.seed)]
    words += ["--all"] if request.everything else _services(request, copy)
    for option, value in (
        ("--pair", request.pair),
        (_SITE_OPTION, request.site),
        ("--inventory", request.inventory),
        ("--drill", request.drill),
    ):
        words += [] if value is None else [option, str(value)]
    words += [word for fault in request.faults for word in ("--fault", fault)]
    words += ["--offline"] if request.offline else []
    words += ["--both-active"] if request.both_active else []
    return shlex.join([*words, *request.more, *(["--fast"] if request.fast else [])])


def _took(seconds: float | None) -> str:
    if seconds is None:
        return "before the question was asked"
    return "at once" if seconds < _AT_ONCE else f"after {seconds:.1f}s"
