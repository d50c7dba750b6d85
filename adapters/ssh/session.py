"""Shell sessions as a family uses them: one that can only show, and one that can also change.

The read-only session is a separate type, and has no method that could send a changing line. So types keep promise 6,
not a flag that a person must remember.

A session connects when it is first used, and again after a conversation broke. It never repeats a command. If the
answer to a line was lost, the caller has a doubt, and resolves it by a reading.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from adapters.ssh.conversation import ECHO_S, Conversation, check_line
from adapters.ssh.line import Connect
from adapters.ssh.terminal import Dialect, Prompt
from orchestrator.clock import Clock
from orchestrator.errors import (
    AdapterError,
    CommandRejected,
    Forbidden,
    HostKeyRejected,
    PerhapsObeyed,
    Unreachable,
    UnreadableReply,
)
from orchestrator.model.exchanges import Exchange, Witness
from orchestrator.model.inventory import Device


class ShowSession:
    """A session that shows. ``timeout_s``: seconds for one command's whole answer. ``witness`` gets each line
    that is typed after the log-in, and a log-in that failed."""

    _may_change: ClassVar[bool] = False

    def __init__(
        self,
        device: Device,
        connect: Connect,
        *,
        dialect: Dialect,
        clock: Clock,
        timeout_s: float,
        witness: Witness | None = None,
    ) -> None:
        self.device = device
        self._connect = connect
        self._dialect = dialect
        self._clock = clock
        self._timeout_s = timeout_s
        self._witness = witness
        self._talk: Conversation | None = None

    @property
    def is_connected(self) -> bool:
        """Is there a conversation that can be used as it is?"""
        return self._talk is not None and self._talk.is_usable()

    def open(self) -> None:
        """Connect now, unless connected. Raises ``Unreachable``, ``AuthenticationFailed``, ``HostKeyRejected``."""
        self._talking()

    def show(self, command: str) -> str:
        """The device's answer to a command that only shows something.

        An older session may have ended unnoticed, so there the device has only ``ECHO_S`` for the echo. Raises
        ``Forbidden`` for any other command; else as ``open`` and ``Conversation.exchange``.
        """
        check_line(command, device=self.device.name)
        if not command.startswith(self._dialect.reading):
            raise Forbidden(f"`{command}` was not sent, because it may change something", device=self.device.name)
        before = self._talk
        talk = self._talking()
        return talk.exchange(command, echo_s=ECHO_S if talk is before else None)

    def close(self) -> None:
        """End the session; it connects again when used again."""
        if self._talk is not None:
            self._talk.close()
            self._talk = None

    def _talking(self) -> Conversation:
        if self._talk is None or not self._talk.is_usable():
            self.close()
            self._talk = self._begin()
        return self._talk

    def _begin(self) -> Conversation:
        """Connect, learn the device's name, set the terminal up."""
        name = self.device.name
        asked_at = self._clock.now()
        try:
            talk = self._log_in()
        except AdapterError as error:
            if self._witness is not None:
                kind, now = type(error).__name__, self._clock.now()
                self._witness.heard(Exchange(name, "", asked_at, now, failed=kind, why=str(error)))
            raise
        try:
            for line in self._dialect.setup:
                talk.exchange(line)
        except PerhapsObeyed as error:
            talk.close()
            raise Unreachable(f"no session with {name}: {error}", device=name) from error
        except (Unreachable, CommandRejected):
            talk.close()
            raise
        return talk

    def _log_in(self) -> Conversation:
        """Connect, and learn the device's name. After an error here, nothing was sent that could be obeyed."""
        name = self.device.name
        talk = Conversation(
            self._connect(),
            device=name,
            dialect=self._dialect,
            clock=self._clock,
            timeout_s=self._timeout_s,
            may_change=self._may_change,
            witness=self._witness,
        )
        try:
            talk.log_in(self._timeout_s)
            self._check_name(talk.prompt)
        except PerhapsObeyed as error:
            talk.close()
            raise Unreachable(f"no session with {name}: {error}", device=name) from error
        except (Unreachable, HostKeyRejected):
            talk.close()
            raise
        return talk

    def _check_name(self, prompt: Prompt) -> None:
        wanted = self.device.router_name
        if wanted is not None and prompt.name != wanted:
            raise HostKeyRejected(
                f"{self.device.name} calls itself {prompt.name}; the inventory says {wanted}",
                device=self.device.name,
                hint="correct router_name or the address in the inventory",
            )


class ShellSession(ShowSession):
    """A session that can also change. Modes are entered one by one, and each prompt is checked."""

    _may_change = True

    def to_top(self) -> None:
        """Connect, leave every mode, and get a prompt that may configure. Changes nothing.

        Raises as ``open``; ``CommandRejected`` when the account may not configure; ``UnreadableReply`` otherwise.
        """
        talk = self._talking()
        if talk.prompt.mode:
            said = talk.exchange(self._dialect.top)
            if talk.prompt.mode:
                raise self._astray(self._dialect.top, talk.prompt, "", said)
        if not talk.prompt.privileged:
            said = talk.exchange(self._dialect.enable)
            if not talk.prompt.privileged:
                raise CommandRejected(
                    f"the account may not configure {self.device.name}: {said.strip() or 'no reason given'}",
                    device=self.device.name,
                )

    def send(self, command: str, *, at: str, to: str, confirms: Callable[[str], bool] | None = None) -> str:
        """Send ``command`` in mode ``at`` and return what the device says; the mode after it must be ``to``.

        ``confirms`` gets all output up to a question, and tells whether the question is about this command. Then the
        answer is ``y``, and otherwise ``n``. This method never connects: a conversation that broke has lost its mode.
        Raises ``Forbidden`` or ``Unreachable`` if nothing was sent, ``CommandRejected`` for a question,
        ``PerhapsObeyed`` otherwise.
        """
        talk = self._talk
        if talk is None or not talk.is_usable():
            raise Unreachable(
                f"the session with {self.device.name} was lost; `{command}` was not sent", device=self.device.name
            )
        if not (talk.prompt.privileged and talk.prompt.is_in(at)):
            raise Forbidden(
                f"`{command}` needs the mode '{at}', but {self.device.name} is at {talk.prompt}",
                device=self.device.name,
            )
        said = talk.exchange(command, confirms=confirms)
        if not talk.prompt.is_in(to):
            raise self._astray(command, talk.prompt, to, said)
        return said

    def _astray(self, command: str, prompt: Prompt, wanted: str, said: str) -> UnreadableReply:
        return UnreadableReply(
            f"after `{command}` {self.device.name} is at {prompt}, not in mode '{wanted}'",
            text=f"{said}\n{prompt}".lstrip("\n"),
            device=self.device.name,
        )
