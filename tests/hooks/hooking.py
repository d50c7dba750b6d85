"""Runs with hooks, and receivers that keep what they were told: what the tests of hooks share."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.clock import Clock, VirtualClock
from orchestrator.errors import HookFailed
from orchestrator.family.secrets import Redactor, SecretStore
from orchestrator.journal.journal import Journal, Writer
from orchestrator.journal.lease import Lease, create_run
from orchestrator.journal.outbox import Outbox
from orchestrator.model import events as ev
from orchestrator.model.inventory import Hook
from orchestrator.notifications.delivery import Courier
from orchestrator.notifications.delivery_context import Office
from orchestrator.notifications.message import Message
from orchestrator.notifications.webhook import Poster
from tests.core.builders import a_plan

RUN = "run-1"
SECRET = "hunter2-hunter2"
URL = "http://127.0.0.1:9/in/T0KEN"


def a_hook(name: str = "log", on: Sequence[str] = ("*",), **more: Any) -> Hook:
    """A hook with a command, or with what ``more`` says."""
    if "webhook" not in more:
        more.setdefault("command", ["true"])
    return Hook.model_validate({"name": name, "on": list(on), **more})


def a_webhook(name: str = "web", on: Sequence[str] = ("*",), url: str = URL, **more: Any) -> Hook:
    """A hook that posts, with its secret in the variable HOOK_SECRET."""
    return a_hook(name, on, webhook={"url": url, "secret": {"env": "HOOK_SECRET"}}, **more)


def plan_with(*hooks: Hook, services: Sequence[str] = ("Trading",)) -> ev.Plan:
    """The scripted pair's controlled fail-over, with these hooks."""
    plan = a_plan(services=services)
    return plan.model_copy(update={"inventory": plan.inventory.model_copy(update={"hooks": hooks})})


@dataclass
class Recorded:
    """A run in a journal, to which a test adds records as an engine would."""

    journal: Journal
    clock: VirtualClock
    lease: Lease
    writer: Writer

    def add(self, *events: ev.Event, lane: str | None = "Trading") -> None:
        """Record ``events`` in one commit."""
        self.writer = self.journal.append(self.writer, self.clock.now(), [(lane, event) for event in events])


def record(journal: Journal, clock: VirtualClock, plan: ev.Plan, run: str = RUN) -> Recorded:
    """Begin a run of ``plan``; its first record is its creation."""
    lease, writer = create_run(journal, clock, run, ev.RunCreated(plan=plan, by="ann", version="0.1.0"))
    return Recorded(journal, clock, lease, writer)


class Died(BaseException):
    """What ``kill -9`` is to a process: no handler of the product may catch it."""


@dataclass
class Receiver:
    """Takes messages, and refuses or dies when a test wants it to. ``seen`` holds what arrived, refused or not."""

    refuses: Callable[[Message], str | None] = lambda message: None
    seen: list[Message] = field(default_factory=list)
    taken: list[Message] = field(default_factory=list)
    before: Callable[[Message], None] = lambda message: None
    after: Callable[[Message], None] = lambda message: None

    def __call__(self, message: Message) -> None:
        self.before(message)
        self.seen.append(message)
        why = self.refuses(message)
        if why is not None:
            raise HookFailed(why, cause=why)
        self.taken.append(message)
        self.after(message)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the records it took, in the order in which it did."""
        return [message.seq for message in self.taken]


class Scripted:
    """A poster that answers as a test wants: a status, or an error to raise."""

    def __init__(self, *answers: int | Exception) -> None:
        self.answers = list(answers)
        self.posts: list[tuple[str, bytes, Mapping[str, str]]] = []

    def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, timeout_s: float, ca_file: str | None
    ) -> int:
        self.posts.append((url, body, headers))
        answer = self.answers.pop(0) if self.answers else 204
        if isinstance(answer, Exception):
            raise answer
        return answer


def a_courier(
    hook: Hook, outbox: Outbox, receiver: Callable[[Message], None], clock: VirtualClock, **more: Any
) -> Courier:
    """A courier of ``RUN`` that reaches ``receiver``; chance always leaves nothing out of a pause."""
    settings: dict[str, Any] = {
        "simulated": True,
        "scrub": Redactor().scrub_data,
        "clock": clock,
        "chance": NoChance(),
        **more,
    }
    return Courier(RUN, hook, outbox, receiver, **settings)


class NoChance(random.Random):
    """Chance that always falls on the longest."""

    def uniform(self, a: float, b: float) -> float:
        return b


def an_office(journal_path: Path, clock: Clock, *, poster: Poster | None = None, **environment: str) -> Office:
    """What the threads of ``Hooks`` work with, over the journal at ``journal_path``."""
    secrets = SecretStore(None, environment={"HOOK_SECRET": SECRET, **environment})
    return Office(
        lambda: Journal.at(journal_path),
        clock,
        secrets,
        secrets.redactor,
        lambda: poster or Scripted(),
        {"PATH": "/usr/bin:/bin", **environment},
        NoChance(),
    )


def always() -> bool:
    """Nobody is in a hurry."""
    return True


def lines_of(path: Path) -> list[Any]:
    """The JSON values a command wrote into a file, a line each."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
