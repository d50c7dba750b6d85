"""What is told of each family whose pair is in network namespaces: who is cut off from whom, and what must hold."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.network.spaces import CUT
from tests.real.distant import Distant
from tests.real.load import Held, Load
from tests.real.places import wait_for


def its_mate_still_hears_it(pair: Distant, load: Load[Any], *move: str) -> None:
    """A source that the operator alone cannot reach is not lost, whatever is attested: the move is refused."""
    with load:
        load.goes_on()
        pair.spaces.spoil("ny", "op", CUT)
        code, text = pair.run("uncontrolled", *move, "--site", "ny", "--attest", "power is off")
        assert (code, "still hears from the failed" in text) == (3, True), text
    assert load.at("nj") == []


def partitioned_and_alive(pair: Distant, load: Load[Any], *move: str, family: str) -> float:
    """Both sites accept from the take-over, whose fence an operator attested, until the guard closes the one that is
    back, and at no other time. Meanwhile nothing is claimed of the site that is not seen. When ny accepted its last."""
    load.goes_on()
    for other in ("op", "nj"):
        pair.spaces.spoil("ny", other, CUT)
    code, text = pair.run("uncontrolled", *move, "--site", "ny", "--attest", "power is off")
    assert code == 0, text
    assert "decided on unfenced: attest" in text
    assert re.search(r"LEFT AT ny: .*unknown", text), text
    assert "nothing was lost" not in text.lower()
    load.goes_on(site="nj")
    load.goes_on(site="ny")  # the fence is a claim: the clients at ny know of nothing
    code, text = pair.run("status")
    assert (code, "unknown" in text, "BOTH ACTIVE" in text) == (4, True, False), text
    with pair.guarding("ny") as said:
        for other in ("op", "nj"):
            pair.spaces.heal("ny", other)
        wait_for(lambda: pair.outcomes(f"{family}/guard") == ["done"])
        until = load.at("ny")[-1]
        wait_for(lambda: load.at("nj")[-1] > until + 1.0)
    assert load.at("ny")[-1] == until
    assert "SO DOES ITS MATE" in said[0]
    return until


def cut_in_a_planned_move(
    pair: Distant,
    load: Load[Any],
    in_order: Callable[[], tuple[Held, Held]],
    *move: str,
    runbook: Path | str,
    seed: int,
    lines: int,
) -> None:
    """Whichever two are cut off from each other, and after whichever of the first ``lines``: one site accepts, the other
    refuses, and nothing accepted is lost. Runs with an odd seed are killed while it is cut, and resumed."""
    chance = random.Random(seed)
    source, target = in_order()
    site, other = chance.choice(pair.spaces.cables)[::-1]
    with load:
        load.goes_on()
        process = pair.start("controlled", *move, "--from", source.name, "--runbook", str(runbook))
        assert process.stdout is not None  # it is a pipe
        for _ in range(chance.randint(3, lines)):
            process.stdout.readline()
        pair.spaces.spoil(site, other, CUT)
        if seed % 2:
            process.stdout.readline()
            process.kill()
        elif other == "op":  # it reads on until it hears again
            process.stdout.readline()
            pair.spaces.heal(site, other)
        said, _ = process.communicate(timeout=600)  # a drain waits for at most 5 minutes
        code = process.returncode
        pair.spaces.heal(site, other)
        if code < 0 or code == 6:
            code, more = pair.run("resume")
            said += more
        assert code in (0, 3, 5) or "no run is unfinished" in said, said
        load.goes_on(site=in_order()[0].name)
    before, after = load.at(source.name), load.at(target.name)
    assert not after or before[-1] < after[0], "both sites accepted"
    load.arrives_at(source, target)
