"""The ``options`` of a site for the adapter ``local``: the operator's own commands, by name.

There is no shell and no template. A command is a list of words. A word that is exactly ``{service}`` or ``{site}`` is
replaced as a whole. So a name can become neither two words nor a part of another word. This module runs nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from orchestrator.errors import DefinitionError, Forbidden
from orchestrator.model.inventory import SERVICE_NAME, SecretRef, Site, SiteName
from orchestrator.model.runbook import Duration

SERVICE, SITE = "{service}", "{site}"
_BRACED = re.compile(r"\{[^{}]*\}")
_SERVICE = re.compile(SERVICE_NAME)
# Variables that decide which program runs, or what it loads, must not hold a secret.
_OURS = re.compile(r"PATH|HOME|LANG|LC_.*|LD_.*|PYTHON.*|FAILOVER_.*")

Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,62}$")]
Words = tuple[str, ...]


class LocalCommand(BaseModel):
    """One command. ``argv`` runs it, ``check`` tells whether it is done, ``undo`` names the command that undoes it.

    ``per``: whether it is done once for the site, or for each service. ``timeout``: the limit for ``argv`` and for
    ``check``, each. ``idempotent``: running it twice has the effect of running it once. ``secrets``: environment
    variables that it is given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    argv: Words = Field(min_length=1)
    check: Words | None = Field(default=None, min_length=1)
    undo: SiteName | None = None
    per: Literal["site", "service"] = "site"
    timeout: Duration = 30.0
    idempotent: bool = False
    secrets: Mapping[Variable, SecretRef] = Field(default_factory=dict)

    @field_validator("argv", "check")
    @classmethod
    def _words(cls, words: Words | None) -> Words | None:
        for number, word in enumerate(words or ()):
            if "\x00" in word:
                raise ValueError("a word must not contain a NUL character")
            if word not in (SERVICE, SITE) and (SERVICE in word or SITE in word or _BRACED.fullmatch(word)):
                raise ValueError(f"only {SERVICE} and {SITE} are replaced, and each must be a whole word")
            if number == 0 and (word in (SERVICE, SITE) or not word or ("/" in word and not word.startswith("/"))):
                raise ValueError("the program must be an absolute path, or a name without a slash")
        return words

    @field_validator("timeout")
    @classmethod
    def _some_time(cls, timeout: float) -> float:
        if timeout <= 0:
            raise ValueError("the timeout must be longer than 0 seconds")
        return timeout

    @field_validator("secrets")
    @classmethod
    def _not_ours(cls, secrets: Mapping[str, SecretRef]) -> Mapping[str, SecretRef]:
        for name in secrets:
            if _OURS.fullmatch(name):
                raise ValueError(f"the variable {name} must not hold a secret")
        return secrets

    @model_validator(mode="after")
    def _names_a_service(self) -> LocalCommand:
        if self.per == "site" and SERVICE in (*self.argv, *(self.check or ())):
            raise ValueError(f"{SERVICE} is only for a command with `per: service`")
        return self


class LocalOptions(BaseModel):
    """The commands of one site, by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    commands: Mapping[SiteName, LocalCommand] = Field(min_length=1)

    @model_validator(mode="after")
    def _undo_is_there(self) -> LocalOptions:
        for name, command in self.commands.items():
            if command.undo is None:
                continue
            undo = self.commands.get(command.undo)
            if undo is None or command.undo == name:
                raise ValueError(f"the undo of {name} must be another command of the site, not {command.undo}")
            if undo.per != command.per:
                raise ValueError(
                    f"{name} is run per {command.per}, but its undo per {undo.per}; both must be the same"
                )
        return self


def options_of(site: Site) -> LocalOptions:
    """The site's commands. Raises ``DefinitionError`` if they cannot be used, or the fence plan fits none."""
    try:
        # As strict as the inventory around it: nothing is converted.
        options = LocalOptions.model_validate_json(json.dumps(dict(site.options)), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"] if part != "[key]")
        sentence = first["msg"].removeprefix("Value error, ")
        raise DefinitionError(
            f"options of site {site.name}: {where + ': ' if where else ''}{sentence}",
            hint=f"local knows: commands, each with {', '.join(LocalCommand.model_fields)}",
        ) from error
    name = fence_command(site)
    if name is not None and name not in options.commands:
        raise DefinitionError(
            f"the fence plan of site {site.name} names {name}, but the site has no such command",
            hint=f"its commands are: {', '.join(options.commands)}",
        )
    if name is not None and options.commands[name].check is None:
        raise DefinitionError(f"the command {name} is in the fence plan of site {site.name}, so it needs a check")
    return options


def fence_command(site: Site) -> str | None:
    """The command of the site's fence plan, by name."""
    option = site.fenced_by("command")
    return None if option is None else option.command


def filled(words: Sequence[str], site: str, service: str) -> list[str]:
    """``words`` with the names in their places."""
    names = {SERVICE: service, SITE: site}
    return [names.get(word, word) for word in words]


def check_service(command: LocalCommand, service: str) -> None:
    """Raise ``Forbidden`` for a name that must not reach this command: nothing has been run then.

    The inventory and the engine have checked the name already. Here a mistake would become a word of a command. A
    command for the whole site gets no service name.
    """
    if command.per == "site":
        return
    if _SERVICE.fullmatch(service) is None or not service.isprintable() or service != service.strip():
        raise Forbidden(f"{service!r} is not a valid name of a service, so no command was run")
    if service.startswith("-") and SERVICE in (*command.argv, *(command.check or ())):
        raise Forbidden(f"{service!r} starts with '-', so a command would read it as an option; no command was run")
