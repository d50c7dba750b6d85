"""Options that several commands share. They are defined once as a dataclass, and each command gets them as one value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache, wraps

Command = Callable[..., None]


def together(**shared: type) -> Callable[[Command], Command]:
    """The command, with the options of a dataclass in place of the parameter of that name.

    Each field is an option with its annotation and default. typer takes the options from a signature, so this function
    builds one. typer calls the command with keywords only.
    """

    def in_place(command: Command) -> Command:
        fields = {name: _fields(request) for name, request in shared.items()}
        own = inspect.signature(command, eval_str=True)

        @wraps(command)
        def with_options(**given: object) -> None:
            values = {
                name: request(**{field: given.pop(field) for field in fields[name]})
                for name, request in shared.items()
            }
            command(**given, **values)

        shown = [
            option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in own.parameters.items()
            for option in (fields[name].values() if name in shared else (parameter,))
        ]
        with_options.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]
        return with_options

    return in_place


@cache
def _fields(request: type) -> Mapping[str, inspect.Parameter]:
    """The options of a dataclass. Many commands share one dataclass, so the result is cached."""
    return inspect.signature(request, eval_str=True).parameters
