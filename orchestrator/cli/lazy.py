"""The tree of commands, which builds a command only when it is used.

typer builds every command with every option before it reads the typed words. But help needs only names and summaries,
and a command line names one command. So this module builds each command on first use, with typer's own functions.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import partial
from typing import Any, cast

import typer
from typer.models import CommandInfo, TyperInfo

from orchestrator.cli.help import GroupedCommands

Command = Any  # typer has a click inside, and no public name for its command


def command_tree(app: typer.Typer) -> GroupedCommands:
    """The same tree as ``typer.main.get_command(app)``."""
    root: Any = typer.main.get_command(_without_commands(app))
    commands, groups = app.registered_commands, app.registered_groups
    root.commands = _WhenUsed(
        {_name_of(one): partial(_command, one) for one in commands}
        | {str(one.name): partial(_group, one) for one in groups}
    )
    root.summaries = _WhenUsed(
        {_name_of(one): partial(_command, _summary(one)) for one in commands}
        | {str(one.name): partial(_group, _heading(one)) for one in groups}
    )
    return cast(GroupedCommands, root)


class _WhenUsed(MutableMapping[str, Command]):
    """Commands by name. Each command is built once, when it is first read."""

    def __init__(self, builders: Mapping[str, Callable[[], Command]]) -> None:
        self._builders = dict(builders)
        self._built: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._built:
            self._built[name] = self._builders[name]()
        return self._built[name]

    def __setitem__(self, name: str, command: Command) -> None:
        self._builders[name] = lambda: command

    def __delitem__(self, name: str) -> None:
        del self._builders[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)


def _command(info: CommandInfo) -> Command:
    alone = _empty()
    alone.registered_commands = [info]
    return typer.main.get_command(alone)


def _group(info: TyperInfo) -> Command:
    alone = _empty()
    alone.registered_groups = [info]
    above: Any = typer.main.get_command(alone)
    return above.commands[info.name]


def _empty() -> typer.Typer:
    return typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)


def _without_commands(app: typer.Typer) -> typer.Typer:
    bare = copy.copy(app)
    bare.registered_commands, bare.registered_groups = [], []
    return bare


def _summary(info: CommandInfo) -> CommandInfo:
    """The command with its text and without its options, because options take most of the time."""
    summary = copy.copy(info)
    summary.name = _name_of(info)
    summary.help = info.help or inspect.getdoc(info.callback)
    summary.callback = _do_nothing
    return summary


def _heading(info: TyperInfo) -> TyperInfo:
    """The group with its text and without its commands."""
    heading = copy.copy(info)
    if info.typer_instance is not None:
        heading.typer_instance = _without_commands(info.typer_instance)
    return heading


def _name_of(info: CommandInfo) -> str:
    if info.name is None:
        raise AssertionError(f"{info.callback} is registered without a name")
    return info.name


def _do_nothing() -> None:
    """The callback of a command of which only the text is used."""
