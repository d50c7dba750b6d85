"""Options that several commands share, worded once as a dataclass, and handed to each command as one value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache, wraps

Command = Callable[..., None]


def together(**shared: type) -> Callable[[Command], Command]:
    """The command with the options of a dataclass in place of its parameter of that name.

    Each field is an option: annotated as one, with its default. typer takes the options from a signature, so this one
    is put together here; it calls with keywords only.
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
    """The options of a dataclass; many commands share one."""
    return inspect.signature(request, eval_str=True).parameters
