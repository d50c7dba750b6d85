"""The adapter of the operator's own commands. They run on the machine that runs this program, each as a journalled
step.

It is listed under a site's ``also``. A command is a list of words with a time-out; its exit code says how it ended,
and its ``check`` whether it is done. The adapter knows no devices, and never uses a shell.

The end of a command: 0 means that it was done. Another exit code means that it refused and did nothing. After a signal
or a time-out, the outcome is unknown. The end of a check: 0 means yes, 1 means no, anything else means unknown.

A person's attestation needs no adapter: it is the answer to a step that asks (``ask``, with the choice ``attest``),
recorded with name, reason and time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from shutil import which
from typing import ClassVar

from adapters.local.declared import (
    ANY_ACTIONS,
    ANY_READINGS,
    FENCE,
    SET_FENCE,
    actions_of,
    command_of,
    line_of,
    readings_of,
)
from adapters.local.options import check_service, fence_command, options_of
from adapters.local.runner import HERE, PATH, Answer, Runner
from orchestrator.errors import AdapterError, CommandRejected, Forbidden, NoSuchService
from orchestrator.family.contract import ActionSpec, AdapterContext, Call, Permit, ReadingSpec, Result
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import ExternalFence


class LocalAdapter:
    """The contract's adapter for commands of the operator's own. Raises ``DefinitionError`` for unusable options.

    The class itself declares the readings and actions of any site; ``fitted`` declares those of one site.
    """

    readings: ClassVar[Mapping[str, ReadingSpec]] = ANY_READINGS
    actions: ClassVar[Mapping[str, ActionSpec]] = ANY_ACTIONS
    simulated: ClassVar[bool] = False

    def __init__(self, site: Site, context: AdapterContext) -> None:
        self._site = site
        self._context = context
        self._options = options_of(site)
        self._runner = Runner(site, context)

    @classmethod
    def fitted(cls, site: Site) -> type[LocalAdapter]:
        """The class for ``site``: the names of its commands are the words of its actions. Raises ``DefinitionError``."""
        options = options_of(site)

        class Fitted(LocalAdapter):
            """The adapter of one site."""

            readings = readings_of(options, site)
            actions = actions_of(options, site)

        return Fitted

    def open(self) -> None:
        """Check that every program is installed and every secret can be read; nothing is run.

        Raises ``CommandRejected`` or ``AuthenticationFailed``.
        """
        for name, command in self._options.commands.items():
            for words in (command.argv, command.check or ()):
                if words and which(words[0], path=PATH) is None:
                    raise CommandRejected(
                        f"the command {name} of {self._site.name} runs {words[0]}, but this machine has no such program",
                        device=HERE,
                        hint=f"install the program, or fix the command; a name without a slash is searched for in {PATH}",
                    )
            self._runner.secrets_of(name, command)

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``contract.Adapter``. A check of the whole site is run once for all services."""
        if reading != FENCE:
            raise ValueError(f"local has no reading {reading}")
        name = fence_command(self._site)
        if name is None:
            error = NoSuchService(f"the fence plan of {self._site.name} has no command", device=HERE)
            return dict.fromkeys(services, Failure.of(error))
        if self._options.commands[name].per == "site":
            return dict.fromkeys(services, self._fence(name, "")) if services else {}
        return {service: self._fence(name, service) for service in services}

    def _fence(self, name: str, service: str) -> Reading | Failure:
        command = self._options.commands[name]
        try:
            check_service(command, service)
            checked = self._runner.check(name, command, service)
        except AdapterError as error:
            return Failure.of(error)
        return ExternalFence(closed=checked.passed, output=checked.output)

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``contract.Adapter``. A read-only adapter raises ``Forbidden`` before anything is run."""
        if action not in ANY_ACTIONS:
            raise ValueError(f"local has no action {action}")
        if self._context.read_only:
            raise Forbidden(f"{action} was not run: this session with {self._site.name} is read-only", device=HERE)
        return self._apply(action, calls, permit)

    def _apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """A task for the whole site is tried once for all calls that come together."""
        shared: dict[_Task, Result] = {}
        for call in calls:
            try:
                task = self._task(action, call)
            except CommandRejected as error:
                yield Result(call, Effect.REJECTED, detail=str(error), device=HERE)
                continue
            except Forbidden as error:
                yield Result(call, Effect.NOT_SENT, detail=str(error), device=HERE)
                continue
            if task not in shared:
                shared[task] = self._perform(task, call, permit)
            yield replace(shared[task], call=call)

    def _task(self, action: str, call: Call) -> _Task:
        """The task of ``call``. Raises ``CommandRejected`` if the site does not have it, ``Forbidden`` for an unfit
        name."""
        name = command_of(action, call, self._options, self._site)
        command = self._options.commands[name]
        service = call.service if command.per == "service" else ""
        check_service(command, service)
        if action != SET_FENCE:
            return _Task(name, service, checked=name)
        closing = fence_command(self._site) or name
        return _Task(name, service, checked=closing, done_when=call.args["state"] == "closed", is_fence=True)

    def _perform(self, task: _Task, call: Call, permit: Permit) -> Result:
        """Make one attempt. A task that the check shows as done is not done again. The refusal by ``permit`` is
        raised."""
        command = self._options.commands[task.name]
        if self._is_done(task):
            return Result(
                call,
                Effect.ACCEPTED,
                detail=f"{task.name} was not run, because its check reports that it is already done",
                device=HERE,
            )
        try:
            ready = self._runner.ready(task.name, command, task.service)
        except AdapterError as error:
            return Result(call, Effect.NOT_SENT, detail=str(error), device=HERE)
        permit.check()
        try:
            answer = self._proven(task, self._runner.run(ready))
        except AdapterError as error:
            return Result(call, Effect.NOT_SENT, detail=str(error), device=HERE)
        sent = (line_of(command.argv, self._site, task.service),)
        return Result(call, answer.effect, detail=answer.text, device=HERE, sent=sent)

    def _is_done(self, task: _Task) -> bool:
        """Does the check show that the task is done? If the check does not report it, the task has to be done."""
        checked = self._options.commands[task.checked]
        if checked.check is None:
            return False
        try:
            return self._runner.check(task.checked, checked, task.service).passed is task.done_when
        except AdapterError:
            return False

    def _proven(self, task: _Task, answer: Answer) -> Answer:
        """The final answer: the check overrules the command. A fence is not checked here: its reading is repeated while
        its effect may still come."""
        command = self._options.commands[task.checked]
        if answer.effect is not Effect.ACCEPTED or task.is_fence or command.check is None:
            return answer
        try:
            checked = self._runner.check(task.checked, command, task.service)
        except AdapterError as error:
            return Answer(Effect.DOUBTFUL, f"{answer.text}; {error}")
        if checked.passed:
            return answer
        why = f"the check reports that it is not done{': ' if checked.output else ''}{checked.output}"
        return Answer(Effect.DOUBTFUL, f"{answer.text}; {why}")

    def close(self) -> None:
        """Nothing is left open between calls."""


@dataclass(frozen=True, slots=True)
class _Task:
    """The task of one attempt. ``service`` is empty for a task of the whole site. Once the task is done, the check of
    the command ``checked`` says ``done_when``. After a fence is taken back, the check of the closing command says no.
    """

    name: str
    service: str
    checked: str
    done_when: bool = True
    is_fence: bool = False
