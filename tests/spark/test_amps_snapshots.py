"""Two exports made of AMPS dumps, reconciled: against what the simulated world knows, and against made-up logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.clock import VirtualClock
from pipeline.amps.collect import collect_dumps, dumps_of
from pipeline.amps.instance import Instance
from pipeline.ask import Ask
from pipeline.collect import Job
from pipeline.engines.duck import Duck
from pipeline.manifest import ServiceSnapshot
from pipeline.moments import moment
from pipeline.reconcile import reconcile
from pipeline.report import EndpointReport, Report, ServiceReport
from pipeline.sides import Side
from simulator.amps.admin.dumps import write_dumps
from simulator.amps.embedded import AWAY, HOME, INSTANCES, SERVICE
from tests.snapshot.amps import async_loss, only_at
from tests.spark.dumps import NOON_MICROS, Kept, Logged, journal_text, sow_text, write
from tests.spark.tables import tables_of

NOON = NOON_MICROS / 1e6

pytestmark = pytest.mark.realtime


def export_of(dumps: Path, site: str, made_at: float) -> str:
    """The export of an instance's dumps."""
    found = dumps_of({SERVICE: Instance.of_dumps(str(dumps))}, made_at)
    out = dumps.with_name(f"export-{site}")
    collect_dumps(found, out, Job(site, [ServiceSnapshot(name=SERVICE)]), VirtualClock(made_at))
    return str(out)


def compared(duck: Duck, left: str, right: str, ask: Ask) -> tuple[Report, dict[str, set[str]]]:
    """The report, and the ids of each class among the messages of logs."""
    outcome = reconcile(duck, Side.open(left), Side.open(right), ask, VirtualClock(NOON))
    found: dict[str, set[str]] = {}
    for row in tables_of(outcome, Path(left).parent).get("differences", []):
        if row["kind"] == "topic":
            found.setdefault(row["class"], set()).add(row["message_id"])
    outcome.close()
    return outcome.report, found


def only_service(report: Report) -> ServiceReport:
    [service] = report.services
    return service


def endpoint(report: Report, kind: str, name: str) -> EndpointReport:
    return next(one for one in report.endpoints if (one.kind, one.name) == (kind, name))


def test_a_loss_in_the_simulated_world(duck: Duck, tmp_path: Path) -> None:
    """What the link had not carried over when New York died is found, message by message, and its number is the
    recovery point; order and contents agree, since it is the same world."""
    clock = VirtualClock(NOON)
    world, died_at = async_loss(tmp_path / "lab", clock)
    exports = []
    for site in (HOME, AWAY):
        write_dumps(world, INSTANCES[site], tmp_path / site)
        exports.append(export_of(tmp_path / site, site, clock.now()))
    ask = Ask(active="right", failover_at=moment(died_at, "here"), clock_skew_s=0.0)
    report, found = compared(duck, exports[0], exports[1], ask)
    lost, newer = only_at(world, HOME), only_at(world, AWAY)
    assert lost
    assert found == {"missing": lost, "extra": newer}
    service = only_service(report)
    assert (service.rpo.how, service.rpo.low, service.verdict) == ("proven", len(lost), "not-safe")
    assert sum(one.changed + one.order_breaks for one in report.endpoints if one.kind == "topic") == 0
    assert {one.code for one in report.findings} >= {"missing", "extra", "sow-differs", "failback"}


def logs(folder: Path, numbers: range, records: range | None = None) -> Path:
    """An instance whose log has these messages of one publisher, a second apart."""
    entries = [Logged(n, "77", n, b"%d" % n, at_s=float(n)) for n in numbers]
    write(folder / "journal" / "0.txt", journal_text(entries))
    if records is not None:
        write(
            folder / "sow" / "orders.json.txt", sow_text([Kept(n + 1, n, b"%d" % n, at_s=float(n)) for n in records])
        )
    return folder


def of_other_ages(folder: Path) -> tuple[Path, Path]:
    """Dumps of two instances: right's log begins later and ends earlier, and its SOW was not dumped."""
    return logs(folder / "a", range(1, 101), range(3)), logs(folder / "b", range(31, 96))


def test_logs_of_other_ages_and_a_sow_that_was_not_dumped(duck: Duck, tmp_path: Path) -> None:
    """What is older than the other log may have been in it: it is said so, bounds the recovery point, and is neither
    a loss nor safe. So is what came after the other dump. A SOW that one side did not dump is no loss of its records."""
    here, there = of_other_ages(tmp_path)
    left, right = export_of(here, "ny", NOON + 110), export_of(there, "nj", NOON + 95)
    ask = Ask(active="right", failover_at=NOON + 94, clock_skew_s=0.0)
    report, found = compared(duck, left, right, ask)
    assert found == {"missing": {f"77|{n}" for n in [*range(1, 31), *range(96, 101)]}}
    assert endpoint(report, "topic", "orders (json)").missing.by_why == {"aged-out": 30, "after-snapshot": 5}
    assert endpoint(report, "sow", "orders (json)").missing.by_why == {"not-dumped": 3}
    service = only_service(report)
    assert (service.verdict, service.rpo.how, service.rpo.low, service.rpo.high) == ("unknown", "bounded", 0, 30)
    assert service.rpo.reasons == ("30 messages are older than the active site's log and may have been in it",)


def test_equal_logs_are_safe_and_unread_pieces_are_not(duck: Duck, tmp_path: Path) -> None:
    """Equal logs and records are safe to go back to; with a piece that could not be read nothing is."""
    left = export_of(logs(tmp_path / "a", range(1, 51), range(5)), "ny", NOON + 60)
    right = export_of(logs(tmp_path / "b", range(1, 51), range(5)), "nj", NOON + 60)
    report, found = compared(duck, left, right, Ask(active="right", failover_at=NOON + 94))
    assert (only_service(report).verdict, found) == ("safe", {})
    text = (tmp_path / "b" / "journal" / "0.txt").read_bytes()
    (tmp_path / "c" / "journal").mkdir(parents=True)
    (tmp_path / "c" / "journal" / "0.txt").write_bytes(text.replace(b"client seq ", b"client sex ", 1))
    worse = export_of(tmp_path / "c", "la", NOON + 60)
    report, found = compared(duck, left, worse, Ask(active="right", failover_at=NOON + 94))
    service = only_service(report)
    assert (service.rpo.how, found) == ("unknown", {"missing": {"77|1"}})
    assert service.verdict != "safe"
    assert "orders (json) were not read in full at both sites" in service.reasons
