"""The simulated pairs of declared families in this process, each shared by both of its sites."""

from __future__ import annotations

from simulator.generic.world import GenericWorld
from simulator.world.worlds import Worlds

GENERIC_WORLDS: Worlds[GenericWorld] = Worlds(GenericWorld.load)
