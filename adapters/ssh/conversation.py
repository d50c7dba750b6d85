"""The commands and answers of one log-in to a CLI. The answer to one command must never be taken for the answer to
another.

How an answer is matched to its command (docs/sources/ssh.md, 2 and 3):

- The device's name is learned from its answer to an empty line, never guessed from a banner. From then on, a prompt is
  only a text that starts with exactly that name and ends exactly as the first prompt did.
- An answer starts with the echo of its command and ends with a prompt. Without the echo there is no answer.
- After a time-out, a loss, or anything unexplained, the conversation is broken: it is closed, and nothing more is
  sent in it. So a late answer to an old command is never read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

from adapters.ssh.line import Line
from adapters.ssh.terminal import Dialect, Prompt
from orchestrator.characters import printable
from orchestrator.clock import Clock
from orchestrator.errors import (
    AdapterError,
    CommandRejected,
    CommandTimedOut,
    ConnectionLost,
    Forbidden,
    Unreachable,
    UnreadableReply,
)
from orchestrator.model.exchanges import Exchange, Witness

ANSWER_BYTES_MAX = 8 * 1024 * 1024
LINE_MAX = 400  # the terminal is wider than this and a prompt together, so an echo never wraps
_TAIL = 2048  # bytes in which the unfinished last line is searched for
_QUIET_S = 0.1  # seconds of silence after a prompt that mean that the answer is complete
_NUDGE_S = 1.0  # seconds of silence without a prompt after which return is sent once more
_ENTER = b"\r"
ECHO_S = 3.0
"""Seconds for the echo of a reading, in a session that was there before.

Assumption: a CLI echoes a line as it is typed, before it works on it, so silence for so long is a dead connection. Where
it is a slow device, the reading costs another log-in: the new session has the whole limit."""


class Conversation:
    """Commands and answers on one line. ``prompt`` is the device's current prompt."""

    def __init__(
        self,
        line: Line,
        *,
        device: str,
        dialect: Dialect,
        clock: Clock,
        timeout_s: float,
        may_change: bool,
        witness: Witness | None = None,
    ) -> None:
        self._line = line
        self._device = device
        self._dialect = dialect
        self._clock = clock
        self._timeout_s = timeout_s
        self._may_change = may_change
        self._witness = witness
        self._prompt: Prompt | None = None
        self._ending = ""  # what follows the prompt's sign: a blank, or nothing
        self._broken = False

    @property
    def prompt(self) -> Prompt:
        """The last prompt. Only after ``log_in``."""
        if self._prompt is None:
            raise RuntimeError("no login has been made")
        return self._prompt

    def close(self) -> None:
        """End the conversation; nothing can be sent in it any more."""
        self._broken = True
        self._line.close()

    def is_usable(self) -> bool:
        """Is the device waiting for a command, as far as can be seen? Unexpected output breaks the conversation."""
        if self._broken or self._prompt is None or not self._line.is_open:
            return False
        try:
            if self._is_idle_talk(_decode(self._line.receive(0))):
                return True
        except ConnectionLost:
            pass  # the line broke between two commands: nothing was lost
        self.close()
        return False

    def log_in(self, within_s: float) -> None:
        """Learn the device's name. Raises ``Unreachable`` or ``ConnectionLost``.

        The name is known when the answer to an empty line is only the same prompt again, followed by silence.
        """
        deadline = self._clock.now() + within_s
        candidate, since = "", b""
        while True:
            left = deadline - self._clock.now()
            if left <= 0 or len(since) > ANSWER_BYTES_MAX:
                self.close()
                raise Unreachable(
                    f"{self._device} shows no known prompt within {within_s:g} s;"
                    f" last: '{printable(_decode(since[-_TAIL:]), 120)}'",
                    device=self._device,
                    hint="check that the address is the management port, and that the account's shell is the CLI",
                )
            tail = self._dialect.last_line(_decode(since[-_TAIL:]))
            is_prompt = self._dialect.prompt_in(tail) is not None
            chunk = self._line.receive(min(left, _QUIET_S if is_prompt else _NUDGE_S))
            if chunk:
                since += chunk
                continue
            if self._dialect.pager.search(tail):
                self._line.send(self._dialect.pager_answer.encode())
                since = b""
                continue
            if is_prompt and tail == candidate and self._says_only(_decode(since), tail):
                break
            candidate, since = (tail if is_prompt else ""), b""
            self._line.send(_ENTER)
        self._prompt = self._dialect.prompt_in(candidate)
        self._ending = candidate[len(candidate.rstrip()) :]

    def _says_only(self, text: str, prompt: str) -> bool:
        said = [line for line in self._dialect.lines(text) if line.strip()]
        return all(line == prompt.rstrip() for line in said)

    def exchange(
        self, command: str, *, confirms: Callable[[str], bool] | None = None, echo_s: float | None = None
    ) -> str:
        """The device's answer to ``command``: the lines between its echo and the next prompt.

        A yes/no question is answered ``y`` if ``confirms`` is true for all output up to the question. The output after
        it is returned. Otherwise the question is answered ``n``, and ``CommandRejected`` with the question is raised.
        ``echo_s``: seconds for the first byte; only for a command that changes nothing, since a line may be obeyed
        after that time.

        Raises ``Forbidden`` for a line that must not be sent, ``Unreachable`` if it was not sent, ``CommandTimedOut``,
        ``ConnectionLost`` or ``UnreadableReply`` if it may have been obeyed. After these the conversation is over.
        """
        check_line(command, device=self._device)
        if not (self._may_change or command.startswith(self._dialect.reading) or command in self._dialect.setup):
            raise Forbidden(f"`{command}` was not sent: this session is read-only", device=self._device)
        if not self.is_usable():
            raise Unreachable(
                f"the session with {self._device} is over; `{command}` was not sent", device=self._device
            )
        if self._witness is None:
            return self._exchange(command, confirms, echo_s)
        heard = Exchange(self._device, command, self._clock.now(), 0.0, prompt=str(self.prompt))
        try:
            answer = self._exchange(command, confirms, echo_s)
        except AdapterError as error:
            text = error.text if isinstance(error, UnreadableReply) else ""
            heard = replace(heard, answer=text, failed=type(error).__name__, why=str(error))
            raise
        else:
            heard = replace(heard, answer=answer)
            return answer
        finally:
            self._witness.heard(replace(heard, answered_at=self._clock.now()))

    def _exchange(self, command: str, confirms: Callable[[str], bool] | None, echo_s: float | None) -> str:
        try:
            self._line.send(command.encode() + _ENTER)
            try:
                heard, questions, answer = self._listen(command, confirms, echo_s)
            except Unreachable as error:  # only the key for a pager or question was not sent; the command was
                raise ConnectionLost(str(error), device=self._device) from error
            return self._answer_in(command, heard, questions, answer)
        except (ConnectionLost, CommandTimedOut, UnreadableReply, Unreachable):
            self.close()
            raise

    def _listen(
        self, command: str, confirms: Callable[[str], bool] | None, echo_s: float | None
    ) -> tuple[str, int, str]:
        """Everything up to the next prompt, how many questions came before it, and the answer to the first."""
        deadline = self._clock.now() + self._timeout_s
        heard = bytearray()
        questions, answer = 0, "n"
        echo = command.encode()
        echoed, answered = False, -2
        while True:
            left = deadline - self._clock.now()
            if echo_s is not None and not heard:
                left = min(left, echo_s)
            chunk = self._line.receive(left) if left > 0 else b""
            if not chunk and not heard and echo_s is not None and echo_s < self._timeout_s:
                raise ConnectionLost(
                    f"{self._device} shows no echo of `{command}` within {echo_s:g} s, so the program disconnects",
                    device=self._device,
                )
            if not chunk:
                self._fail_in_time(command, heard)
            heard += chunk
            if len(heard) > ANSWER_BYTES_MAX:
                self._fail_in_size(command, heard)
            tail = self._dialect.last_line(_decode(bytes(heard[-_TAIL:])))
            echoed = echoed or _echo_ends(heard, echo)
            here = heard.rfind(b"\n")  # each line is answered once, even while the device still writes on it
            if self._dialect.pager.search(tail):
                if here != answered:
                    self._line.send(self._dialect.pager_answer.encode())
                answered = here
            elif echoed and self._dialect.question.search(tail):
                if here != answered:
                    questions += 1
                    is_own = confirms is not None and confirms(self._asked_in(command, _decode(bytes(heard))))
                    answer = "y" if questions == 1 and is_own else answer
                    self._line.send((answer if questions == 1 else "n").encode() + _ENTER)
                answered = here
            elif echoed and self._is_prompt(tail):
                return _decode(bytes(heard)), questions, answer

    def _asked_in(self, command: str, heard: str) -> str:
        """What the device says between the echo of ``command`` and the end of its question."""
        lines = self._dialect.lines(heard)
        at = next((i for i, line in enumerate(lines) if self._is_echo(line, command)), len(lines))
        return "\n".join(lines[at + 1 :])

    def _is_prompt(self, tail: str) -> bool:
        return tail.endswith(self._ending) and self._dialect.prompt_in(tail, self.prompt.name) is not None

    def _answer_in(self, command: str, heard: str, questions: int, answer: str) -> str:
        """Cut off the echo and the prompt, and remember the prompt. Before the echo there must be only idle talk."""
        lines = self._dialect.lines(heard)
        at = next((i for i, line in enumerate(lines) if self._is_echo(line, command)), None)
        if at is None or not self._is_idle_talk("\n".join(lines[:at])):
            raise UnreadableReply(
                f"{self._device} printed other text before it answered `{command}`", text=heard, device=self._device
            )
        self._prompt = self._dialect.prompt_in(self._dialect.last_line(heard), self.prompt.name)
        body = lines[at + 1 : -1]
        if questions > 1:
            raise UnreadableReply(
                f"{self._device} asks more than one question after `{command}`", text=heard, device=self._device
            )
        if questions and answer == "n":
            raise CommandRejected(
                f"{self._device} asks after `{command}`: '{printable(' '.join(body))}'; the program answered n",
                device=self._device,
                hint="the program expects no question here; find out at the device why it asks",
            )
        asked_at = next((i for i, line in enumerate(body) if questions and self._asked(line)), -1)
        return "\n".join(body[asked_at + 1 :])

    def _asked(self, line: str) -> bool:
        """Is this the line of a question, perhaps followed by the echo of our answer?"""
        return self._dialect.question.search(line.removesuffix("y").removesuffix("n")) is not None

    def _is_echo(self, line: str, command: str) -> bool:
        if not line.endswith(command.rstrip()):
            return False
        before = line[: len(line) - len(command.rstrip())].strip()
        return not before or self._dialect.prompt_in(before, self.prompt.name) is not None

    def _is_idle_talk(self, text: str) -> bool:
        """Is ``text`` only blank lines and this device's prompts? That is the answer to an extra return."""
        lines = (line for line in self._dialect.lines(text) if line.strip())
        return all(self._dialect.prompt_in(line, self.prompt.name) is not None for line in lines)

    def _fail_in_time(self, command: str, heard: bytearray) -> NoReturn:
        last = printable(_decode(bytes(heard[-_TAIL:]))[-120:])
        raise CommandTimedOut(
            f"{self._device} did not answer `{command}` completely within {self._timeout_s:g} s; last: '{last}'",
            device=self._device,
        )

    def _fail_in_size(self, command: str, heard: bytearray) -> NoReturn:
        shown = f"{_decode(bytes(heard[:_TAIL]))}\n[…]\n{_decode(bytes(heard[-_TAIL:]))}"
        raise UnreadableReply(
            f"{self._device} answered `{command}` with more than {ANSWER_BYTES_MAX} bytes",
            text=shown,
            device=self._device,
        )


def check_line(command: str, *, device: str) -> None:
    """Refuse a line that is not exactly one command. Raises ``Forbidden``; nothing has been sent then.

    This is a second check: names were checked before they were put into a command (``site.SERVICE_NAME``).
    """
    if not command.strip():
        raise Forbidden("an empty line is not a command", device=device)
    if not command.isprintable():
        raise Forbidden(f"a command with a control character was not sent: '{printable(command)}'", device=device)
    if len(command) > LINE_MAX:
        raise Forbidden(
            f"a command of {len(command)} characters was not sent; the limit is {LINE_MAX}", device=device
        )


def _echo_ends(heard: bytearray, echo: bytes) -> bool:
    """Was the whole echo received, and the end of its line?"""
    at = heard.find(echo)
    return at >= 0 and heard.find(b"\n", at + len(echo)) >= 0


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
