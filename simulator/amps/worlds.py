"""The simulated AMPS worlds of this process, each shared by both of its sites."""

from __future__ import annotations

from simulator.amps.world import AmpsWorld
from simulator.world.worlds import Worlds

AMPS_WORLDS: Worlds[AmpsWorld] = Worlds(AmpsWorld.load)
