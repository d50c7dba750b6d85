"""The declarations of the adapter ``local``, for any site and for one site by the names of its commands. Runs
nothing."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from adapters.local.options import LocalCommand, LocalOptions, fence_command, filled
from adapters.local.runner import HERE
from orchestrator.errors import CommandRejected
from orchestrator.family.contract import ActionSpec, ArgumentSpec, Call, ReadingSpec
from orchestrator.model.inventory import Site

RUN, ENSURE, SET_FENCE, FENCE = "run", "ensure", "set_external_fence", "external_fence"
# Calls that come together for a command of the whole site share one attempt. Calls for services run one by one.
_BATCH = 64
_STATES = ("closed", "open")

_Lines = Callable[[Call], Sequence[str]]
_LinesOf = Callable[[str], _Lines]


def command_of(action: str, call: Call, options: LocalOptions, site: Site) -> str:
    """The name of the command that ``call`` runs. Raises ``CommandRejected`` if the site does not have it."""
    if action != SET_FENCE:
        name = call.args.get("command", "")
        if name not in options.commands:
            raise CommandRejected(f"{site.name} has no command named {name!r}")
        if action == ENSURE and not options.commands[name].idempotent:
            raise CommandRejected(f"the command {name} must not be run twice, so the action {ENSURE} cannot run it")
        return name
    closing = fence_command(site)
    if closing is None:
        raise CommandRejected(f"the fence plan of {site.name} has no command")
    state = call.args.get("state", "")
    if state not in _STATES:
        raise CommandRejected(f"the state of a fence must be {' or '.join(_STATES)}, not {state!r}")
    if state == "closed":
        return closing
    opening = options.commands[closing].undo
    if opening is None:
        raise CommandRejected(
            f"the command {closing} has no undo; an operator must let clients in again at {site.name}"
        )
    return opening


def line_of(words: Sequence[str], site: Site, service: str) -> str:
    """The command as it would be typed into a shell, for checking. No shell is used."""
    return shlex.join(filled(words, site.name, service))


def actions_of(options: LocalOptions, site: Site) -> Mapping[str, ActionSpec]:
    """The actions of one site. Its commands are known, so an unknown name is found when a runbook is read."""

    def rendered(action: str) -> _Lines:
        def lines(call: Call) -> Sequence[str]:
            try:
                command = options.commands[command_of(action, call, options, site)]
            except CommandRejected as error:
                return [f"<{error}>"]
            return [line_of(command.argv, site, call.service)]

        return lines

    def undo_of(call: Call) -> Call | None:
        """The undo that the command itself names. It has to be repeatable, because only its own end proves it."""
        undo = options.commands[name].undo if (name := call.args.get("command", "")) in options.commands else None
        return Call(call.service, {"command": undo}) if undo and options.commands[undo].idempotent else None

    closing = fence_command(site)
    is_whole_site = closing is not None and options.commands[closing].per == "site"
    repeatable = [name for name, command in options.commands.items() if command.idempotent]
    specs = _actions(rendered, list(options.commands), repeatable, undo_of=undo_of, is_whole_site=is_whole_site)
    missing = {name for name, is_there in ((ENSURE, repeatable), (SET_FENCE, closing)) if not is_there}
    return {name: spec for name, spec in specs.items() if name not in missing}


def readings_of(options: LocalOptions, site: Site) -> Mapping[str, ReadingSpec]:
    """The readings of one site."""
    name = fence_command(site)
    return {} if name is None else {FENCE: _fence_spec(_checks(options.commands[name], site))}


def _checks(command: LocalCommand, site: Site) -> Callable[[Sequence[str]], Sequence[str]]:
    words = command.check or ()
    if command.per == "site":
        return lambda services: [line_of(words, site, "")]
    return lambda services: [line_of(words, site, service) for service in services]


def _fence_spec(lines: Callable[[Sequence[str]], Sequence[str]]) -> ReadingSpec:
    return ReadingSpec(FENCE, "Whether the command of the fence plan keeps clients away", lines, place=HERE)


def _none_known(call: Call) -> Call | None:
    return None


def _actions(
    lines: _LinesOf,
    names: Sequence[str],
    repeatable: Sequence[str],
    *,
    undo_of: Callable[[Call], Call | None] = _none_known,
    is_whole_site: bool = True,
) -> Mapping[str, ActionSpec]:
    """If ``names`` and ``repeatable`` are empty, any name is allowed, since the commands are not known yet.
    ``is_whole_site``: the command of the fence plan keeps the clients of all services away."""

    def running(action: str, summary: str, choices: Sequence[str]) -> ActionSpec:
        return ActionSpec(
            action,
            summary,
            idempotent=action == ENSURE,
            commands=lines(action),
            arguments={"command": ArgumentSpec(choices=tuple(choices))},
            batch=_BATCH,
            place=HERE,
            undo_of=undo_of if action == ENSURE else _none_known,
        )

    return {
        RUN: running(RUN, "Run a command that the operator wrote", names),
        ENSURE: running(
            ENSURE, "Run a command that may be run twice: its exit code 0 proves that it is done", repeatable
        ),
        SET_FENCE: ActionSpec(
            SET_FENCE,
            "Keep clients away by the command of the fence plan, or let them in again by the undo of that command",
            idempotent=False,
            commands=lines(SET_FENCE),
            arguments={"state": ArgumentSpec(choices=_STATES)},
            inverse=SET_FENCE,
            batch=_BATCH,
            place=HERE,
            shuts={"state": "closed"} if is_whole_site else None,
        ),
    }


def _of_any_site(action: str) -> _Lines:
    of_fence = {"closed": "the command of the fence plan", "open": "the undo of the fence plan's command"}
    if action == SET_FENCE:
        return lambda call: [f"<{of_fence.get(call.args.get('state', ''), 'a command of the fence plan')}>"]
    return lambda call: [f"<the command {call.args.get('command', 'that the runbook names')}>"]


ANY_READINGS: Mapping[str, ReadingSpec] = {FENCE: _fence_spec(lambda _: ["<the check of the fence plan's command>"])}
ANY_ACTIONS: Mapping[str, ActionSpec] = _actions(_of_any_site, (), ())
