"""Commands of a declared family: run on this machine, or at the site over one SSH session that stays open.

Each word is filled in as a whole, and no shell is used. A command that cannot start has changed nothing.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from shutil import which
from typing import TYPE_CHECKING, Any

from adapters.declared.heard import ended_text, told
from adapters.local.process import Waiting, run
from orchestrator.errors import AuthenticationFailed, CommandTimedOut, Unreachable
from orchestrator.family.contract import AdapterContext
from orchestrator.model.declared.connect import SSH_OPTIONS
from orchestrator.model.declared.file import ActionFile, FamilyFile, ReadingFile
from orchestrator.model.declared.requests import filled
from orchestrator.model.inventory import Site

if TYPE_CHECKING:
    from adapters.ssh.commands import RemoteCommands

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Commands:
    """The commands of one site. ``values``: the values of names. ``password`` returns the password of the site's
    login."""

    def __init__(
        self,
        file: FamilyFile,
        site: Site,
        context: AdapterContext,
        values: Mapping[str, Any],
        password: Callable[[], str | None],
    ) -> None:
        self._file, self._site, self._context = file, site, context
        self._values, self._password = values, password
        self._where = site.devices[0].name
        self._ssh: RemoteCommands | None = None
        self._waiting = Waiting()

    def close(self) -> None:
        """End the session with the site, and the guardians that wait for commands here."""
        if self._ssh is not None:
            self._ssh.close()
            self._ssh = None
        self._waiting.close()

    def run(self, asked: ReadingFile | ActionFile, service: str, args: Mapping[str, str | int]) -> tuple[int, str]:
        """Run one command, here or at the site. Returns its exit code and its output. Raises ``Unreachable`` if it
        cannot start."""
        values = {name: str(value) for name, value in {**self._values, "service": service, **args}.items()}
        words = filled(asked.argv, values)
        with told(self._context, self._where, shlex.join(words)) as exchange:
            if asked.ssh is not None:
                code, output = self._remote().run(words, asked.timeout)
            else:
                code, output = self._run_here(words, values, asked.timeout)
            exchange.answer = ended_text(code, output)
        return code, output

    def _remote(self) -> RemoteCommands:
        """The commands that run at the site; nothing connects yet."""
        if self._ssh is None:
            # paramiko is loaded only for a family whose commands go over SSH.
            from adapters.ssh.commands import RemoteCommands
            from adapters.ssh.connect import SshConnector
            from adapters.ssh.options import SshOptions

            declared = self._file.connect.ssh
            assert declared is not None
            device = self._site.devices[0]
            if declared.port is not None:
                device = device.model_copy(update={"port": int(self._values[declared.port])})
            options = SshOptions.model_validate({k: v for k, v in self._site.options.items() if k in SSH_OPTIONS})
            connector = SshConnector(
                device, self._site, secrets=self._context.secrets, clock=self._context.clock, options=options
            )
            self._ssh = RemoteCommands(connector, self._where, self._context.clock)
        return self._ssh

    def _run_here(self, words: Sequence[str], values: Mapping[str, str], timeout_s: float) -> tuple[int, str]:
        declared = self._file.connect.exec
        own = filled(declared.path, values) if declared is not None else []
        environment = {"PATH": ":".join([*own, _PATH]), "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}
        password = self._password() if declared is not None and declared.password else None
        if declared is not None and declared.password and password:
            environment[declared.password] = password
        program = which(words[0], path=environment["PATH"])
        if program is None:
            raise Unreachable(f"{words[0]} is not a program on this machine", device=self._where)
        try:
            ended = run(
                [program, *words[1:]],
                environment,
                timeout_s=timeout_s,
                clock=self._context.clock,
                waiting=self._waiting,
            )
        except OSError as error:
            raise Unreachable(f"{words[0]} cannot be started: {error.strerror}", device=self._where) from error
        output = ended.output.decode("utf-8", "replace")
        if ended.code is None or ended.code < 0:
            raise CommandTimedOut(
                f"{words[0]} was ended by a signal, or did not end within {timeout_s:g} s", device=self._where
            )
        if ended.code != 0 and declared is not None:
            if declared.unreachable and re.search(declared.unreachable, output, re.MULTILINE):
                raise Unreachable(line_of_output(output), device=self._where)
            if declared.denied and re.search(declared.denied, output, re.MULTILINE):
                raise AuthenticationFailed(line_of_output(output), device=self._where)
        return ended.code, output


def line_of_output(output: str) -> str:
    """The output of a command, in one line."""
    return " / ".join(line.strip() for line in output.splitlines() if line.strip())[:500]
