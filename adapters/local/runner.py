"""Runs one command or check of the operator, and tells the meaning of its end.

A child process gets only what it needs: a fixed PATH, the names of site and service as environment variables, and the
secrets that the inventory gives it. Its output is kept without the secrets, and cut. This module must never put a
secret on a command line.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field

from adapters.local.options import LocalCommand, filled
from adapters.local.process import Ended, run
from orchestrator.errors import AuthenticationFailed, CommandTimedOut, DefinitionError, Unreachable, UnreadableReply
from orchestrator.family.contract import AdapterContext
from orchestrator.family.secrets import Redactor
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect
from orchestrator.model.runbook import format_duration

# Where the commands run, as results and plans name it.
HERE = "this machine"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Characters of output that are kept: the end of an output is the most useful part.
_HEAD, _TAIL = 500, 1_500


@dataclass(frozen=True, slots=True)
class Ready:
    """A command that can be run at once: nothing more has to be found out."""

    name: str
    argv: tuple[str, ...]
    timeout_s: float
    environment: dict[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """The meaning of a command's end, and the sentence for it."""

    effect: Effect
    text: str


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check."""

    passed: bool
    output: str


class Runner:
    """Runs the commands of one site."""

    def __init__(self, site: Site, context: AdapterContext) -> None:
        self._site = site
        self._context = context
        self._redactor = Redactor()

    def secrets_of(self, name: str, command: LocalCommand) -> dict[str, str]:
        """The environment variables that hold secrets. Raises ``AuthenticationFailed``."""
        found = {}
        for variable, reference in command.secrets.items():
            try:
                secret = self._context.secrets.reveal(
                    reference, what=f"{variable} for the command {name} of {self._site.name}"
                )
            except DefinitionError as error:
                raise AuthenticationFailed(str(error), device=HERE, hint=error.hint) from error
            if "\x00" in secret:
                raise AuthenticationFailed(
                    f"the variable {variable} for the command {name} of {self._site.name} has a NUL character",
                    device=HERE,
                    hint="an environment variable cannot hold a NUL character",
                )
            self._redactor.learn(secret)
            found[variable] = secret
        return found

    def ready(self, name: str, command: LocalCommand, service: str) -> Ready:
        """The command itself, for ``service``, which is empty for the whole site. Raises ``AuthenticationFailed``."""
        return self._ready(name, command, command.argv, service)

    def run(self, ready: Ready) -> Answer:
        """Run the command once. Raises ``Unreachable`` if it cannot start; nothing was done then."""
        ended = self._end_of(ready)
        if ended.code == 0:
            return Answer(Effect.ACCEPTED, self._said(f"{ready.name} ended well", ended))
        if ended.code is not None and ended.code > 0:
            return Answer(Effect.REJECTED, self._said(f"{ready.name} ended with exit code {ended.code}", ended))
        return Answer(Effect.DOUBTFUL, self._said(_cut_short(ready, ended), ended))

    def check(self, name: str, command: LocalCommand, service: str) -> Checked:
        """Run the check of ``command``. Raises ``AdapterError`` if the check says neither yes nor no."""
        ready = self._ready(f"the check of {name}", command, command.check or (), service)
        ended = self._end_of(ready)
        if ended.code in (0, 1):
            return Checked(ended.code == 0, self._output(ended))
        if ended.code is None:
            raise CommandTimedOut(self._said(_cut_short(ready, ended), ended), device=HERE)
        what = f"{ready.name} ended with exit code {ended.code}" if ended.code > 0 else _cut_short(ready, ended)
        sentence = self._said(f"{what}; only 0 (yes) and 1 (no) are answers", ended)
        raise UnreadableReply(sentence, text=self._output(ended), device=HERE)

    def _ready(self, name: str, command: LocalCommand, words: tuple[str, ...], service: str) -> Ready:
        environment = {"PATH": PATH, "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}
        environment["FAILOVER_SITE"] = self._site.name
        if service:
            environment["FAILOVER_SERVICE"] = service
        environment |= self.secrets_of(name, command)
        return Ready(name, tuple(filled(words, self._site.name, service)), command.timeout, environment)

    def _end_of(self, ready: Ready) -> Ended:
        try:
            return run(ready.argv, ready.environment, timeout_s=ready.timeout_s, clock=self._context.clock)
        except OSError as error:
            raise Unreachable(f"{ready.name} cannot be started: {error.strerror}", device=HERE) from error

    def _said(self, what: str, ended: Ended) -> str:
        output = self._output(ended)
        return f"{what}: {output}" if output else what

    def _output(self, ended: Ended) -> str:
        """The output on one line. Secrets are removed before the cut: half a secret would not be recognised."""
        text = self._redactor.scrub(ended.output.decode("utf-8", "replace"))
        return _cut(" / ".join(line.strip() for line in text.splitlines() if line.strip()))


def _cut_short(ready: Ready, ended: Ended) -> str:
    if ended.code is None:
        return f"{ready.name} did not end within {format_duration(ready.timeout_s)}, so it was ended"
    try:
        name = signal.Signals(-ended.code).name
    except ValueError:  # a real-time signal has no name
        name = f"signal {-ended.code}"
    return f"{ready.name} was ended by {name}"


def _cut(text: str) -> str:
    """The start and the end of a long text, cut at blanks, so that no word is halved."""
    if len(text) <= _HEAD + _TAIL:
        return text
    head = text[:_HEAD].rpartition(" ")[0]
    tail = text[-_TAIL:].partition(" ")[2]
    return f"{head} […] {tail}"
