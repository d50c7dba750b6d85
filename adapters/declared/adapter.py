"""The adapter of every declared family: it asks what the file says, and sends what the file says.

A reading that cannot be read is a failure, with its kind. An action that was sent and not answered is in doubt: who asked
reads what became of it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from shutil import which
from typing import TYPE_CHECKING, Any, ClassVar

from adapters.declared.reading_models import reading_of, rows_of
from adapters.local.process import run
from orchestrator.errors import (
    AdapterError,
    AuthenticationFailed,
    CommandRejected,
    CommandTimedOut,
    ConnectionLost,
    DefinitionError,
    Forbidden,
    NoSuchService,
    Unreachable,
    UnreadableReply,
)
from orchestrator.family.contract import ActionSpec, AdapterContext, ArgumentSpec, Call, Permit, ReadingSpec, Result
from orchestrator.model.family_file import HTTP_OPTIONS, ActionFile, FamilyFile, ReadingFile, filled
from orchestrator.model.inventory import SERVICE_NAME, Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading

if TYPE_CHECKING:
    from adapters.declared.api import Api
    from adapters.declared.sql import Database

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SERVICE = re.compile(SERVICE_NAME)


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
        self._sql: Database | None = None
        self._http: Api | None = None

    @classmethod
    def fitted(cls, site: Site) -> type[DeclaredAdapter]:
        """The class for ``site``: it shows what it sends there. Raises ``DefinitionError`` for unusable options."""
        return adapter_of(cls.file, cls.models, values_of(cls.file, site))

    @classmethod
    def shared(cls, site: Site, services: Sequence[str]) -> str:
        """See ``Adapter``: why services of one site cannot be moved apart."""
        return cls.file.whole_site if len(services) > 1 else ""

    def open(self) -> None:
        """Have the session with the database, if there is one. Raises ``AdapterError``."""
        if self.file.connect.sql is not None:
            self._database().open()

    def close(self) -> None:
        """End the session."""
        if self._sql is not None:
            self._sql.close()
            self._sql = None
        if self._http is not None:
            self._http.close()
            self._http = None

    def _database(self) -> Database:
        if self._sql is None:
            # SQLAlchemy is loaded for a family that has a database, and for no other.
            from sqlalchemy import URL

            from adapters.declared.sql import Database

            declared = self.file.connect.sql
            assert declared is not None
            login, device = self._site.login, self._site.devices[0]
            url = URL.create(
                declared.driver,
                username=None if login is None else login.username,
                password=self._password(),
                host=device.address or None,
                port=device.port,
                database=filled((declared.database,), {k: str(v) for k, v in self._values.items()})[0],
            )
            self._sql = Database(url, declared.arguments, self._where, self._site.connect_timeout)
        return self._sql

    def _api(self) -> Api:
        if self._http is None:
            from adapters.declared.api import Api

            declared = self.file.connect.http
            assert declared is not None
            port = self._site.devices[0].port if declared.port is None else int(self._values[declared.port])
            self._http = Api(self._site, port, self._context)
        return self._http

    def _password(self) -> str | None:
        """That of the site's login, if it has one. Raises ``AuthenticationFailed`` where it cannot be had."""
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
        try:
            rows = self._rows(declared, service)
            if declared.sql is not None and declared.per == "service" and declared.items is None and not rows:
                raise NoSuchService(
                    f"{self._site.name} has no {self.file.words.service} {service}", device=self._where
                )
            return reading_of(self.models[name], declared, rows)
        except AdapterError as error:
            return Failure.of(error)

    def _rows(self, declared: ReadingFile, service: str) -> Sequence[Mapping[str, Any]]:
        values = {**self._values, "service": service}
        if declared.sql is not None:
            return self._database().rows(declared.sql, values, declared.timeout)
        if declared.http is not None:
            code, output = self._api().ask(declared.http, values, declared.timeout)
        else:
            assert declared.exec is not None
            code, output = self._run(declared.exec, service, {}, declared.timeout)
            if code not in declared.exit_codes:
                what = f"{declared.exec[0]} ended with exit code {code}: {_line(output)}"
                raise UnreadableReply(what, text=output[:500], device=self._where)
        texts = {name: str(value) for name, value in values.items()}
        pick = {name: filled((value,), texts)[0] for name, value in declared.pick.items()}
        return rows_of(output, code, declared, pick)

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``orchestrator.family.contract.Adapter``."""
        if self._context.read_only:
            raise Forbidden(
                f"{action} is not done: this session with {self._site.name} only reads", device=self._where
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
                    self._database().alive(declared.timeout)
            except AdapterError as error:
                yield Result.of(call, error)
                continue
            permit.check()
            try:
                self._send(declared, call)
            except (Unreachable, AuthenticationFailed) as error:
                yield Result.of(call, error)
            except AdapterError as error:
                yield Result.of(call, error, lines)
            else:
                yield Result(call, Effect.ACCEPTED, device=self._where, sent=tuple(lines))

    def _send(self, declared: ActionFile, call: Call) -> None:
        values = {**self._values, "service": call.service, **call.args}
        if declared.sql is not None:
            self._database().run(declared.sql, values, declared.timeout)
            return
        if declared.http is not None:
            self._api().send(declared.http, values, declared.timeout, declared.refused)
            return
        assert declared.exec is not None
        code, output = self._run(declared.exec, call.service, call.args, declared.timeout)
        if code in declared.refused:
            raise CommandRejected(f"exit code {code}: {_line(output)}", device=self._where)
        if code != 0:
            raise ConnectionLost(
                f"{declared.exec[0]} ended with exit code {code}: {_line(output)}", device=self._where
            )

    def _run(self, argv: Sequence[str], service: str, args: Mapping[str, str], timeout_s: float) -> tuple[int, str]:
        """Run one command; its exit code, and what it printed. Raises ``Unreachable`` when it cannot begin."""
        values = {name: str(value) for name, value in {**self._values, "service": service, **args}.items()}
        words = filled(tuple(argv), values)
        declared = self.file.connect.exec
        own = filled(declared.path, values) if declared is not None else []
        environment = {"PATH": ":".join([*own, _PATH]), "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}
        password = self._password() if declared is not None and declared.password else None
        if declared is not None and declared.password and password:
            environment[declared.password] = password
        program = which(words[0], path=environment["PATH"])
        if program is None:
            raise Unreachable(f"{words[0]} is no program that can be run here", device=self._where)
        try:
            ended = run([program, *words[1:]], environment, timeout_s=timeout_s, clock=self._context.clock)
        except OSError as error:
            raise Unreachable(f"{words[0]} cannot be started: {error.strerror}", device=self._where) from error
        output = ended.output.decode("utf-8", "replace")
        if ended.code is None or ended.code < 0:
            raise CommandTimedOut(f"{words[0]} did not end by itself within {timeout_s:g} s", device=self._where)
        if ended.code != 0 and declared is not None:
            if declared.unreachable and re.search(declared.unreachable, output, re.MULTILINE):
                raise Unreachable(_line(output), device=self._where)
            if declared.denied and re.search(declared.denied, output, re.MULTILINE):
                raise AuthenticationFailed(_line(output), device=self._where)
        return ended.code, output


def _line(output: str) -> str:
    return " / ".join(line.strip() for line in output.splitlines() if line.strip())[:500]


def values_of(file: FamilyFile, site: Site) -> dict[str, str | int]:
    """What stands for the names of a site. Raises ``DefinitionError`` for an option that is missing, unknown or of
    another type."""
    device = site.devices[0]
    values: dict[str, str | int] = {"site": site.name, "address": device.address, "port": device.port}
    values["username"] = "" if site.login is None else site.login.username
    over_http = set(HTTP_OPTIONS) if file.connect.http is not None else set()
    for name in site.options:
        if name not in file.options and name not in over_http:
            known = ", ".join([*file.options, *sorted(over_http)]) or "none"
            raise DefinitionError(
                f"options of site {site.name}: {name} is not known", hint=f"{file.family} knows: {known}"
            )
    for name, option in file.options.items():
        value = site.options.get(name, option.default)
        fits = (
            isinstance(value, str)
            if option.type == "text"
            else isinstance(value, int) and not isinstance(value, bool)
        )
        if value is None or not fits:
            what = "is missing" if value is None else f"is no {option.type}"
            raise DefinitionError(f"options of site {site.name}: {name} {what}", hint=f"{name}: {option.says}")
        values[name] = value
    return values


def lines_of(declared: ActionFile | ReadingFile, values: Mapping[str, str | int]) -> list[str]:
    """What is sent, for a person: statements with their parameters behind them, or the words of a command."""
    if declared.http is not None:
        from adapters.declared.api import line_of

        requests = (declared.http,) if isinstance(declared, ReadingFile) else declared.http
        return [line_of(one, values) for one in requests]
    if declared.exec is not None:
        return [shlex.join(filled(declared.exec, {name: str(value) for name, value in values.items()}))]
    assert declared.sql is not None
    statements = (declared.sql,) if isinstance(declared.sql, str) else declared.sql
    return [" ".join(one.split()) for one in statements]


def adapter_of(
    file: FamilyFile, models: Mapping[str, type[Reading]], values: Mapping[str, str | int] | None = None
) -> type[DeclaredAdapter]:
    """The class for a family; with ``values``, for one of its sites."""
    known = values or {}

    def reading(name: str, declared: ReadingFile) -> ReadingSpec:
        def lines(services: Sequence[str]) -> Sequence[str]:
            asked = services if declared.per == "service" else services[:1]
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
            arguments={one: ArgumentSpec() for one in declared.arguments},
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
            "readings": {name: reading(name, one) for name, one in file.readings.items()},
            "actions": {name: action(name, one) for name, one in file.actions.items()},
        },
    )
    return made
