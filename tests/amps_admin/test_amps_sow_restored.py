"""After a bootstrap: an instance whose SOW lacks records is no fail-over target (docs/sources/amps.md, 9.8 and
3.5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.amps.offers.sow_complete import sow_reasons
from adapters.amps.reading_models import Bootstrap, Sow, SowTopic
from orchestrator.model.events import Outcome
from orchestrator.model.runbook import Choice
from simulator.amps.layout import BootstrapLayout, FabricLayout
from tests.amps_admin.instance import answer, told
from tests.amps_admin.stage import Stage
from tests.amps_admin.test_amps_scenarios import LDN, NY, ended
from tests.amps_admin.world_pair import HOME, Way, WorldPair

DEAD: dict[str, Choice] = {"unfenced": "attest"}


def many_records(data: str) -> object:
    """Each order is a record of its own, the log keeps 20 s of them, and a bootstrap fetches ``data``."""

    def alter(layout: FabricLayout) -> FabricLayout:
        publishers = tuple(one.model_copy(update={"keys": 3_000, "rate": 4.0}) for one in layout.publishers)
        instances = tuple(
            one.model_copy(
                update={
                    "retention": 20.0,
                    "journal_messages": 20,
                    "bootstrap": BootstrapLayout.model_validate({"servers": [mate], "data": data.split(",")}),
                }
            )
            for one, mate in zip(layout.instances, (LDN, NY), strict=True)
        )
        return layout.model_copy(update={"publishers": publishers, "instances": instances})

    return alter


def returned(
    tmp_path: Path, way: Way, data: str, policy: dict[str, Choice]
) -> tuple[WorldPair, tuple[Outcome | None, str]]:
    """New York lost all its files after a minute, and comes back by bootstrap."""
    pair = WorldPair(tmp_path, way, queues=False, alter=many_records(data))  # type: ignore[arg-type]
    pair.wait(60)
    pair.kill(HOME)
    assert ended(pair.lead("amps/uncontrolled", source=HOME, policy=DEAD))[0] is Outcome.DONE
    pair.lose(HOME)
    pair.start(HOME)
    return pair, ended(pair.lead("amps/restore-bootstrap", source=HOME, policy={"bootstrap": "attest", **policy}))


def missing(pair: WorldPair) -> int:
    return len(pair.world.records(LDN, "orders").keys() - pair.world.records(NY, "orders").keys())


@pytest.mark.parametrize("way", ["in process", "over HTTP"])
def test_a_bootstrap_without_the_sow_is_not_whole(tmp_path: Path, way: Way) -> None:
    """Law: a Bootstrap that fetches the log alone leaves out records whose messages have left it: unattended the run
    stops before clients are let in, and names the topic with both numbers."""
    pair, (outcome, why) = returned(tmp_path, way, "txlog", {})
    assert missing(pair) > 50
    assert outcome in (Outcome.NEEDS_OPERATOR, Outcome.REFUSED)
    assert "do not show that every record was restored: orders:" in why
    assert "--accept-sow TEXT" in why
    assert not any("ny enable" in command for command in pair.commands[1:])
    pair.end()


def test_missing_records_are_accepted_by_name(tmp_path: Path) -> None:
    """Law: a person may accept that records are missing; then it returns as any other."""
    pair, (outcome, why) = returned(tmp_path, "in process", "txlog", {"sow-incomplete": "accept"})
    assert (outcome, why) == (Outcome.DONE, "")
    pair.end()


def test_new_records_all_the_time_are_asked_about(tmp_path: Path) -> None:
    """Law: where the numbers cannot meet, because records are added while they are read, nothing is claimed: the question
    has both numbers. (Where records are updated they meet: ``test_a_return_by_bootstrap``.)"""
    pair, (outcome, why) = returned(tmp_path, "over HTTP", "sow,txlog", {})
    assert missing(pair) < 100
    assert outcome is Outcome.DONE or ("records here" in why and "records at its mate" in why)
    pair.end()


def sow(**records: int | None) -> Sow:
    return Sow(
        items=tuple(SowTopic(topic=name, message_type="json", records=number) for name, number in records.items())
    )


@pytest.mark.parametrize(
    ("here", "there", "reasons"),
    [
        (sow(a=3, b=0), sow(a=3, b=0), []),
        (sow(a=3, own=9), sow(a=3), []),
        (sow(a=2), sow(a=3), ["a: 2 records here, 3 records at its mate"]),
        (sow(a=4), sow(a=3), ["a: 4 records here, 3 records at its mate"]),
        (sow(), sow(a=3), ["a: an unknown number of records here, 3 records at its mate"]),
        (sow(a=None), sow(a=3), ["a: an unknown number of records here, 3 records at its mate"]),
        (sow(a=3), sow(a=None), ["a: 3 records here, an unknown number of records at its mate"]),
        (
            sow(a=None),
            sow(a=None),
            ["a: an unknown number of records here, an unknown number of records at its mate"],
        ),
        (Sow(), sow(a=1), ["the number of records in the SOW topics is unknown"]),
        (sow(a=1), Sow(), ["the number of records in the SOW topics is unknown"]),
    ],
)
def test_what_a_sow_lacks(here: Sow, there: Sow, reasons: list[str]) -> None:
    """Law: each topic of the mate has as many records here; what is unknown is never the same."""
    assert sow_reasons(here, there) == reasons


@pytest.mark.parametrize(
    ("empty", "records", "holds", "waiting"),
    [
        (False, 0, True, False),
        (True, 5, True, False),
        (True, 0, False, True),
        (True, None, None, True),
        (None, 5, True, False),
        (None, 0, None, None),
        (False, None, True, False),
    ],
)
def test_a_source_may_hold_a_log_or_a_sow(
    empty: bool | None, records: int | None, holds: bool | None, waiting: bool | None
) -> None:
    """Law: a mate with an empty log and a SOW that is not can be fetched from; with neither it cannot
    (docs/sources/amps.md, 3.5)."""
    found = Bootstrap(configured=True, empty=empty, records=records)
    assert (found.holds, found.waiting) == (holds, waiting)


def test_records_of_the_statistics() -> None:
    """Law: ``valid_keys`` by topic; a list that is not there is empty only where the configuration has no SOW topic."""
    stage = Stage()
    assert stage.read("sow") == Sow(items=())
    rows = [{"id": "a!json", "topic": "a", "message_type": "json", "valid_keys": "7"}, {"id": "b!json", "topic": "b"}]
    stage.one.answers["/amps/instance/sow.json"] = answer(200, told(sow=rows))
    assert stage.read("sow") == Sow(
        items=(SowTopic(topic="a", message_type="json", records=7), SowTopic(topic="b", records=None))
    )
    topic = "<Topic><Name>a</Name><MessageType>json</MessageType><Key>/id</Key></Topic></SOW>"
    stage.one.answers["/amps/instance/sow.json"] = answer(404, "no such node")
    stage.one.answers["/amps/instance/config.xml"] = answer(200, stage.one.config.replace("</SOW>", topic))
    assert stage.read("sow") == Sow(items=None)
