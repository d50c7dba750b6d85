"""Every error the product raises on purpose, in one tree.

Each error is one sentence for a person (``str(error)``), an optional ``hint`` that says what to do next, and the
process exit code it leads to. Foreign exceptions are mapped to these at the boundary, with ``raise … from``.

::

    FailoverError                    70
    ├── DefinitionError               2   a runbook, inventory, option or decision file is wrong; knows file and line
    ├── AdapterError                  6   something about a device
    │   ├── NotObeyed                     the device cannot have obeyed: safe to try again
    │   │   ├── Unreachable
    │   │   ├── AuthenticationFailed
    │   │   ├── HostKeyRejected
    │   │   ├── NotServing                no node of the site is serving; more than one claims to
    │   │   ├── CommandRejected           the device answered, and said no
    │   │   └── Forbidden                 we forbade it ourselves: read-only session, lease no longer ours
    │   ├── PerhapsObeyed                 the device may have obeyed: doubt, to be resolved by reading
    │   │   ├── ConnectionLost
    │   │   ├── CommandTimedOut
    │   │   └── UnreadableReply           carries the text that could not be read
    │   └── NoSuchService                 the device answered, and does not have this service
    ├── JournalError                  6
    │   ├── JournalUnavailable            disk full, read-only, server away: it may come back
    │   │   └── JournalLost               what a run is recorded in was deleted, replaced or cut: it never comes back
    │   ├── JournalCorrupt                the record does not prove itself
    │   ├── NoSuchRun                 2
    │   ├── KeyUsed                   2   the caller's key has started another run already
    │   ├── LeaseHeld                 8   another person acts on this service or run
    │   └── LeaseLost                 8   we no longer may act on it
    ├── NotStarted                    3   a run could not start; nothing was changed
    ├── HookFailed                    6   a person who is to be told of an event was not
    ├── ComputationFailed             6   a computation over exports broke off: memory, disk, a cluster that is away
    ├── OutputLost                    6   what was to be printed or written could not be
    ├── ProgramReplaced           6   the program was updated under a command that still ran
    └── IllegalTransition            70   the lifecycle table forbids the event: a bug, or a forged journal
"""

from __future__ import annotations

from pathlib import Path


class FailoverError(Exception):
    """Base of every deliberate error. ``hint`` is the next thing a person should do, or empty. ``stands``: how services
    were left by a run that the error stopped: those that no site is known to serve, a sentence each."""

    exit_code = 70
    stands: tuple[str, ...] = ()

    def __init__(self, sentence: str, *, hint: str = "") -> None:
        super().__init__(sentence)
        self.hint = hint


class DefinitionError(FailoverError):
    """What a person wrote cannot be used. ``file`` and ``line`` (1-based) say where, when known."""

    exit_code = 2

    def __init__(
        self, sentence: str, *, hint: str = "", file: Path | str | None = None, line: int | None = None
    ) -> None:
        where = "" if file is None else f"{file}:{line}: " if line is not None else f"{file}: "
        super().__init__(where + sentence, hint=hint)
        self.file = file
        self.line = line


class AdapterError(FailoverError):
    """Something about a device. ``device`` is the name the inventory gives it, or the site's name."""

    exit_code = 6

    def __init__(self, sentence: str, *, device: str = "", hint: str = "") -> None:
        super().__init__(sentence, hint=hint)
        self.device = device


class NotObeyed(AdapterError):
    """The device cannot have obeyed. A request that ended so may be sent again."""


class Unreachable(NotObeyed):
    """No session with the device could be made."""


class AuthenticationFailed(NotObeyed):
    """The device does not accept the account."""


class HostKeyRejected(NotObeyed):
    """The device is not the one the inventory or known_hosts names."""


class NotServing(NotObeyed):
    """Not exactly one node of the site says that it serves."""


class CommandRejected(NotObeyed):
    """The device read the command and refused it."""


class Forbidden(NotObeyed):
    """Our own guard refused to let the command leave: a read-only session, or a lease that is gone."""


class PerhapsObeyed(AdapterError):
    """No one can say whether the device obeyed. Only a reading can tell."""


class ConnectionLost(PerhapsObeyed):
    """The session broke after the command may have left."""


class CommandTimedOut(PerhapsObeyed):
    """No complete answer within the time limit."""


class UnreadableReply(PerhapsObeyed):
    """The device answered something no rule covers. ``text`` is that answer, whole."""

    def __init__(self, sentence: str, *, text: str, device: str = "", hint: str = "") -> None:
        super().__init__(sentence, device=device, hint=hint)
        self.text = text


class NoSuchService(AdapterError):
    """The device answered the reading, and the service is not there."""


class JournalError(FailoverError):
    """The record of runs cannot be used."""

    exit_code = 6


class JournalUnavailable(JournalError):
    """The record could not be written or read: disk full, read-only, server away."""


_BY_HAND = (
    "nothing was sent after the loss; first compare both sites with `failover status`; this record cannot be"
    " resumed (docs/explanation/records.md, 'When the journal is lost')"
)


class JournalLost(JournalUnavailable):
    """What a run is recorded in was deleted, replaced or cut while the run was led. Never tried again."""

    def __init__(self, sentence: str, *, hint: str = "") -> None:
        super().__init__(sentence, hint=hint or _BY_HAND)


_NO_PROOF = "`failover runs verify` checks every run; `failover status` shows both sites"


class JournalCorrupt(JournalError):
    """A record was edited, deleted, reordered or cut off. Nothing continues from such a record."""

    def __init__(self, sentence: str, *, hint: str = "") -> None:
        super().__init__(sentence, hint=hint or _NO_PROOF)


class NoSuchRun(JournalError):
    """No run has this name."""

    exit_code = 2


class KeyUsed(JournalError):
    """The key given for a new run has started one already; ``run`` is its name."""

    exit_code = 2

    def __init__(self, sentence: str, *, run: str, hint: str = "") -> None:
        super().__init__(sentence, hint=hint)
        self.run = run


class LeaseHeld(JournalError):
    """Another process, or another unfinished run, may act on this; we may not."""

    exit_code = 8


class LeaseLost(JournalError):
    """We held the lease and no longer do. Nothing may be sent any more."""

    exit_code = 8


class NotStarted(FailoverError):
    """A run could not start, or looking ahead at one could not: a device is away or refuses us. Nothing was changed."""

    exit_code = 3


class HookFailed(FailoverError):
    """A hook could not be told of an event. ``cause`` is the same for what is to be said only once."""

    exit_code = 6

    def __init__(self, sentence: str, *, cause: str, hint: str = "") -> None:
        super().__init__(sentence, hint=hint)
        self.cause = cause


class ComputationFailed(FailoverError):
    """A computation over exports could not start or broke off: memory, disk, a lost cluster. It left no result."""

    exit_code = 6


class OutputLost(FailoverError):
    """A result could not be written. ``is_reader_gone``: only because no one reads it any more, as with ``| head``."""

    exit_code = 6

    def __init__(self, sentence: str, *, hint: str = "", is_reader_gone: bool = False) -> None:
        super().__init__(sentence, hint=hint)
        self.is_reader_gone = is_reader_gone


class ProgramReplaced(FailoverError):
    """The program on disk is another one than the one that runs, and what runs needed more of it."""

    exit_code = 6


class IllegalTransition(FailoverError):
    """The lifecycle table has no row for this event in this state."""
