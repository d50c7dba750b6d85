"""The report of a run as a document: what it says, what it never turns into markup, and what its seal covers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest

from orchestrator.clock import iso
from orchestrator.errors import CommandRejected
from orchestrator.journal.hash_chain import GENESIS
from orchestrator.model import events as ev
from orchestrator.reports.document import RunDocument
from orchestrator.reports.page.build import story_of
from orchestrator.reports.page.figures import bars_of, seconds, ticks
from orchestrator.reports.page.html import page_of
from orchestrator.reports.page.markdown import escaped, markdown_of
from orchestrator.reports.page.seal import digest, walked
from orchestrator.reports.page.story import Head, RunStory
from tests.core.builders import a_plan
from tests.core.leading import RUN, pausing
from tests.reports.conftest import Told

Tell = Callable[..., Told]
ATTACK = "<script>alert(1)</script>`|*_[x](javascript:1)\u202e"


def story_of_run(told: Told, *, later: float = 5.0) -> RunStory:
    """The story of the run as its record is now, written some time after."""
    records = told.records()
    plain = told.report()
    more = {"led": False, "last_led_by": "host:1", "last_heard_at": plain.last_record_at, "questions": ()}
    links = list(told.journal.links(RUN))
    head = Head(seq=links[-1].seq, hash=links[-1].hash, signed_by=None)
    report = RunDocument.model_validate({**dict(plain), **more})
    return story_of(records, report, head, now=records[-1].at + later)


def lines_of(told: Told) -> list[dict[str, Any]]:
    """The records as they are exported."""
    return [{**line, "time": iso(line["at"]), "simulated": True} for line in told.journal.lines(RUN)]


def texts(page: bytes) -> str:
    """What a reader of the page sees, and no markup."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_data(self, data: str) -> None:
            found.append(data)

    Reader().feed(page.decode().split('<script type="application/x-ndjson"')[0])
    return "".join(found)


def embedded(page: bytes) -> list[dict[str, Any]]:
    """The records in the page."""
    [block] = re.findall(r'id="records">(.*?)</script>', page.decode(), flags=re.DOTALL)
    return [json.loads(line) for line in block.splitlines()]


def test_the_records_in_the_page_have_the_chain_of_the_journal(tell: Tell) -> None:
    """Law: what the page holds is what `runs export` writes, so the bytes that its script hashes are the journal's."""
    told = tell(depth=300, rate=100)
    told.lead.start()
    found = embedded(page_of(story_of_run(told), lines_of(told)))
    assert found == lines_of(told)
    before = GENESIS
    for line in found:  # as check.js does it, written down once more
        text = "\n".join([before, RUN, str(line["seq"]), repr(line["at"]), line["lane"] or "", line["event"]])
        before = sha256(text.encode()).hexdigest()
        assert before == line["hash"]


def test_every_byte_that_is_shown_is_sealed(tell: Tell) -> None:
    """Law: the seal is over elements, attributes and texts of the report; a change of any of them is another seal."""
    told = tell(depth=300, rate=100)
    told.lead.start()
    page = page_of(story_of_run(told), lines_of(told)).decode()
    sealed = json.loads(re.findall(r'id="seal">(.*?)</script>', page)[0])["report"]
    assert sealed == digest(walked(page))
    for old, new in (("Trading", "Tradinh"), ('class="badge done"', 'class="badge none"'), ("3.0", "2.0")):
        assert old in page
        assert digest(walked(page.replace(old, new, 1))) != sealed


def test_no_text_becomes_markup(tell: Tell) -> None:
    """Law: a reason that is a script is shown as text, in the page and in Markdown; direction marks are spelled out."""
    told = tell()
    told.pair.fail("set_role", CommandRejected(ATTACK), on="source")
    told.lead.start()
    story = story_of_run(told)
    page = page_of(story, lines_of(told))
    assert page.count(b"<script") == 3
    assert "<script>alert(1)</script>" in texts(page)
    assert "\u202e" not in page.decode()
    text = markdown_of(story).decode()
    assert "\\<script\\>alert(1)" in text
    assert "\u202e" not in text
    assert not re.search(r"(?<!\\)<", text)


def test_markdown_of_awkward_words() -> None:
    """Law: what Markdown would take for its own is escaped, at the start of a line too."""
    assert escaped("a|b `c` *d* <e>") == "a\\|b \\`c\\` \\*d\\* \\<e\\>"
    assert escaped("- one") == "\\- one"
    assert escaped("1. one") == "\\1. one"


def test_secrets_are_replaced_in_what_is_shown(tell: Tell) -> None:
    """Law: what has become known as a secret is in no text of a document."""
    told = tell()
    told.pair.fail("set_role", CommandRejected("the word is hunter2"), on="source")
    told.lead.start()

    def scrub(text: str) -> str:
        return text.replace("hunter2", "[redacted]")

    story = story_of_run(told)
    assert "hunter2" not in texts(page_of(story, lines_of(told), scrub))
    assert b"hunter2" not in markdown_of(story, scrub)


def test_the_page_asks_nobody(tell: Tell) -> None:
    """Law: its policy allows its own style and script, and no request; it names no other document."""
    told = tell()
    told.lead.start()
    page = page_of(story_of_run(told), lines_of(told)).decode()
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    shown = page.split('<script type="application/x-ndjson"')[0]
    assert not re.search(r'\b(src|href|style|on\w+)="', shown)
    assert "url(" not in shown


def test_bars_of_a_move(tell: Tell) -> None:
    """Law: a bar for each step, and one for the time without an active site, in percent of the whole run."""
    told = tell(depth=300, rate=100)
    told.lead.start()
    [service] = story_of_run(told).services
    steps = [span for span in service.spans if span.kind == "done"]
    assert [span.label for span in steps] == [step.title for step in service.lane.steps]
    [outage] = [span for span in service.spans if span.kind == "no active site"]
    assert service.lane.outage_seconds == pytest.approx(outage.end - outage.start, abs=0.002)
    bars = bars_of(service, told.report().seconds)
    assert len(bars.lower) == 1
    assert all(bar.x >= 0 and bar.x + bar.width <= 100.01 for bar in (*bars.upper, *bars.lower))


def test_what_is_open_is_shown_open(tell: Tell) -> None:
    """Law: of a run whose record has no end the step is under way, the outage is not over, and nothing is called done."""
    told = tell(depth=300, rate=100)

    def is_drain(event: ev.Event) -> bool:
        return isinstance(event, ev.StepStarted) and event.step == "drain"

    stop = pausing(told.lead)
    told.lead.start(observers=[lambda record, run: stop(record, run) if is_drain(record.event) else None])
    [service] = story_of_run(told).services
    kinds = {span.kind: span.is_open for span in service.spans}
    assert kinds["under way"] and kinds["no active site"]
    page = texts(page_of(story_of_run(told), lines_of(told)))
    assert "not over" in page
    assert "not ended by its last record" in page or "paused" in page


def test_commands_and_readings(tell: Tell) -> None:
    """Law: each intent is a command with its answer; what was read again the same is counted, not repeated."""
    told = tell(depth=300, rate=100)
    told.lead.start()
    [service] = story_of_run(told).services
    assert len(service.commands) == service.lane.actions_sent
    assert all(command.effect == "accepted" for command in service.commands)
    asked = sum(len(one.event.seen) for one in told.records() if isinstance(one.event, ev.Observed))
    assert sum(reading.times for reading in service.readings) == asked
    told_twice = [
        (first.site, first.reading)
        for first, second in zip(service.readings, service.readings[1:], strict=False)
        if (first.site, first.reading, first.text) == (second.site, second.reading, second.text)
    ]
    assert not told_twice


def test_a_prediction_stands_beside_what_came(tell: Tell) -> None:
    """Law: a range is what the plan recorded; the drain's follows from what was queued; without one it is unknown."""
    told = tell(depth=300, rate=100)
    expected = (
        ev.Prediction(step="demote", n=7, p05=1.0, p50=2.0, p95=3.0),
        ev.Prediction(n=5, p05=50.0, p50=100.0, p95=200.0),
    )
    told.lead.start(a_plan().model_copy(update={"predictions": expected}))
    story = story_of_run(told)
    [service] = story.services
    steps = {step.id: step for step in service.steps}
    assert steps["activate"].predicted is None
    demote, drain = steps["demote"].predicted, steps["drain"].predicted
    assert demote is not None and (demote.n, demote.low, demote.high) == (7, 1.0, 3.0)
    assert drain is not None and (drain.low, drain.middle, drain.high) == (1.5, 3.0, 6.0)
    summary = {step.id: step for step in story.steps}
    assert (summary["demote"].shorter, summary["drain"].longer, summary["drain"].shorter) == (1, 0, 0)


@pytest.mark.parametrize("total", [0.0, 0.003, 0.9, 1.0, 3.0, 59.0, 3600.0, 90_000.0, 3e6])
def test_an_axis_has_few_marks(total: float) -> None:
    """Law: at most ten marks, whatever a run takes, in their order and inside of the drawing."""
    found = [tick.x for tick in ticks(total)]
    assert 1 <= len(found) <= 10
    assert found == sorted(found)
    assert found[0] >= 0 and found[-1] <= 100


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "unknown"), (0.0, "0.00 s"), (0.02, "20 ms"), (3.44, "3.44 s"), (61.0, "61.0 s"), (125.4, "2 min 05 s")],
)
def test_figures(value: float | None, text: str) -> None:
    """Law: a duration has the digits that a person can use; unknown is said."""
    assert seconds(value) == text


def test_control_the_reader_of_this_test_sees_a_script() -> None:
    """Control: a page into which a text came as markup has one script more."""
    assert texts(b"<p>a</p><script>b</script>") == "ab"
