"""What a seed is drawn to: a world, a run in it, people, and everything that goes wrong. Plain data that can be kept.

A kept story is played as it is, whatever a seed is drawn to by then. Nothing here runs or decides anything.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from adapters.mock.amps.layout import FabricLayout
from adapters.mock.layout import WorldLayout
from orchestrator.plan import Policy, Waves
from orchestrator.runbook import Choice

# The runbooks that are played: those of Solace by their plain names, others by family and name.
Kind = Literal[
    "controlled",
    "uncontrolled",
    "uncontrolled-isolated",
    "uncontrolled-commanded",
    "restore",
    "restore-commanded",
    "failback",
    "guard",
    "guard-standby",
    "suspend",
    "amps/controlled",
    "amps/controlled-async",
    "amps/uncontrolled",
    "amps/uncontrolled-async",
    "amps/restore",
    "amps/restore-bootstrap",
    "amps/failback",
    "amps/failback-async",
    "amps/proxied-transfer",
    "amps/guard",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
Layout = WorldLayout | FabricLayout
StrikeKind = Literal["kill", "torn", "pause", "race", "step", "abort", "answer", "disk full"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Strike(_Strict):
    """Something that happens to a process at an instant: before or after a write of the journal or a device's call.

    ``at`` counts the instants of all processes from 1, or, with ``near``, those at which a call of that name is made.
    What each kind does:

    - ``kill``: the process is gone. The next one comes ``seconds`` later, on the same machine (it can see that the
      holder of the lease is dead), whose clock was set meanwhile and is off by ``clock_s``, or, ``elsewhere``, on
      another one, its clock off by ``clock_s`` from that of the dead one; ``choice`` abort: it is told to call the run
      off.
    - ``torn``: the power goes at its next write to a file that no other process has open, and a part of that is gone.
    - ``pause``: it is stopped for ``seconds``. Another one, its clock off by ``clock_s`` from its own, tries to take over
      meanwhile, and dies after ``lives`` instants of its own (None: never). Then the first one wakes up.
    - ``race``: another one tries to take the run, and to begin a second one, right now.
    - ``step``: the machine sleeps for ``seconds``.
    - ``abort``, ``answer``: somebody calls the run off, or answers every open question with ``choice``, from elsewhere;
      if there is none, the next one that somebody at the desk is asked.
    - ``disk full``: until the process ends there is no room for the journal; ``seconds`` later there is.
    """

    at: int = Field(ge=1)
    kind: StrikeKind
    near: str = ""
    seconds: float = 0.1
    elsewhere: bool = False
    clock_s: float = 0.0
    lives: int | None = None
    choice: Choice | Literal["abort", ""] = ""
    tear: float = 0.5  # which part of the last write is on disk


class Omission(_Strict):
    """A family's quirk: it does not tell ``field`` of ``reading``, ``times`` times after the first ``skip``; a field like
    ``nodes.clients`` is left out of each of the reading's ``nodes``."""

    reading: str
    field: str
    skip: int = 0
    times: int = 1


class Lag(_Strict):
    """The management of ``site`` shows everything as it was up to ``seconds`` ago."""

    site: str
    seconds: float


class CommandEnd(_Strict):
    """How one run of a command ends: what its caller knows after ``lasts`` seconds, and after how many it took effect
    (None: never)."""

    effect: Literal["accepted", "rejected", "doubtful"] = "accepted"
    lasts: float = 0.1
    after: float | None = 0.0


class FenceCommand(_Strict):
    """The command of a site's fence plan: how its first runs end (later ones do what they should), which of its checks
    say nothing, and whether it has ``closed`` the site before."""

    site: str
    ends: tuple[CommandEnd, ...] = ()
    silent: tuple[int, ...] = ()
    closed: bool = False


class Person(_Strict):
    """Somebody at the desk: gives the choices in turn, each after ``thinks`` seconds, and is then gone."""

    answers: tuple[str, ...] = ()
    thinks: float = 0.0


class Story(_Strict):
    """One simulated night.

    ``prelude`` are faults that happen in the ``wait`` seconds before the run begins, ``faults`` begin with it.
    ``haste``: waits of the runbook that take minutes are cut to seconds. ``outage_ago``: the fail-over a restore or a
    fail-back comes after. ``resumes``: how often a run that needs an operator is taken up again, under ``later``.
    ``on_disk``: the journal is a real file. ``rehearsed``: a dry run goes before.
    """

    seed: int
    kind: Kind
    layout: Layout
    source: str
    services: tuple[str, ...]
    prelude: tuple[str, ...] = ()
    wait: float = 0.0
    faults: tuple[str, ...] = ()
    strikes: tuple[Strike, ...] = ()
    omissions: tuple[Omission, ...] = ()
    lags: tuple[Lag, ...] = ()
    fence: FenceCommand | None = None
    person: Person | None = None
    policy: Policy = Policy()
    later: Policy | None = None
    resumes: int = 0
    waves: Waves | None = None
    haste: bool = True
    outage_ago: float | None = None
    suspended: bool | None = None
    spool_lost: bool = False
    on_disk: bool = False
    rehearsed: bool = False
    clock_s: float = 0.0

    @property
    def runbook(self) -> str:
        """The name of the shipped runbook."""
        return runbook_of(self.kind)

    @property
    def troubles(self) -> int:
        """How much goes wrong."""
        return len(self.faults) + len(self.strikes) + len(self.omissions) + len(self.lags)


def runbook_of(kind: Kind) -> str:
    """The name of the shipped runbook that a kind of night plays."""
    return kind if "/" in kind else f"solace/{kind}"


def family_of(kind: Kind) -> str:
    """The family of the devices of a kind of night."""
    return runbook_of(kind).partition("/")[0]
