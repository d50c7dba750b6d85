"""A planned move whose orchestrator is killed, and resumed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from tests.real.commands import Operator
from tests.real.load import Held, Load


def killed_and_resumed(
    pair: Operator,
    load: Load[Any],
    in_order: Callable[[], tuple[Held, Held]],
    *move: str,
    seed: int,
    lines: int,
    once: bool = False,
) -> None:
    """Killed after whichever of the first ``lines`` it says, the move ends with one active site, and without a lost
    number. ``in_order``: the active site first."""
    chance = random.Random(seed)
    source, target = in_order()
    with load:
        load.goes_on()
        process = pair.start("controlled", *move, "--from", source.name)
        assert process.stdout is not None  # it is a pipe
        for _ in range(chance.randint(4, lines)):
            process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.1))
        process.kill()
        process.communicate()
        code, text = pair.run("resume")
        assert code in (0, 5) or "no run is unfinished" in text, text
        load.goes_on(site=in_order()[0].name)
    assert len(load.sites_in_order) <= 2
    load.arrives_at(source, target, once=once)
