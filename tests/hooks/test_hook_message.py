"""What a hook is told: which events, in which words, under which signature."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import datetime
from typing import get_args

import pytest

from orchestrator.cli.render.screen import event_line
from orchestrator.family.secrets import Redactor
from orchestrator.model import events as ev
from orchestrator.model.inventory import HookEvent
from orchestrator.notifications.message import ALIASES, Message, kind_of, message_of, signature, wants
from tests.hooks.hooking import RUN, a_hook

AT = 1_800_000_000.25
STEP = ev.StepDone(step="drain", note="every message is over")


def kinds() -> set[str]:
    """Every kind of event there is."""
    union = get_args(ev.Event)[0]
    return {event.model_fields["kind"].default for event in get_args(union)}


def a_line(event: ev.Event = STEP, lane: str | None = "Trading") -> dict[str, object]:
    return {"run": RUN, "seq": 7, "at": AT, "lane": lane, "event": event.model_dump_json()}


def a_message(event: ev.Event = STEP, lane: str | None = "Trading", redactor: Redactor | None = None) -> Message:
    return message_of(a_line(event, lane), simulated=True, scrub=(redactor or Redactor()).scrub_data)


def test_a_hook_may_be_told_of_every_kind_of_event() -> None:
    """Law: what can be recorded can be asked for: the kinds of events, their other names, and all of them."""
    assert set(get_args(HookEvent)) == kinds() | set(ALIASES) | {"*"}
    assert set(ALIASES.values()) <= kinds()


@pytest.mark.parametrize(
    ("on", "kind", "wanted"),
    [
        (["step.done"], "step.done", True),
        (["step.done"], "step.failed", False),
        (["run.started", "run.finished"], "run.finished", True),
        (["gate.asked"], "gate.opened", True),
        (["gate.opened"], "gate.opened", True),
        (["gate.asked"], "gate.decided", False),
        (["*"], "observed", True),
        (["step.done", "*"], "gate.opened", True),
    ],
)
def test_what_is_wanted(on: list[str], kind: str, wanted: bool) -> None:
    """Law: a hook is told of the kinds it names, whichever of their names it uses; ``*`` is all of them."""
    assert wants(a_hook(on=on), kind) is wanted


@pytest.mark.parametrize("text", ['{"kind":"step.done","step":"a"}', '{"step": "a", "kind": "step.done"}'])
def test_the_kind_of_a_record(text: str) -> None:
    """Law: a record's kind is found however its JSON was written."""
    assert kind_of({"event": text}) == "step.done"


def test_the_line_is_that_of_the_screen() -> None:
    """Promise 12: a hook is told the very line that ``--json`` prints."""
    record = ev.Record(run=RUN, seq=7, at=AT, lane="Trading", event=STEP)
    told = a_message().line()
    assert json.loads(told) == event_line(record, simulated=True)
    assert told.endswith(b"}\n") and told.count(b"\n") == 1


def test_the_cloud_event() -> None:
    """CloudEvents 1.0.2, "Required Attributes": id, source, specversion and type; the lane is the subject."""
    event = json.loads(a_message().cloud_event())
    assert event == {
        "specversion": "1.0",
        "id": "run-1/7",
        "source": "/failover/runs/run-1",
        "type": "io.failover.step.done",
        "subject": "Trading",
        "time": "2027-01-15T08:00:00.250Z",
        "datacontenttype": "application/json",
        "data": json.loads(a_message().line()),
    }
    assert datetime.fromisoformat(event["time"]).timestamp() == AT
    assert event["data"]["simulated"] is True


def test_an_event_of_the_run_has_no_subject() -> None:
    """CloudEvents 1.0.2: an attribute that is not there is left out, never null."""
    event = json.loads(a_message(ev.RunFinished(outcome=ev.Outcome.DONE), lane=None).cloud_event())
    assert "subject" not in event
    assert event["data"]["event"]["outcome"] == "done"


def test_the_same_event_has_the_same_id_each_time() -> None:
    """Law: a receiver can tell a repeat from another event by its id alone."""
    assert a_message().id == a_message().id == "run-1/7"
    assert a_message().cloud_event() == a_message().cloud_event()


def test_what_became_known_as_a_secret_since_is_replaced() -> None:
    """Promise 10: a secret that got into a record before anybody knew it as one does not leave through a hook."""
    redactor = Redactor()
    redactor.learn("every message")
    message = a_message(redactor=redactor)
    assert b"every message" not in message.line() + message.cloud_event()
    assert json.loads(message.line())["event"]["note"] == "[redacted] is over"


def test_any_text_can_be_sent() -> None:
    """Law: no character that a device may have printed makes an event undeliverable."""
    odd = ev.StepDone(step="drain", note="“ü” \x00 \u2028 \ud800")
    line = {**a_line(), "event": json.dumps(odd.model_dump())}
    message = message_of(line, simulated=False, scrub=Redactor().scrub_data)
    assert json.loads(message.line())["event"]["note"] == odd.note
    assert message.line().count(b"\n") == 1


def test_the_signature_is_of_time_and_body() -> None:
    """RFC 2104 with SHA-256 over ``<t>.<body>``; whoever changes one of the two needs the secret."""
    body = a_message().cloud_event()
    made = signature("s3cret", body, AT)
    moment, digest = (part.split("=", 1)[1] for part in made.split(","))
    assert moment == "1800000000"
    assert digest == hmac.new(b"s3cret", b"1800000000." + body, hashlib.sha256).hexdigest()
    changed = {signature("s3cret", body + b" ", AT), signature("s3cret", body, AT + 1), signature("s", body, AT)}
    assert len({one.split("v1=")[1] for one in changed | {made}}) == 4
    assert "s3cret" not in made
