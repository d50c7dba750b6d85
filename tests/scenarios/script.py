"""A scenario as a folder of plain files, and nothing else: what the files may say.

``scenario.yaml`` says what it shows and in which world. Each phase (the folder itself, or its sub-folders in the
order of their names) has ``plan.yaml``, ``expect.yaml`` and perhaps ``faults.txt``. A word that is not known here is
refused with file and line. Nothing here runs anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from orchestrator.documents.loader import read_document
from orchestrator.model.plan import Outcome, Policy, Waves
from orchestrator.model.reading import Bounds
from orchestrator.model.runbook import Choice, Duration
from simulator.solace.faults import Fault, read_faults
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout

CASES = Path(__file__).parent / "cases"
SINGLE = {"ny": ("NY_Appliance1",), "nj": ("NJ_Appliance1",)}
PAIRS = {"ny": ("NY_Appliance1", "NY_Appliance2"), "nj": ("NJ_Appliance1", "NJ_Appliance2")}

Number = int | float | Bounds
RoleWord = Literal["active", "standby"]
Way = Literal["mock", "solace-cli", "solace-semp"]
WAYS: tuple[Way, ...] = get_args(Way)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WorldText(_Strict):
    """A world; what is not said is as ``WorldLayout`` has it. ``ha``: each site is a pair of nodes."""

    ha: bool = False
    vpns: tuple[VpnLayout, ...] = Field(min_length=1)
    active: str = ""
    latency: float = 0.002
    link_latency: float = 0.005
    window: int = 255
    redial: float = 1.0
    reconnect: float = 1.0
    ack_batch: int = 20
    ack_after: float = 1.0
    takeover: float = 2.0
    congested: int = 1_000
    seed: int = 1

    @property
    def layout(self) -> WorldLayout:
        """The two sites and what runs between them."""
        nodes = PAIRS if self.ha else SINGLE
        one, other = (SiteLayout(name, names, self.latency) for name, names in nodes.items())
        said = {name: getattr(self, name) for name in self.model_fields_set - {"ha", "latency"}}
        return WorldLayout(sites=(one, other), **said)


class SceneFile(_Strict):
    """``scenario.yaml``. ``about``: the law it shows, one sentence. ``editions``: how the lab's appliances speak, which
    the adapter in process does not hear. ``ways``: how the sites may be spoken to."""

    about: str = Field(min_length=20)
    world: WorldText
    editions: tuple[str, ...] = ()
    ways: tuple[Way, ...] = WAYS


class CallOff(_Strict):
    """Somebody calls the run off: once ``on`` is recorded (``step.started drain``), or, without, before it goes on."""

    on: str = ""
    reason: str = "the run is over"


class OutageText(_Strict):
    """A fail-over that no record tells of: how long ago it was."""

    ago: Duration
    suspended: bool | None = None
    spool_lost: bool = False


class PlanFile(_Strict):
    """``plan.yaml``: what is begun, or gone on with, and who is there.

    ``wait`` passes between the faults of the phase and its beginning, ``settle`` between its end and the account.
    ``answers``: a person is there, who answers to a gate (``xa``, or ``xa XID``) with these choices in turn, and then
    leaves; with no answers at all the person just watches. Each takes ``thinks`` long.
    ``outage``: what a restore or a fail-back comes after; ``recorded`` looks for it as the command line does.
    """

    runbook: str = ""
    resume: bool = False
    source: str = "ny"
    services: tuple[str, ...] = ()
    policy: Policy | None = None
    answers: Mapping[str, tuple[Choice, ...]] | None = None
    thinks: Duration = 0.0
    call_off: CallOff | None = None
    outage: OutageText | Literal["recorded"] | None = None
    waves: Waves | None = None
    wait: Duration = 0.0
    settle: Duration = 20.0

    @model_validator(mode="after")
    def _one_beginning(self) -> PlanFile:
        if bool(self.runbook) == self.resume:
            raise ValueError("a phase begins a runbook, or resumes the run before it")
        return self


class AccountText(_Strict):
    """What the world's own account must say at the end; what is not mentioned may be anything.

    ``both_active`` counts intervals with two active sites, ``mixed`` transactions with two outcomes. ``outage_s``:
    seconds with no active site, all together.
    """

    lost: Number | None = None
    stranded: Number | None = None
    duplicated: Number | None = None
    out_of_order: Number | None = None
    waiting: Number | None = None
    both_active: Number = 0
    mixed: Number = 0
    outage_s: Number | None = None


class LaneText(_Strict):
    """One service's end. ``reason``: part of what is said. ``roles``: of the world, at the end. ``decisions`` taken:
    all of them, as ``gate: choice`` or ``gate item: choice``, in order. ``steps``: the state of those mentioned.
    ``effects``: every changing command that changed something, with how often; ``ny set_role standby: 1``.
    ``recorded``, ``unrecorded``: kinds of events that must be, or must not be, in the record, perhaps with a step or
    a gate (``drain.stalled drain``).
    """

    outcome: Outcome | None
    reason: str = ""
    roles: Mapping[str, RoleWord] = Field(default_factory=dict)
    account: AccountText = AccountText()
    decisions: tuple[str, ...] = ()
    steps: Mapping[str, str] = Field(default_factory=dict)
    at_risk: Number | None = None
    effects: Mapping[str, int] | None = None
    recorded: tuple[str, ...] = ()
    unrecorded: tuple[str, ...] = ()


class ExpectFile(_Strict):
    """``expect.yaml``. ``seconds``: how long the run took."""

    exit: int
    seconds: Number | None = None
    lanes: Mapping[str, LaneText]


@dataclass(frozen=True, slots=True)
class Phase:
    """One run, or one more process that goes on with it."""

    name: str
    plan: PlanFile
    expect: ExpectFile
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A world and what is done in it."""

    name: str
    scene: SceneFile
    phases: tuple[Phase, ...]


def scenarios(folder: Path = CASES) -> list[str]:
    """The names of all scenarios, sorted."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def read_scenario(name: str, folder: Path = CASES) -> Scenario:
    """The scenario of that name. Raises ``DefinitionError`` with file and line."""
    home = folder / name
    scene = read_document(home / "scenario.yaml", SceneFile).result()
    folders = sorted(path for path in home.iterdir() if path.is_dir()) or [home]
    return Scenario(name, scene, tuple(_read_phase(path) for path in folders))


def _read_phase(folder: Path) -> Phase:
    faults = folder / "faults.txt"
    return Phase(
        folder.name,
        read_document(folder / "plan.yaml", PlanFile).result(),
        read_document(folder / "expect.yaml", ExpectFile).result(),
        read_faults(faults) if faults.exists() else (),
    )
