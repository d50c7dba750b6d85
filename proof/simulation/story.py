"""The story of a seed: a world, a run in it, people, and everything that goes wrong. Plain data that can be kept.

A kept story is played unchanged, even if a later version draws another story from its seed. Nothing here runs or decides
anything.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.model.plan import Policy, Waves
from orchestrator.model.runbook import Choice
from simulator.amps.layout import FabricLayout
from simulator.generic.layout import GenericLayout
from simulator.solace.layout import WorldLayout

# The runbook to simulate. A Solace runbook has its plain name, the others have family and name.
Kind = str
# The kinds that are drawn if none is named. Runbooks of families in files are drawn only if they are named.
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
    The effect of each kind:

    - ``kill``: the process dies. The next process starts ``seconds`` later on the same machine, where it can see that the
      holder of the lease is dead. The machine's clock was set meanwhile, and is off by ``clock_s``. With ``elsewhere``,
      the next process starts on another machine, whose clock is off by ``clock_s`` from that of the dead process. If
      ``choice`` is abort, the next process is told to abort the run.
    - ``torn``: the power fails at the process's next write to a file that no other process has open. A part of that write
      is lost.
    - ``pause``: the process is stopped for ``seconds``. Another process, whose clock is off by ``clock_s`` from the first
      one's, tries to take over meanwhile, and dies after ``lives`` instants of its own (None: never). Then the first
      process wakes up.
    - ``race``: another process tries to take the run, and to start a second run, at this moment.
    - ``step``: the machine sleeps for ``seconds``.
    - ``abort``: a person at another terminal aborts the run.
    - ``answer``: a person at another terminal answers every open question with ``choice``. If no question is open, the
      person answers the next question that a person at the first terminal is asked.
    - ``disk full``: the journal has no room until the process ends. It has room again ``seconds`` after that.
    - ``signal``: an interrupt. The process stops at the next safe point, and the next one starts ``seconds`` later.
    - ``journal away``: for ``seconds``, the journal answers no process.
    - ``journal replaced``: the journal's file is gone, and an empty file is in its place.
    - ``beside``: the next of the story's further runs starts or continues now, and dies after ``lives`` instants.
    - ``outside``: nothing happens to the process.
    - ``late word``: a person aborts the run after its end, before the run is resumed.

    ``meanwhile``: the faults of the world from that moment on, in their fault grammar: ``at 2s: role ny active``.
    """

    at: int = Field(ge=1)
    kind: StrikeKind
    near: str = ""
    seconds: float = 0.1
    elsewhere: bool = False
    clock_s: float = 0.0
    lives: int | None = None
    choice: Choice | Literal["abort", ""] = ""
    tear: float = 0.5  # the part of the last write that is on disk, 0 to 1
    meanwhile: tuple[str, ...] = ()


class Omission(_Strict):
    """A family's quirk: it does not report ``field`` of ``reading``, ``times`` times after the first ``skip`` readings. A
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
    """The end of one run of a command. ``effect``: the outcome that its caller knows after ``lasts`` seconds. ``after``:
    the seconds until the command takes effect (None: never)."""

    effect: Literal["accepted", "rejected", "doubtful"] = "accepted"
    lasts: float = 0.1
    after: float | None = 0.0


class FenceCommand(_Strict):
    """The command of a site's fence plan. ``ends``: the ends of its first runs (later runs work correctly). ``silent``:
    the numbers of its checks that give no result. ``closed``: the command has closed the site before."""

    site: str
    ends: tuple[CommandEnd, ...] = ()
    silent: tuple[int, ...] = ()
    closed: bool = False


class OwnCommand(_Strict):
    """A step with the operator's own command, right before the step ``before``. The command can run twice, and its own
    end is its proof. ``ends``: the ends of its first runs. ``has_undo``: another command undoes it."""

    before: str
    ends: tuple[CommandEnd, ...] = ()
    has_undo: bool = True


class Slow(_Strict):
    """Some calls of a site, after the first ``skip``, take ``seconds``. ``after``: the time passes after the device has
    read or obeyed. ``reading``: only calls for that reading; empty: any call."""

    site: str
    seconds: float
    reading: str = ""
    skip: int = 0
    times: int = 1
    after: bool = False


QuirkKind = Literal["mute", "swapped", "broken session", "host key"]


class Quirk(_Strict):
    """A defect in the answers of a site's adapter. It occurs ``times`` times, after the first ``skip`` matching calls.

    ``mute``: an action was obeyed, and its result is missing. ``swapped``: the results of two actions of one request are
    exchanged. ``broken session``: the session is lost after the first action of a request was obeyed. ``host key``: any
    call finds another host key than the known one.
    """

    site: str
    kind: QuirkKind
    skip: int = 0
    times: int = 1


class Person(_Strict):
    """A person at the terminal, who gives the choices in turn, each after ``thinks`` seconds, and then leaves."""

    answers: tuple[str, ...] = ()
    thinks: float = 0.0


class Word(_Strict):
    """The answer of person ``by`` about a plan, ``after`` seconds after the run started. ``of_other_plan``: the answer is
    about another plan, which the person saw before."""

    after: float
    by: str
    choice: Literal["approve", "deny", "break-glass"] = "approve"
    of_other_plan: bool = False
    reason: str = "looked at"


class Sought(_Strict):
    """``needed`` other people have to approve the plan ``within`` seconds. ``words``: their answers."""

    needed: int
    within: float
    break_glass: bool
    words: tuple[Word, ...] = ()


class Part(_Strict):
    """One run. ``haste``: waits of the runbook that take minutes are shortened to seconds. ``outage_ago``: the seconds
    since the fail-over that precedes a restore or a fail-back. ``resumes``: how many times a run that needs an operator
    is resumed, under the policy ``later``, after ``back_after`` seconds. ``between``: the faults of the world during each
    such wait. ``threads``: the run uses both sites at the same time, and this number draws the order of their answers.
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
    ``after_failover``: the run follows a fail-over in this world."""

    wait: float = 1.0
    beside: bool = False
    after_failover: bool = False


class Story(Part):
    """One simulation.

    ``prelude``: faults in the ``wait`` seconds before the run starts. ``faults``: faults that start with the run.
    ``on_disk``: the journal is a real file. ``rehearsed``: a dry run precedes the run. ``secret``: people repeat this
    text in their reasons. ``keyed``: the caller gives the run a key. ``further``: runs besides the first.
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
        """The number of things that go wrong."""
        wrong = (self.faults, self.strikes, self.omissions, self.lags, self.slow, self.quirks)
        return sum(map(len, wrong))


def runbook_of(kind: Kind) -> str:
    """The name of the shipped runbook that a kind plays."""
    return kind if "/" in kind else f"solace/{kind}"


def family_of(kind: Kind) -> str:
    """The family of the devices of a kind."""
    return runbook_of(kind).partition("/")[0]
