"""The services that couriers use: clock, secrets, journal, and senders. The command line creates them once."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from orchestrator.clock import Clock
from orchestrator.family.contract import Secrets
from orchestrator.family.secrets import Redactor
from orchestrator.journal.journal import Journal
from orchestrator.journal.outbox import Outbox
from orchestrator.model.inventory import Hook
from orchestrator.notifications.command import CommandSender
from orchestrator.notifications.delivery import Courier, FailureListener, Sender
from orchestrator.notifications.webhook import Poster, WebhookSender


@dataclass(frozen=True, slots=True)
class Office:
    """``open_journal`` makes a connection for one thread. ``poster`` is called only if there is a webhook.

    Commands inherit a few variables from ``environment``.
    """

    open_journal: Callable[[], Journal]
    clock: Clock
    secrets: Secrets
    redactor: Redactor
    poster: Callable[[], Poster]
    environment: Mapping[str, str]
    chance: random.Random = field(default_factory=random.Random)

    def outbox(self) -> Outbox:
        """An outbox for one thread. The process that leads a run never waits for it. Raises ``JournalError``."""
        outbox = Outbox(self.open_journal())
        outbox.hurry()
        return outbox

    def courier(
        self,
        run: str,
        hook: Hook,
        outbox: Outbox,
        *,
        simulated: bool,
        is_halted: Callable[[], bool],
        on_failure: FailureListener = lambda failure: None,
    ) -> Courier:
        """The courier that delivers the records of ``run`` to ``hook``. ``is_halted`` interrupts its present delivery."""
        return Courier(
            run,
            hook,
            outbox,
            self._sender(hook, is_halted),
            simulated=simulated,
            scrub=self.redactor.scrub_data,
            clock=self.clock,
            chance=self.chance,
            on_failure=on_failure,
        )

    def _sender(self, hook: Hook, is_halted: Callable[[], bool]) -> Sender:
        if hook.webhook is not None:
            return WebhookSender(hook, hook.webhook, poster=self.poster(), secrets=self.secrets, clock=self.clock)
        return CommandSender(
            hook.command or (),
            timeout_s=hook.timeout,
            clock=self.clock,
            scrub=self.redactor.scrub,
            environment=self.environment,
            is_halted=is_halted,
        )
