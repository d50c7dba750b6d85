"""The options that installed families add to the commands that move services.

They are made only if one of them is typed or shown in a help. Other commands do not load the families.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperCommand

from orchestrator.cli.help import DECIDE, GroupedCommand

if TYPE_CHECKING:
    from orchestrator.family.moves import Kind, MoveOption
    from orchestrator.family.offers import Offered

_GIVEN = "orchestrator.given"
_PLAIN = "orchestrator.plain"


def of_kind(kind: Kind) -> type[TyperCommand]:
    """The class of the command that does this kind of move."""
    return _command(partial(_options_of, kind))


def of_answers() -> type[TyperCommand]:
    """The class of the command that takes answers for an unfinished run."""
    return _command(_answers)


def _options_of(kind: Kind) -> Offered:
    from orchestrator.family.offers import options_of_all
    from orchestrator.operations.declared_families import offer_families

    offer_families()
    return options_of_all(kind)


def _answers() -> Offered:
    from orchestrator.family.offers import answers_of_all
    from orchestrator.operations.declared_families import offer_families

    offer_families()
    return answers_of_all()


def _command(offered: Callable[[], Offered]) -> type[TyperCommand]:
    options = cache(lambda: _made(offered()))

    class _Command(GroupedCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Parse without the options of families if no typed word could be such an option."""
            ctx.meta[_PLAIN] = _is_plain(super().get_params(ctx), args)
            rest = super().parse_args(ctx, args)
            ctx.meta[_GIVEN] = self._taken(ctx)
            ctx.meta[_PLAIN] = False  # later calls want all options, because they show them
            return rest

        def get_params(self, ctx: Any) -> list[Any]:
            """The command's own options, then the options of families, then the options of every run."""
            own = super().get_params(ctx)
            if ctx.meta.get(_PLAIN):
                return cast("list[Any]", own)
            run = next((place for place, one in enumerate(own) if one.name in ("dry_run", "help")), len(own))
            return [*own[:run], *_added(own, options()), *own[run:]]

        def _taken(self, ctx: Any) -> Mapping[str, str]:
            """Remove the options of families and return them, because the command's function does not know them.
            ``given_of`` returns them to the command."""
            if ctx.meta[_PLAIN]:
                return {}
            added = _added(super().get_params(ctx), options())
            return _given(offered(), {one.name: ctx.params.pop(one.name) for one in added if one.name in ctx.params})

    return _Command


def _is_plain(own: Sequence[Any], typed: Sequence[str]) -> bool:
    """Are all typed options the command's own, and none of them ``--help``?"""
    flags = {flag for one in own if one.name != "help" for flag in (*one.opts, *one.secondary_opts)}
    return all(word.partition("=")[0] in flags for word in typed if word.startswith("-"))


def _added(own: Sequence[Any], options: Sequence[Any]) -> Sequence[Any]:
    """The options of families without those that the command itself has."""
    taken = {flag for one in own for flag in one.opts}
    return [one for one in options if not taken.intersection(one.opts)]


def given_of(context: typer.Context) -> Mapping[str, str]:
    """The typed options of families, by flag."""
    given: Mapping[str, str] = context.meta[_GIVEN]
    return given


def _given(offered: Offered, values: Mapping[str, object]) -> Mapping[str, str]:
    from orchestrator.family.moves import YES

    named = {_name(flag): flag for flag in offered}
    return {
        named[name]: YES if value is True else str(value)
        for name, value in values.items()
        if value is not None and value is not False
    }


def _made(offered: Offered) -> Sequence[Any]:
    """The options as typer parameters. typer makes options from a signature, so this function builds a signature."""

    def command(**given: object) -> None:
        del given

    shown = [_parameter(one) for one in offered.values()]
    command.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return tuple(typer.main.get_command(app).params)


def _parameter(offered: Sequence[tuple[str, MoveOption]]) -> inspect.Parameter:
    """One flag, with the families that have it. If several families have it, the first one defines its help and type."""
    option = offered[0][1]
    help_text = f"{', '.join(name for name, _ in offered)}: {option.help}"
    told = typer.Option(option.flag, help=help_text, metavar=option.metavar or None, rich_help_panel=DECIDE)
    annotation = Annotated[(str | None) if option.metavar else bool, told]  # type: ignore[valid-type]
    default = None if option.metavar else False
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(_name(option.flag), kind, default=default, annotation=annotation)


def _name(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")
