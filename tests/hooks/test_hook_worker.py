"""The hooks of a run while it is led: told by threads of their own, recorded when they fail, never in the way."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clock import SystemClock, VirtualClock
from orchestrator.core.run import Run, begin
from orchestrator.engine.dispatch import InlineFleet
from orchestrator.engine.engine import Engine
from orchestrator.engine.observers import Observer
from orchestrator.errors import HookFailed
from orchestrator.journal.hash_chain import follow_exported
from orchestrator.journal.journal import Journal
from orchestrator.journal.outbox import Outbox
from orchestrator.model import events as ev
from orchestrator.model.inventory import Hook
from orchestrator.notifications.backlog import owed
from orchestrator.notifications.delivery import BACK_OFF_MAX
from orchestrator.notifications.delivery_context import Office
from orchestrator.notifications.worker import Hooks
from orchestrator.operations.runs.hooks import telling
from tests.core.scripted import ScriptedPair
from tests.hooks.hooking import RUN, Recorded, Scripted, a_hook, a_webhook, an_office, lines_of, plan_with, record

pytestmark = pytest.mark.realtime


class Gate:
    """A poster that answers only while it is open; ``asked`` is set once somebody waits at it."""

    def __init__(self) -> None:
        self.open, self.asked = threading.Event(), threading.Event()
        self.bodies: list[bytes] = []

    def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, timeout_s: float, ca_file: str | None
    ) -> int:
        self.asked.set()
        assert self.open.wait(60)
        self.bodies.append(body)
        return 204


def until(holds: Callable[[], object], within_s: float = 20.0) -> None:
    """Wait until ``holds``."""
    clock = SystemClock()
    end = clock.now() + within_s
    while not holds():
        assert clock.now() < end, "it never came true"
        clock.sleep(0.005)


def lead(
    journal: Journal,
    clock: VirtualClock,
    hooks: Sequence[Hook],
    office: Office,
    *,
    observers: Callable[[Hooks], Sequence[Observer]] = lambda hooks: [hooks],
    run: str = RUN,
) -> tuple[Hooks, Run]:
    """Lead a whole fail-over of a scripted pair with ``hooks``, which are started and not yet finished."""
    plan = plan_with(*hooks)
    recorded = record(journal, clock, plan, run)
    made = Hooks(office, run, hooks, simulated=True)
    made.start()
    pair = ScriptedPair(clock)
    fleet = InlineFleet(pair.adapters(), recorded.lease, clock)
    first = ev.Record(run=run, seq=1, at=clock.now(), lane=None, event=ev.RunCreated(plan=plan, by="a", version="0"))
    engine = Engine(
        journal,
        recorded.lease,
        recorded.writer,
        begin(first),
        fleet,
        clock,
        by="ann",
        observers=observers(made),
    )
    return made, engine.run()


def end(hooks: Hooks, within_s: float = 10.0) -> None:
    """As the end of a command does it."""
    hooks.finish(within_s)
    assert hooks.wait(within_s)


def kinds(journal: Journal, run: str = RUN) -> list[str]:
    return [one.event.kind for one in journal.records(run)]


def test_a_whole_run_is_told_in_order(journal: Journal, clock: VirtualClock, path: Path) -> None:
    """Law: after a run its hook has been told of every record, each once, in order, and nothing is owed."""
    poster = Scripted()
    hooks, run = lead(journal, clock, [a_webhook()], an_office(path, clock, poster=poster))
    end(hooks)
    told = [json.loads(body) for _, body, _ in poster.posts]
    assert [event["data"]["seq"] for event in told] == list(range(1, run.seq + 1))
    assert [event["data"]["event"]["kind"] for event in told] == kinds(journal)
    assert told[-1]["data"]["event"] == {"kind": "run.finished", "outcome": "done"}
    assert list(owed(Outbox(journal))) == []


def test_commands_of_a_run(journal: Journal, clock: VirtualClock, path: Path, tmp_path: Path) -> None:
    """Law: a command is started once for each event it wants."""
    log = tmp_path / "log"
    hook = a_hook(on=["run.started", "step.done", "run.finished"], command=["sh", "-c", f"cat >> {log}"])
    hooks, _ = lead(journal, clock, [hook], an_office(path, clock))
    end(hooks, 60)
    told = [line["event"]["kind"] for line in lines_of(log)]
    assert told == ["run.started", *["step.done"] * 7, "run.finished"]


def test_a_failing_hook_is_recorded_once_and_stops_nothing(journal: Journal, clock: VirtualClock, path: Path) -> None:
    """Law: a hook that fails is in the record of the run, once for its cause, and the fail-over is done all the same."""
    office = an_office(path, clock, poster=Scripted(*[500] * 1000))
    outbox = Outbox(journal)
    slow: Observer = lambda record, run: (  # noqa: E731 - so that the failure is there before the run is over
        until(lambda: outbox.behind()[0].failed) if record.seq == 5 else None
    )
    hooks, run = lead(journal, clock, [a_webhook()], office, observers=lambda made: [slow, made])
    assert run.outcome is ev.Outcome.DONE
    end(hooks)
    failures = [one.event for one in journal.records(RUN) if isinstance(one.event, ev.ObserverFailed)]
    assert [(one.observer, one.text) for one in failures] == [
        ("Hooks", "HookFailed: web: 127.0.0.1 answered with status 500")
    ]
    [left] = owed(outbox)
    assert (left.events, left.failed) == (run.seq, "127.0.0.1 answered with status 500")


@pytest.mark.parametrize("at", ["lane.ended", "run.finished"])
def test_a_failure_at_the_very_end(journal: Journal, clock: VirtualClock, path: Path, at: str) -> None:
    """Law: however late a hook fails, the record of the run still ends with its end, and proves itself."""

    class Late:
        def __call__(self, record: ev.Record, run: Run) -> None:
            if record.event.kind == at:
                raise HookFailed("too late", cause="late")

    hooks, run = lead(journal, clock, [], an_office(path, clock), observers=lambda made: [Late(), made])
    end(hooks)
    assert run.outcome is ev.Outcome.DONE
    lines = list(follow_exported(journal.lines(RUN)))
    assert json.loads(lines[-1][1].event)["kind"] == "run.finished"
    assert Counter(kinds(journal))["observer.failed"] == (1 if at == "lane.ended" else 0)


def test_a_hook_that_hangs_holds_nothing_up(journal: Journal, clock: VirtualClock, path: Path) -> None:
    """Law: while a receiver keeps us waiting, the run goes on to its end, and other hooks are told meanwhile."""
    gate = Gate()
    log = path.with_name("log")
    other = a_hook(on=["run.finished"], command=["sh", "-c", f"cat >> {log}"])
    office = an_office(path, clock, poster=gate)
    waiting: Observer = lambda record, run: None if record.seq != 2 else until(gate.asked.is_set)  # noqa: E731
    hooks, run = lead(journal, clock, [a_webhook(), other], office, observers=lambda made: [made, waiting])
    assert run.outcome is ev.Outcome.DONE
    assert gate.bodies == []
    until(lambda: lines_of(log))
    gate.open.set()
    end(hooks)
    assert len(gate.bodies) == run.seq


def test_the_end_of_a_run_waits_only_so_long(journal: Journal, clock: VirtualClock, path: Path) -> None:
    """Law: a receiver that is down delays the end by the time allowed, no more; what is left is owed, with its cause."""
    hooks, run = lead(journal, clock, [a_webhook()], an_office(path, clock, poster=Scripted(*[503] * 1000)))
    began = clock.now()
    end(hooks)
    assert clock.now() - began <= 10
    [left] = owed(Outbox(journal))
    assert (left.hook, left.events, left.failed) == ("web", run.seq, "127.0.0.1 answered with status 503")


def test_a_receiver_that_comes_back_at_the_end(journal: Journal, clock: VirtualClock, path: Path) -> None:
    """Law: what failed during the run is tried again at its end, within the time allowed."""
    poster = Scripted(503, 503, 503)
    hooks, run = lead(journal, clock, [a_webhook()], an_office(path, clock, poster=poster))
    end(hooks)
    assert list(owed(Outbox(journal))) == []
    assert len(poster.posts) == run.seq + 3


class Hurried(VirtualClock):
    """The time of a machine so busy that more than the longest pause passes between any two looks at it."""

    def now(self) -> float:
        self.advance(BACK_OFF_MAX + 1.0)
        return super().now()


def test_a_pause_that_is_over_before_it_began(journal: Journal, clock: VirtualClock, path: Path) -> None:
    """Law: what failed is tried again though nothing more happens, also where its pause was over before it began."""
    poster = Scripted(*[503] * 100_000)
    hooks, _ = lead(journal, clock, [a_webhook()], an_office(path, Hurried(), poster=poster))
    seen = len(poster.posts)
    until(lambda: len(poster.posts) > seen + 2)
    poster.answers = []
    until(lambda: list(owed(Outbox(journal))) == [])
    hooks.halt()


def test_halting_cuts_a_command_off(journal: Journal, clock: VirtualClock, path: Path, tmp_path: Path) -> None:
    """Law: who does not wait any longer leaves no command behind, and no event is lost by it."""
    started = tmp_path / "started"
    hook = a_hook(command=["sh", "-c", f"echo $$ > {started}; sleep 600"], timeout="10m")
    hooks, run = lead(journal, clock, [hook], an_office(path, SystemClock()))
    until(lambda: started.exists() and started.read_text().strip())
    hooks.halt()
    assert hooks.wait(0)
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    [left] = owed(Outbox(journal))
    assert left.events == run.seq


def test_a_mistake_of_ours_is_said(journal: Journal, clock: VirtualClock, path: Path) -> None:
    """Law: a bug in a thread of a hook is that hook's failure: known, and not the end of anything."""
    office = an_office(path, clock, poster=Scripted(RuntimeError("a bug")))
    made, run = lead(journal, clock, [a_webhook()], office)
    assert run.outcome is ev.Outcome.DONE
    assert made.wait(20)
    assert made.ended_by("web") == "RuntimeError: a bug"


def test_what_a_thread_ended_by_is_said(journal: Journal, clock: VirtualClock, path: Path) -> None:
    """Law: also a mistake that came too late for the record is said, with what the hook has not taken by it."""
    record(journal, clock, plan_with(a_webhook()))
    office = an_office(path, clock, poster=Scripted(RuntimeError("a bug")))
    said: list[str] = []
    with telling(Hooks(office, RUN, [a_webhook()], simulated=True), journal, RUN, said.append):
        pass
    assert said[0].startswith(f"hook web: 1 event of run {RUN} not delivered yet (RuntimeError: a bug)")


def test_a_journal_that_cannot_be_opened_ends_no_run(journal: Journal, clock: VirtualClock, path: Path) -> None:
    """Law: of a thread that gets no connection it is known why, and the run goes on."""
    office = an_office(path.with_name("missing") / "journal.sqlite", clock)
    made, run = lead(journal, clock, [a_webhook()], office)
    assert run.outcome is ev.Outcome.DONE
    assert made.wait(20)
    assert made.ended_by("web").startswith("the journal could not be opened")


class Interrupted(Outbox):
    """An outbox that is read, and then something happens before the reader can look at anything else."""

    def __init__(self, journal: Journal, between: Callable[[], None]) -> None:
        super().__init__(journal)
        self._between: Callable[[], None] | None = between

    def after(self, run: str, seq: int) -> Sequence[Mapping[str, Any]]:
        lines = super().after(run, seq)
        if not lines and self._between is not None:
            between, self._between = self._between, None
            between()
        return lines


@dataclass(frozen=True)
class InterruptedOffice(Office):
    """Gives out such outboxes."""

    between: Callable[[], None] = lambda: None

    def outbox(self) -> Outbox:
        return Interrupted(self.open_journal(), self.between)


def test_what_is_recorded_while_a_hook_ends_is_told(journal: Journal, clock: VirtualClock, path: Path) -> None:
    """Law: a record that comes after a hook has read everything, and right before it is told to finish, is told by this
    process: nobody else may lead this run for hours."""
    poster = Scripted()
    recorded = record(journal, clock, plan_with(a_webhook(on=["step.done"])))
    recorded.add(ev.StepDone(step="a"))
    plain = an_office(path, clock, poster=poster)

    def between() -> None:
        late = Recorded(Journal.at(path), clock, recorded.lease, recorded.writer)
        late.add(ev.StepDone(step="b"))
        late.journal.close()
        hooks.finish(10.0)

    office = InterruptedOffice(**{one.name: getattr(plain, one.name) for one in fields(plain)}, between=between)
    hooks = Hooks(office, RUN, [a_webhook(on=["step.done"])], simulated=True)
    hooks.start()
    assert hooks.wait(20)
    assert [json.loads(body)["data"]["event"]["step"] for _, body, _ in poster.posts] == ["a", "b"]
    assert list(owed(Outbox(journal))) == []


def test_a_resumed_run_goes_on_where_it_was(journal: Journal, clock: VirtualClock, path: Path) -> None:
    """Law: what a process that died owed is delivered by the next one that leads the run, in order."""
    poster = Scripted()
    recorded = record(journal, clock, plan_with(a_webhook(on=["step.done"])))
    recorded.add(ev.StepDone(step="a"), ev.StepDone(step="b"))
    Outbox(journal).done_with(RUN, "web", 2)
    hooks = Hooks(an_office(path, clock, poster=poster), RUN, [a_webhook(on=["step.done"])], simulated=True)
    hooks.start()
    recorded.add(ev.StepDone(step="c"))
    end(hooks)
    assert [json.loads(body)["data"]["event"]["step"] for _, body, _ in poster.posts] == ["b", "c"]


def test_the_backlog_of_older_runs_is_brought_beside(journal: Journal, clock: VirtualClock, path: Path) -> None:
    """Law: a command that leads a run also brings what older runs owe; those that are led now are left alone."""
    poster = Scripted()
    for name in ("old", "led"):
        recorded = record(journal, clock, _elsewhere(plan_with(a_webhook("pager", on=["step.done"])), name), name)
        recorded.add(ev.StepDone(step=name))
        if name == "old":
            recorded.lease.release()
    hooks = Hooks(an_office(path, clock, poster=poster), RUN, [], simulated=True)
    hooks.start(with_backlog=True)
    until(lambda: [one.run for one in owed(Outbox(journal))] == ["led"])
    end(hooks)
    assert [json.loads(body)["data"]["run"] for _, body, _ in poster.posts] == ["old"]


def _elsewhere(plan: ev.Plan, name: str) -> ev.Plan:
    """The same plan for another service, so that two runs do not claim one."""
    return plan.model_copy(update={"services": (name,)})


def test_many_hooks_many_records(journal: Journal, clock: VirtualClock, path: Path, tmp_path: Path) -> None:
    """Law: with several hooks at once each is told of all it wants, and none of what the others want."""
    posters = Scripted()
    hooks = [
        a_webhook("all"),
        a_webhook("ends", on=["lane.ended", "run.finished"]),
        a_webhook("gates", on=["gate.asked"]),
    ]
    made, _ = lead(journal, clock, hooks, an_office(path, clock, poster=posters))
    end(made)
    told = Counter(json.loads(body)["data"]["event"]["kind"] for _, body, _ in posters.posts)
    recorded = Counter(kinds(journal))
    extra = {"lane.ended", "run.finished"}
    assert told == {kind: count * (2 if kind in extra else 1) for kind, count in recorded.items()}
    assert list(owed(Outbox(journal))) == []


def test_the_backlog_is_of_older_runs_that_nobody_leads(journal: Journal, clock: VirtualClock, path: Path) -> None:
    """Law: the own run is left to its own threads, also once nobody leads it, and a run that is led to its process."""
    poster = Scripted()
    for name in ("old", RUN, "led"):
        recorded = record(journal, clock, _elsewhere(plan_with(a_webhook(on=["step.done"])), name), name)
        recorded.add(ev.StepDone(step=name))
        if name != "led":
            recorded.lease.release()
    hooks = Hooks(an_office(path, clock, poster=poster), RUN, [], simulated=True)
    hooks.start(with_backlog=True)
    end(hooks)
    assert [json.loads(body)["data"]["run"] for _, body, _ in poster.posts] == ["old"]


def test_a_block_that_raises_waits_for_no_hook(
    journal: Journal, clock: VirtualClock, path: Path, tmp_path: Path
) -> None:
    """Law: who ends a command with Ctrl-C leaves no hook behind that is still at work."""
    started = tmp_path / "started"
    hook = a_hook(command=["sh", "-c", f"echo $$ > {started}; exec sleep 20"], timeout="1m")
    record(journal, clock, plan_with(hook))
    hooks = Hooks(an_office(path, SystemClock()), RUN, [hook], simulated=True)
    with pytest.raises(KeyboardInterrupt), telling(hooks, journal, RUN, print):
        until(lambda: started.exists() and started.read_text().strip())
        raise KeyboardInterrupt
    assert hooks.wait(0)
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
