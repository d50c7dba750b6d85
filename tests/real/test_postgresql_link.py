"""The link of a PostgreSQL pair is lost before the standby has everything: the move is rolled back, or
escalated."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.real.cutting import at_risk, cut_in_drain, impatient
from tests.real.places import wait_for
from tests.real.postgresql import Load, Pair, a_pair

pytestmark = [pytest.mark.realtime, pytest.mark.long]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """A pair for all tests; each leaves ny the primary, and nj following."""
    with a_pair() as made:
        yield made


@pytest.mark.parametrize("seed", [1, *(pytest.param(one, marks=pytest.mark.long) for one in range(2, 26))])
def test_rolled_back(pair: Pair, seed: int) -> None:
    """Law: without an answer the move is rolled back: the source takes writes again, and no accepted row is lost."""
    ny, nj = pair.sites.values()
    with Load(pair) as load:
        load.goes_on(50)
        words = ["controlled", "--service", "shop", "--from", "ny", "--yes"]
        words += ["--runbook", impatient(pair.folder, "postgresql/controlled")]
        code, text = cut_in_drain(pair, pair.ways["ny"], words, seed=seed)
        assert code == 5, text
        load.goes_on()
        pair.ways["ny"].heal()
    assert (ny.is_standby, nj.is_standby) == (False, True)
    assert {site for _, site in load.accepted.values()} == {"ny"}
    load.arrives_at(ny, nj)


@pytest.mark.parametrize("seed", [1, *(pytest.param(one, marks=pytest.mark.long) for one in range(2, 26))])
def test_escalated(seed: int) -> None:
    """Law: the lost rows are in the log that an escalation called at risk. The source keeps it, stopped, until an
    operator lets the restore drop it; then it follows."""
    with a_pair() as pair:
        ny, nj = pair.sites.values()
        with Load(pair) as load:
            load.goes_on(50)
            words = ["controlled", "--service", "shop", "--from", "ny", "--yes", "--on-bridge-loss", "escalate"]
            words += ["--runbook", impatient(pair.folder, "postgresql/controlled")]
            code, text = cut_in_drain(pair, pair.ways["ny"], words, seed=seed)
            pair.ways["ny"].heal()
            assert code == 9, text
            load.goes_on()
        lost = load.lost_at(nj)
        assert lost
        assert {load.accepted[number][1] for number in lost} == {"ny"}
        assert at_risk(text, "byte") > 0
        with pytest.raises(psycopg.OperationalError, match="refused"):
            ny.ask("select 1")
        words = ["restore", "--service", "shop", "--site", "ny", "--yes", "--accept-loss", "a copy is kept"]
        code, text = pair.run(*words)
        assert code == 0, text
        assert (ny.is_standby, nj.is_standby) == (True, False)
        wait_for(lambda: load.lost_at(ny) == lost)
