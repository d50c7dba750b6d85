"""Alerts as events and as lines for a person. None of this needs Spark."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from orchestrator.model.readings import Role
from orchestrator.notifications.message import message_of
from pipeline.watch.alerts import ALARMS, SOURCE, Alert, Line, alert_line, alert_of, standing_line, unusable_alert
from pipeline.watch.arrivals import Event
from pipeline.watch.course import Course, Kind, Read
from pipeline.watch.link import LinkKind
from tests.spark.looking import NIGHT, RULES, START, File, Seen, file_of, fold_all, night

PAGE = (Path(__file__).parents[2] / "docs/how-to/pipeline-watch.md").read_text(encoding="utf-8")
KINDS: tuple[Kind, ...] = get_args(Kind)
LINE = Line("x.jsonl", 3, START)


def alerts() -> list[Alert]:
    """Those of the night, one that is late and one that is no reading."""
    files = night()
    files[40] = replace(files[40], arrives=files[40].arrives + 200)
    return fold_all([*files, File("half.jsonl", 5.0, "half")]).alerts


def test_the_envelope_is_that_of_hooks() -> None:
    """Law: an alert has the attributes that a webhook's event has, in the same form."""
    line = {"run": "r", "seq": 1, "at": START, "lane": "Trading_VPN", "event": '{"kind":"step.done"}'}
    hook = json.loads(message_of(line, simulated=False, scrub=lambda data: data).cloud_event())
    for alert in alerts():
        whole = dict(alert)
        assert set(whole) == set(hook) - (set() if "subject" in whole else {"subject"})
        assert (whole["specversion"], whole["source"]) == ("1.0", SOURCE)
        assert whole["type"] == f"io.failover.{whole['data']['event']['kind']}"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", whole["time"])
        assert whole.get("subject") == whole["data"]["service"]


def test_no_two_have_one_identity() -> None:
    """Law: source and id are one alert's alone, and the same when it is made again."""
    names = [alert["id"] for alert in alerts()]
    assert len(set(names)) == len(names) > len(NIGHT)
    assert sorted(names) == sorted(alert["id"] for alert in alerts())


def test_the_example_of_the_page() -> None:
    """Law: what docs/how-to/pipeline-watch.md shows is what is written."""
    [block] = [one for one in re.findall(r"^```json\n(.*?)^```", PAGE, re.M | re.S) if "drain.stalled" in one]
    shown = json.loads(block)
    seen = [Seen(10.0 * n, 5_000 - 50 * min(n, 20), look=f"x-{n}") for n in range(40)]
    seen[33] = replace(seen[33], look=shown["data"]["event"]["look"])
    [made] = fold_all([file_of([one]) for one in seen]).alerts
    event = made["data"]["event"]
    made["data"] |= {"simulated": False, "event": {name: event[name] for name in shown["data"]["event"]}}
    assert made == shown


def test_every_kind_stands_on_the_page() -> None:
    """Law: the page has each kind of alert, and no other."""
    table = PAGE.split("| alert | when |")[1].split("\n\n")[0]
    assert set(re.findall(r"`([a-z]+\.[a-z-]+)`", table)) == {*KINDS, *get_args(LinkKind), "reading.unusable"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_for_a_person(kind: Kind) -> None:
    """Law: each alert is a sentence with time, service and site; what is to be acted upon stands out; a simulated site
    is called so."""
    course = Course()
    for number in range(2):
        list(course.arrive(Read(START + number, str(number), True, Role.ACTIVE, True, 5, 90.0, 100.0, True), RULES))
    event = Event(kind, course.figures(RULES))
    words = alert_line(alert_of(event, "ny", "Trading_VPN", LINE, RULES))
    mark = "! " if kind in ALARMS else ""
    assert re.match(rf"2026-11-20T03:00:01Z SIMULATED  Trading_VPN at ny: {mark}[A-Za-z]", words)
    assert "None" not in words


def test_a_line_that_is_no_reading() -> None:
    """Law: it is named with its place, and of its text no more is told than a person reads."""
    alert = unusable_alert(LINE, "Invalid JSON", "x" * 5_000)
    assert alert_line(alert) == "2026-11-20T03:00:00Z ! line 3 of x.jsonl is not a reading: Invalid JSON"
    assert len(json.dumps(alert)) < 1_000


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "5 messages, 90.0 MB, 90.0% full, rate not known yet, the mate's bridge is bound"),
        ({"messages": None, "usage_mb": None, "failure": "no answer"}, "UNKNOWN: no answer"),
        ({"messages": None}, "an unknown number of messages, 90.0 MB"),
    ],
)
def test_how_a_service_stands(changes: dict[str, Any], words: str) -> None:
    """Law: in the words of `failover watch`; what is not known is said to be unknown, never 0."""
    read = Read(START, "x", False, Role.ACTIVE, True, 5, 90.0, 100.0, True)
    course = Course(is_stalled=True)
    list(course.arrive(replace(read, **changes), RULES))
    line = standing_line(course, "ny", "Trading_VPN", RULES)
    assert line.startswith(f"2026-11-20T03:00:00Z Trading_VPN at ny: {words}")
    assert line.endswith("[drain.stalled]")
