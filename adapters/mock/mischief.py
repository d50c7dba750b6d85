"""What makes scripted faults happen: matches what the world sees with the faults it was given.

Triggers look at the request and at the state of the world, never at anything a runbook or an engine knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, assert_never

from adapters.mock.appliance import Refused
from adapters.mock.faults import (
    AnswerFault,
    BridgeFault,
    Fault,
    ManagerFault,
    RoleFault,
    SiteFault,
    When,
    parse_fault,
)
from adapters.mock.side import FOREVER
from adapters.mock.vpn import Vpn
from orchestrator.errors import DefinitionError

if TYPE_CHECKING:
    from adapters.mock.world import World


@dataclass(frozen=True, slots=True)
class Seen:
    """Something asked of a site. ``name``: the reading (replication, replication_queue, transactions, redundancy) or
    the action (set_role, complete_transaction, delete_transaction); ``vpns``: the message VPNs it is about.
    """

    kind: Literal["login", "read", "command"]
    site: str
    name: str = ""
    vpns: Sequence[str] = ()
    args: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Armed:
    fault: Fault
    given_at: float
    fired_at: float | None = None


class Mischief:
    """The faults of one world, and which of them have happened."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._armed: list[_Armed] = []

    def give(self, faults: Iterable[Fault]) -> None:
        """Arm faults. Raises ``DefinitionError`` when one names what the world does not have."""
        given = list(faults)
        coming = {one.what.xid for one in given if isinstance(one.what, ManagerFault) and one.what.verb == "prepares"}
        for fault in given:
            problem = self._misnamed(fault, coming)
            if problem:
                raise DefinitionError(f"{fault.text!r}: {problem}")
        for fault in given:
            self._armed.append(_Armed(fault, self._world.now()))
            if fault.when.phase == "at":
                self._world.plan(self._world.now() + fault.when.after, "fault", [len(self._armed) - 1, None])

    def notice(self, seen: Seen) -> None:
        """Set off the state faults that wait for ``seen``; raises ``Refused`` for a fault that refuses it."""
        if not self._armed:
            return
        refusal: Fault | None = None
        for index, armed in enumerate(self._armed):
            what = armed.fault.what
            if isinstance(what, AnswerFault):
                if what.kind == "refuse" and self._hits(armed, seen) is not None:
                    refusal = armed.fault
            elif armed.fired_at is None:
                vpn = self._hits(armed, seen)
                if vpn is not None:
                    self._world.plan(self._world.now() + armed.fault.when.after, "fault", [index, vpn or None])
        self._world.let_due_happen()
        if refusal is not None:
            raise Refused("the command is refused by the simulated node")

    def answer(self, seen: Seen) -> AnswerFault | None:
        """What goes wrong with the answer to ``seen``; a refusal is not of the answer but of the node."""
        for armed in self._armed:
            what = armed.fault.what
            if isinstance(what, AnswerFault) and what.kind != "refuse" and self._hits(armed, seen) is not None:
                return what
        return None

    def strike(self, index: int, vpn: str | None) -> None:
        """A state fault happens now, to one VPN or to all."""
        armed = self._armed[index]
        armed.fired_at = self._world.now()
        what = armed.fault.what
        if isinstance(what, AnswerFault):
            return
        if isinstance(what, SiteFault):
            self._disturb_site(what)
            return
        for one in self._world.affected(vpn):
            self._disturb(one, what)
            one.settle()

    def _hits(self, armed: _Armed, seen: Seen) -> str | None:
        """The VPN that a fault hits because of ``seen`` ("" for all); None when it does not fit, or is over."""
        what, now = armed.fault.what, self._world.now()
        lasts = what.lasts if isinstance(what, AnswerFault) else None
        if armed.fired_at is not None and (lasts is None or now >= armed.fired_at + lasts):
            return None
        if isinstance(what, AnswerFault) and not _can_go_wrong(what, seen):
            return None
        vpn = self._trigger(armed.fault.when, seen)
        if vpn is not None and armed.fired_at is None:
            armed.fired_at = now
        return vpn

    def _trigger(self, when: When, seen: Seen) -> str | None:
        if when.phase in ("any", "login", "reads"):
            fits = when.phase == "any" or seen.kind == {"login": "login", "reads": "read"}[when.phase]
            named = when.vpn is None or when.vpn in seen.vpns
            first = when.vpn or next((name for name in seen.vpns if self._world.has_vpn(name)), "")
            return first if fits and named else None
        for name in seen.vpns:
            if when.vpn in (None, name) and self._world.has_vpn(name):
                vpn = self._world.vpn(name)
                if when.phase == _phase(vpn, seen):
                    return name
        return None

    def _disturb(self, vpn: Vpn, what: BridgeFault | RoleFault | ManagerFault) -> None:
        now = vpn.at
        match what:
            case BridgeFault(kind="down"):
                vpn.conditions.cut_until = _until(now, what.lasts)
            case BridgeFault(kind="stall"):
                vpn.conditions.stalled_until = _until(now, what.lasts)
            case BridgeFault():
                vpn.conditions.slow_until, vpn.conditions.slow_factor = _until(now, what.lasts), what.factor
            case RoleFault():
                vpn.set_role(what.site, what.role, by="somebody")
            case ManagerFault(verb="prepares"):
                vpn.manager_prepares(what.xid)
            case ManagerFault():
                vpn.manager_ends(what.xid, "commit" if what.verb == "commits" else "rollback")
            case _:
                assert_never(what)

    def _disturb_site(self, what: SiteFault) -> None:
        world, centre = self._world, self._world.centre(what.site)
        until = _until(world.moment, what.lasts)
        match what.kind:
            case "unreachable":
                centre.unreachable_until = until
            case "ha split":
                centre.split_until = until
            case "ha switch":
                world.change(lambda: world.take_over(what.site, centre.switch()))
            case "spool full":
                world.change(centre.fill)
                if what.lasts is not None:
                    world.plan(until, "store", [what.site])
            case "node down":
                node = what.node or centre.layout.nodes[0]
                world.change(lambda: world.take_over(what.site, centre.fail(node)))
                if what.lasts is not None:
                    world.plan(until, "up", [what.site, node])
            case _:
                assert_never(what.kind)

    def _misnamed(self, fault: Fault, coming: Set[str]) -> str:
        """What the fault names and the world does not have, or nothing."""
        world, what, vpn = self._world, fault.what, fault.when.vpn
        if vpn is not None and not world.has_vpn(vpn):
            return f"the world has no message VPN {vpn}; it has {', '.join(world.vpn_names)}"
        if isinstance(what, SiteFault | RoleFault) and what.site not in world.centres:
            return f"the simulated world has no site {what.site}; it has {', '.join(world.sites)}"
        if isinstance(what, SiteFault):
            nodes = world.centre(what.site).nodes
            if what.node is not None and what.node not in nodes:
                return f"the simulated site {what.site} has no node {what.node}; it has {', '.join(nodes)}"
            if what.kind in ("ha switch", "ha split") and len(nodes) < 2:
                return f"{what.site} is a single node"
        if isinstance(what, ManagerFault) and what.xid not in coming and not self._is_known(what.xid):
            return f"there is no transaction {what.xid}" if what.verb != "prepares" else ""
        return ""

    def _is_known(self, xid: str) -> bool:
        vpns = (self._world.vpn(name) for name in self._world.vpn_names)
        return any(xid in side.transactions for vpn in vpns for side in vpn.sides.values())

    def dump(self) -> list[Any]:
        """Plain data for the world's file."""
        return [[armed.fault.text, armed.given_at, armed.fired_at] for armed in self._armed]

    def restore(self, data: Any) -> None:
        """Take over what ``dump`` wrote. Raises ValueError, TypeError or ``DefinitionError`` when it was not."""
        self._armed = [_Armed(parse_fault(text), float(given), fired) for text, given, fired in data]


def _can_go_wrong(what: AnswerFault, seen: Seen) -> bool:
    if what.kind == "wrong password":
        return seen.kind == "login"
    if what.kind in ("refuse", "late"):
        return seen.kind == "command"
    return seen.kind != "login"


def _phase(vpn: Vpn, seen: Seen) -> str | None:
    """What a request about this VPN means for the world as it is now."""
    side = vpn.sides.get(seen.site)
    if side is None:
        return None
    left = vpn.last_active == side.name
    between = all(one.role == "standby" for one in vpn.sides.values())
    match seen.kind, seen.name, seen.args.get("role"):
        case "read", "replication_queue", _ if between and left:
            return "drain"
        case "read", "transactions", _ if between and left:
            return "transactions"
        case "command", "set_role", "standby" if side.role == "active":
            return "demote"
        case "command", "set_role", "active" if side.role == "standby":
            return "revert" if left else "activate"
        case "command", "complete_transaction", _:
            return "complete"
        case "command", "delete_transaction", _:
            return "delete"
        case "command", "set_backbone" | "set_interface", _:
            return "fence" if seen.args.get("state") == "down" else "unfence"
    return None


def _until(now: float, lasts: float | None) -> float:
    return FOREVER if lasts is None else now + lasts
