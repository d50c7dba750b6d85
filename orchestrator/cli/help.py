"""Help in groups: commands grouped by the time of their use, options grouped by topic.

typer has its own groups (``rich_help_panel``), but draws them with rich, and rich takes longer to load than the whole
help. So this module prints typer's groups without rich.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

# Groups of commands, in the order of the help.
DAILY, BEFORE, AFTER, BUILD, DEVELOP = (
    "Daily",
    "Before a move",
    "After an outage or a move",
    "Build: inventories, runbooks, families",
    "Develop and test",
)
# Groups of options.
WHAT, DECIDE, SEVERAL, APPROVAL, OUTPUT = (
    "What to move",
    "Answers given in advance",
    "Several services",
    "Approval by others",
    "Output and logs",
)
# The program still accepts these old option names, but help does not list them.
OLD_WORDS = frozenset({"--from", "--failed", "--to"})

_Row = tuple[str, str]


class GroupedCommand(TyperCommand):
    """A command whose help lists its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of arguments and options, in the order in which their groups first occur."""
        for title, rows in option_groups(self, ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows)


class GroupedCommands(TyperGroup):
    """A list of commands in groups. Commands without a group are listed under "Commands"."""

    summaries: Mapping[str, Any] | None = None  # the commands with their texts only, for a list

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands, in the order of registration."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group."""
        groups = command_groups(self, ctx)
        width = max((len(name) for rows in groups.values() for name, _ in rows), default=0)
        limit = formatter.width - 6 - width
        for title, rows in groups.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(f"{name:<{width}}", command.get_short_help_str(limit)) for name, command in rows]
                )


def command_groups(group: Any, ctx: Any) -> Mapping[str, Sequence[tuple[str, Any]]]:
    """The commands of ``group`` that help lists, by the title of their group."""
    found: dict[str, list[tuple[str, Any]]] = {}
    summaries = getattr(group, "summaries", None) or group.commands
    for name in group.list_commands(ctx):
        command = summaries.get(name)
        if command is not None and not command.hidden:
            found.setdefault(_title(command) or "Commands", []).append((name, command))
    order = [DAILY, BEFORE, AFTER, BUILD, DEVELOP]
    return dict(sorted(found.items(), key=lambda one: order.index(one[0]) if one[0] in order else len(order)))


def option_groups(command: Any, ctx: Any) -> Mapping[str, Sequence[_Row]]:
    """The rows of help on arguments and options, by the title of their group."""
    found: dict[str, list[_Row]] = {}
    for title, row in _rows(command, ctx):
        found.setdefault(title, []).append(row)
    rest = found.pop("Options", None)
    return found if rest is None else found | {"Options": rest}


def _rows(command: Any, ctx: Any) -> Iterator[tuple[str, _Row]]:
    for parameter in command.get_params(ctx):
        is_argument = parameter.param_type_name == "argument"
        shown = parameter if is_argument else _without_old_words(parameter)
        row = shown.get_help_record(ctx)
        if row is not None and is_argument:
            row = row[0].split(" <")[0], row[1]  # the name of an argument already shows its type
        if row is not None:
            yield _title(parameter) or ("Arguments" if is_argument else "Options"), row


def _without_old_words(option: Any) -> Any:
    if "--site" not in option.opts:
        return option
    shown = copy.copy(option)
    shown.opts = [word for word in option.opts if word not in OLD_WORDS]
    return shown


def _title(one: Any) -> str:
    title = getattr(one, "rich_help_panel", None)
    return title if isinstance(title, str) else ""
