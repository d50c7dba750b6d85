"""The adapter of every declared family. It reads and sends as the family's file says.

A reading that fails is a failure, with its kind. An action that was sent and not answered is in doubt; the caller reads
its outcome.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from adapters.declared.commands import Commands, line_of_output
from adapters.declared.heard import statement_line
from adapters.declared.reading_models import failed, reading_of, rows_of, unasked
from orchestrator.errors import (
    AdapterError,
    AuthenticationFailed,
    CommandRejected,
    ConnectionLost,
    DefinitionError,
    Forbidden,
    NoSuchService,
    Unreachable,
    UnreadableReply,
)
from orchestrator.family.contract import ActionSpec, AdapterContext, ArgumentSpec, Call, Permit, ReadingSpec, Result
from orchestrator.model.declared.file import ActionFile, FamilyFile, ReadingFile, bound_in, item_arguments, named_in
from orchestrator.model.declared.requests import filled
from orchestrator.model.inventory import SERVICE_NAME, Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading

if TYPE_CHECKING:
    from adapters.declared.requests import Requests
    from adapters.declared.sql import Database

_SERVICE = re.compile(SERVICE_NAME)
# The value of a name: a text, a number, or a list of texts.
Value = Any


class DeclaredAdapter:
    """One site of a declared family. ``adapter_of`` makes the class for a family."""

    file: ClassVar[FamilyFile]
    models: ClassVar[Mapping[str, type[Reading]]]
    family: ClassVar[str] = ""
    simulated: ClassVar[bool] = False
    readings: ClassVar[Mapping[str, ReadingSpec]] = {}
    actions: ClassVar[Mapping[str, ActionSpec]] = {}

    def __init__(self, site: Site, context: AdapterContext) -> None:
        self._site = site
        self._context = context
        self._where = site.devices[0].name
        self._values = values_of(self.file, site)
        self._sql: dict[str, Database] = {}
        self._sessions: dict[str, Requests[Any]] = {}
        self._commands = Commands(self.file, site, context, self._values, self._password)

    @classmethod
    def fitted(cls, site: Site) -> type[DeclaredAdapter]:
        """The class for ``site``, which shows the lines that it sends there. Raises ``DefinitionError`` for unusable
        options."""
        return adapter_of(cls.file, cls.models, values_of(cls.file, site))

    @classmethod
    def shared(cls, site: Site, services: Sequence[str]) -> str:
        """See ``Adapter``: why services of one site cannot be moved apart."""
        return cls.file.whole_site if len(services) > 1 else ""

    def open(self) -> None:
        """Open the session with the database, if there is one. Raises ``AdapterError``, and ``DefinitionError`` for
        options that do not fit."""
        for protocol in self.file.connect.protocols:
            self._session(protocol)
        if self.file.connect.sql is not None:
            self._database().open()

    def close(self) -> None:
        """End the session."""
        while self._sql:
            _, database = self._sql.popitem()
            database.close()
        while self._sessions:
            _, session = self._sessions.popitem()
            session.close()
        self._commands.close()

    def _database(self, named: str | None = None, service: str = "") -> Database:
        """The session with a database: that of the file's ``connect``, or the one ``named`` for an action."""
        declared = self.file.connect.sql
        assert declared is not None
        values = {**{name: str(value) for name, value in self._values.items()}, "service": service}
        database = filled((named or declared.database,), values)[0]
        if database not in self._sql:
            # SQLAlchemy is loaded only for a family that has a database.
            from sqlalchemy import URL

            from adapters.declared.sql import Database

            login, device = self._site.login, self._site.devices[0]
            url = URL.create(
                declared.driver,
                username=None if login is None else login.username,
                password=self._password(),
                host=device.address or None,
                port=device.port,
                database=database,
            )
            patience_s = self._site.connect_timeout
            self._sql[database] = Database(url, declared.arguments, self._where, patience_s, self._context)
        return self._sql[database]

    def _session(self, protocol: str) -> Requests[Any]:
        """The session for requests; nothing connects yet. Raises ``DefinitionError``."""
        if protocol not in self._sessions:
            declared = self.file.connect.http if protocol == "http" else self.file.connect.nats
            assert declared is not None
            port = self._site.devices[0].port if declared.port is None else int(self._values[declared.port])
            if protocol == "http":
                from adapters.declared.api import Api

                self._sessions[protocol] = Api(self._site, port, self._context)
            else:
                from adapters.declared.messages import Messages

                own = frozenset(self.file.options)
                self._sessions[protocol] = Messages(self._site, port, self._context, own)
        return self._sessions[protocol]

    def _password(self) -> str | None:
        """The password of the site's login, if it has one. Raises ``AuthenticationFailed`` if it cannot be read."""
        login = self._site.login
        if login is None or login.password is None:
            return None
        try:
            return self._context.secrets.reveal(
                login.password, what=f"the password of {login.username} at {self._site.name}"
            )
        except DefinitionError as error:
            raise AuthenticationFailed(str(error), device=self._where, hint=error.hint) from error

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``orchestrator.family.contract.Adapter``."""
        declared = self.file.readings[reading]
        if declared.per == "site":
            return dict.fromkeys(services, self._probe(reading, declared, "")) if services else {}
        return {service: self._probe(reading, declared, service) for service in services}

    def _probe(self, name: str, declared: ReadingFile, service: str) -> Reading | Failure:
        if not _is_asked(declared, self._values):
            return unasked(self.models[name])
        try:
            rows = self._rows(declared, service)
            if declared.sql is not None and declared.per == "service" and not rows and _has_a_row(declared):
                raise NoSuchService(
                    f"{self._site.name} has no {self.file.words.service} {service}", device=self._where
                )
            return reading_of(self.models[name], declared, rows, {**self._values, "service": service})
        except AdapterError as error:
            return failed(self.models[name], error)

    def _rows(self, declared: ReadingFile, service: str) -> Sequence[Mapping[str, Any]]:
        values = {**self._values, "service": service, **self._found_first(declared, service)}
        if declared.sql is not None:
            return self._database().rows(declared.sql, values, declared.timeout)
        if not declared.argv:
            [request] = declared.requests
            code, output = self._session(declared.protocol).ask(request, values, declared.timeout)
        else:
            code, output = self._commands.run(declared, service, values)
            if code not in declared.exit_codes:
                what = f"{declared.argv[0]} ended with exit code {code}: {line_of_output(output)}"
                raise UnreadableReply(what, text=output[:500], device=self._where)
        texts = {name: str(value) for name, value in values.items()}
        pick = {name: filled((value,), texts)[0] for name, value in declared.pick.items()}
        return rows_of(output, code, declared, pick)

    def _found_first(self, declared: ReadingFile, service: str) -> dict[str, str | int]:
        """The values of the reading that ``after`` names. Raises ``AdapterError`` if a needed value is unknown."""
        if declared.after is None:
            return {}
        first = self.file.readings[declared.after]
        known = {**self._values, "service": service}
        found = reading_of(self.models[declared.after], first, self._rows(first, service), known)
        values = {name: str(value) for name, value in found.model_dump().items() if value is not None}
        for name in first.fields:
            if name not in values and name in named_in(declared):
                raise UnreadableReply(
                    f"the reading {declared.after} has no value for {name}", text="", device=self._where
                )
        return {name: value for name, value in values.items() if name in first.fields}

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``orchestrator.family.contract.Adapter``."""
        if self._context.read_only:
            raise Forbidden(
                f"{action} was not sent: this session with {self._site.name} is read-only", device=self._where
            )
        return self._apply(self.file.actions[action], calls, permit)

    def _apply(self, declared: ActionFile, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        for call in calls:
            if _SERVICE.fullmatch(call.service) is None or call.service.startswith("-"):
                yield Result(call, Effect.NOT_SENT, f"{call.service!r} cannot be the name of a service", self._where)
                continue
            lines = lines_of(declared, {**self._values, "service": call.service, **call.args})
            try:
                if declared.sql is not None:
                    self._database(declared.database, call.service).alive(declared.timeout)
            except AdapterError as error:
                yield Result.of(call, error)
                continue
            try:
                self._send(declared, call, permit)
            except (Unreachable, AuthenticationFailed) as error:
                yield Result.of(call, error)
            except AdapterError as error:
                yield Result.of(call, error, lines)
            else:
                yield Result(call, Effect.ACCEPTED, device=self._where, sent=tuple(lines))

    def _send(self, declared: ActionFile, call: Call, permit: Permit) -> None:
        values = {**self._values, "service": call.service, **call.args}
        if declared.requests:
            self._session(declared.protocol).send(
                declared.requests, values, declared.timeout, declared.refused, permit.check
            )
            return
        permit.check()
        if declared.sql is not None:
            self._database(declared.database, call.service).run(declared.sql, values, declared.timeout)
            return
        code, output = self._commands.run(declared, call.service, call.args)
        if code in declared.refused:
            raise CommandRejected(f"exit code {code}: {line_of_output(output)}", device=self._where)
        if code != 0:
            raise ConnectionLost(
                f"{declared.argv[0]} ended with exit code {code}: {line_of_output(output)}", device=self._where
            )


def _is_asked(declared: ReadingFile, values: Mapping[str, Value]) -> bool:
    return declared.only_with is None or values.get(declared.only_with) != ""


def _has_a_row(declared: ReadingFile) -> bool:
    """Is there a row for each service that the site has, even where it lists nothing?"""
    return declared.items is None or declared.items.known is not None


def values_of(file: FamilyFile, site: Site) -> dict[str, Value]:
    """The values of the names at a site. Raises ``DefinitionError`` for an option that is missing, unknown or of
    another type."""
    device = site.devices[0]
    values: dict[str, Value] = {"site": site.name, "address": device.address, "port": device.port}
    values["username"] = "" if site.login is None else site.login.username
    for name in site.options:
        if name not in file.options and name not in file.connect.given:
            known = ", ".join([*file.options, *sorted(file.connect.given)]) or "none"
            raise DefinitionError(
                f"options of site {site.name}: the option {name} is not known", hint=f"{file.family} knows: {known}"
            )
    for name, option in file.options.items():
        value = site.options.get(name, option.default)
        if value is None or not option.fits(value):
            what = "is missing" if value is None else f"is not of the type {option.type}"
            raise DefinitionError(f"options of site {site.name}: {name} {what}", hint=f"{name}: {option.says}")
        values[name] = value
    return values


def lines_of(declared: ActionFile | ReadingFile, values: Mapping[str, Value]) -> list[str]:
    """The lines that are sent, for a person: requests, the words of a command, or statements, each followed by the
    parameters that are known. A plan does not know those of items yet."""
    if declared.requests:
        from adapters.declared.requests import line_of

        return [line_of(one, values) for one in declared.requests]
    if declared.argv:
        return [shlex.join(filled(declared.argv, {name: str(value) for name, value in values.items()}))]
    assert declared.sql is not None
    statements = (declared.sql,) if isinstance(declared.sql, str) else declared.sql
    texts = [one if isinstance(one, str) else f"{one.made_by.rstrip()} \\gexec" for one in statements]
    return [statement_line(one, {name: values[name] for name in bound_in(one) if name in values}) for one in texts]


def _of_item(file: FamilyFile, declared: ActionFile) -> dict[str, ArgumentSpec]:
    """The arguments that the engine fills in: the item that is worked on, and what was decided about it."""
    decided = ArgumentSpec(("commit", "rollback"), "decision")
    names = item_arguments(file, declared)
    return {one: decided if place else ArgumentSpec(filled_by="item") for place, one in enumerate(names)}


def adapter_of(
    file: FamilyFile, models: Mapping[str, type[Reading]], values: Mapping[str, Value] | None = None
) -> type[DeclaredAdapter]:
    """The class for a family; with ``values``, for one of its sites."""
    known = values or {}

    def reading(name: str, declared: ReadingFile) -> ReadingSpec:
        def lines(services: Sequence[str]) -> Sequence[str]:
            asked = services if declared.per == "service" else services[:1]
            asked = asked if _is_asked(declared, known) else ()
            return [line for one in asked for line in lines_of(declared, {**known, "service": one})]

        return ReadingSpec(name, declared.summary, lines, model=models[name])

    def action(name: str, declared: ActionFile) -> ActionSpec:
        def lines(call: Call) -> Sequence[str]:
            return lines_of(declared, {**known, "service": call.service, **call.args})

        return ActionSpec(
            name,
            declared.summary,
            idempotent=declared.idempotent,
            commands=lines,
            arguments={**{one: ArgumentSpec() for one in declared.arguments}, **_of_item(file, declared)},
            inverse=declared.inverse,
            batch=1,
        )

    made: type[DeclaredAdapter] = type(
        "Declared",
        (DeclaredAdapter,),
        {
            "file": file,
            "models": models,
            "family": file.family,
            "speaks_ssh": file.connect.ssh is not None,
            "readings": {name: reading(name, one) for name, one in file.readings.items()},
            "actions": {name: action(name, one) for name, one in file.actions.items()},
        },
    )
    return made
