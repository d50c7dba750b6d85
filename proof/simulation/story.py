"""What a seed is drawn to: a world, a run in it, people, and everything that goes wrong. Plain data that can be kept.

A kept story is played as it is, whatever a seed is drawn to by then. Nothing here runs or decides anything.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.model.plan import Policy, Waves
from orchestrator.model.runbook import Choice
from simulator.amps.layout import FabricLayout
from simulator.generic.layout import GenericLayout
from simulator.solace.layout import WorldLayout

# The runbook that is played: of Solace by its plain name, of others by family and name.
Kind = str
# Those that are drawn where none is named. Runbooks of families in files are drawn when they are named.
KINDS: tuple[Kind, ...] = (
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
    "repair-standby",
    "repair-active",
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
)
Layout = WorldLayout | FabricLayout | GenericLayout
StrikeKind = Literal[
    "kill",
    "torn",
    "pause",
    "race",
    "step",
    "abort",
    "answer",
    "disk full",
    "signal",
    "journal away",
    "journal replaced",
    "beside",
    "outside",
    "late word",
]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FaultEvent(_Strict):
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
    - ``race``: another one tries to take the run, and to start a second one, right now.
    - ``step``: the machine sleeps for ``seconds``.
    - ``abort``, ``answer``: a person calls the run off, or answers every open question with ``choice``, from elsewhere;
      if there is none, the next one that a person at the desk is asked.
    - ``disk full``: until the process ends there is no room for the journal; ``seconds`` later there is.
    - ``signal``: an interrupt; the process stops at the next safe point, and the next one starts ``seconds`` later.
    - ``journal away``: for ``seconds`` the journal answers no one.
    - ``journal replaced``: the journal's file is gone, and an empty one is in its place.
    - ``beside``: the next of the story's further runs starts, or continues, right now, and dies after ``lives`` instants.
    - ``outside``: nothing happens to the process.
    - ``late word``: a person calls the run off once it has ended, before it is taken up again.

    ``meanwhile``: what happens in the world from that moment on, in the words of its faults: ``at 2s: role ny active``.
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
    meanwhile: tuple[str, ...] = ()


class Omission(_Strict):
    """A family's quirk: it does not report ``field`` of ``reading``, ``times`` times after the first ``skip``; a
    field like ``nodes.clients`` is left out of each of the reading's ``nodes``."""

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


class OwnCommand(_Strict):
    """A step of the operator's own, right before the one called ``before``: a command that can run twice, whose own end
    is its proof. How its first runs end, and does it have a command that undoes it?"""

    before: str
    ends: tuple[CommandEnd, ...] = ()
    has_undo: bool = True


class Slow(_Strict):
    """Some calls of a site, after the first ``skip``, take ``seconds``; ``after``: the device looked, or obeyed, first.
    ``reading``: only calls for that reading; empty: any call."""

    site: str
    seconds: float
    reading: str = ""
    skip: int = 0
    times: int = 1
    after: bool = False


QuirkKind = Literal["mute", "swapped", "broken session", "host key"]


class Quirk(_Strict):
    """What is wrong with the answers of a site's adapter, after the first ``skip`` calls that fit, ``times`` times.

    ``mute``: an action was obeyed, and nothing is reported of it. ``swapped``: the results of two actions of one
    request come in each other's place. ``broken session``: the session is lost once the first action of a request was
    obeyed. ``host key``: the site is not the one that is known by its key; whatever is asked.
    """

    site: str
    kind: QuirkKind
    skip: int = 0
    times: int = 1


class Person(_Strict):
    """A person at the desk: gives the choices in turn, each after ``thinks`` seconds, and is then gone."""

    answers: tuple[str, ...] = ()
    thinks: float = 0.0


class Word(_Strict):
    """What ``by`` says about a plan, so many seconds after the run started. ``of_other_plan``: of what they saw
    before."""

    after: float
    by: str
    choice: Literal["approve", "deny", "break-glass"] = "approve"
    of_other_plan: bool = False
    reason: str = "looked at"


class Sought(_Strict):
    """Others have to agree to the plan, ``needed`` of them ``within`` seconds; what they say."""

    needed: int
    within: float
    break_glass: bool
    words: tuple[Word, ...] = ()


class Part(_Strict):
    """One run. ``haste``: waits of the runbook that take minutes are cut to seconds. ``outage_ago``: the fail-over that a
    restore or a fail-back comes after. ``resumes``: how often a run that needs an operator is taken up again, under
    ``later``, ``back_after`` seconds later; ``between``: what happens in the world meanwhile, each time. ``threads``: the
    sites are spoken to at the same time, and answer in an order that this number draws.
    """

    kind: Kind
    source: str
    services: tuple[str, ...]
    person: Person | None = None
    policy: Policy = Policy()
    later: Policy | None = None
    resumes: int = 0
    back_after: float = 0.0
    between: tuple[str, ...] = ()
    waves: Waves | None = None
    haste: bool = True
    outage_ago: float | None = None
    suspended: bool | None = None
    spool_lost: bool = False
    sought: Sought | None = None
    own: OwnCommand | None = None
    threads: int | None = None
    clock_s: float = 0.0

    @property
    def runbook(self) -> str:
        """The name of the shipped runbook."""
        return runbook_of(self.kind)


class Further(Part):
    """A run after the first one, in the same world: ``wait`` seconds after its end, or, ``beside``, in the middle of it.
    ``after_failover``: it comes after the fail-over that the world has seen."""

    wait: float = 1.0
    beside: bool = False
    after_failover: bool = False


class Story(Part):
    """One simulated night.

    ``prelude``: faults in the ``wait`` seconds before the run starts; ``faults`` start with it. ``on_disk``: the journal
    is a real file. ``rehearsed``: a dry run goes before. ``secret``: what people say has this in it.
    ``keyed``: the run has a key of the caller's own. ``further``: runs besides the first.
    """

    seed: int
    layout: Layout
    prelude: tuple[str, ...] = ()
    wait: float = 0.0
    faults: tuple[str, ...] = ()
    strikes: tuple[FaultEvent, ...] = ()
    omissions: tuple[Omission, ...] = ()
    lags: tuple[Lag, ...] = ()
    slow: tuple[Slow, ...] = ()
    quirks: tuple[Quirk, ...] = ()
    fence: FenceCommand | None = None
    further: tuple[Further, ...] = ()
    on_disk: bool = False
    rehearsed: bool = False
    secret: str = ""
    keyed: bool = False

    @property
    def troubles(self) -> int:
        """How much goes wrong."""
        wrong = (self.faults, self.strikes, self.omissions, self.lags, self.slow, self.quirks)
        return sum(map(len, wrong))


def runbook_of(kind: Kind) -> str:
    """The name of the shipped runbook that a kind of night plays."""
    return kind if "/" in kind else f"solace/{kind}"


def family_of(kind: Kind) -> str:
    """The family of the devices of a kind of night."""
    return runbook_of(kind).partition("/")[0]
