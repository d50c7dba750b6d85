"""Engines that are broken on purpose, to show that the simulation would notice.

``python -m proof.mutants`` hunts them all, and tells the seed that catches each.
"""

from proof.mutants.acting import ACTING
from proof.mutants.deciding import DECIDING
from proof.mutants.letting_in import LETTING_IN
from proof.mutants.recording import RECORDING
from proof.mutants.swapping import Mutant as Mutant
from proof.mutants.swapping import broken_by as broken_by

MUTANTS: tuple[Mutant, ...] = (*RECORDING, *ACTING, *DECIDING, *LETTING_IN)
