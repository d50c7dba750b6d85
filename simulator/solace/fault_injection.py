"""Makes scripted faults happen in the world of message VPNs: matches requests to triggers and applies the effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, assert_never

from simulator.solace.faults import FAULTS, BridgeFault, Fault, ManagerFault, RoleFault, SiteFault, StateFault
from simulator.solace.site_state import FOREVER
from simulator.solace.vpn import Vpn
from simulator.world.fault_lines import AnswerFault, When
from simulator.world.fault_script import FaultScript

if TYPE_CHECKING:
    from simulator.solace.world import World


class Seen(NamedTuple):
    """A request to a site. ``name``: the reading (replication, replication_queue, transactions, redundancy) or the action
    (set_role, complete_transaction, delete_transaction). ``vpns``: the message VPNs of the request.
    """

    kind: Literal["login", "read", "command"]
    site: str
    name: str = ""
    vpns: Sequence[str] = ()
    args: Mapping[str, str] = MappingProxyType({})


class FaultInjector(FaultScript[StateFault, Seen]):
    """The faults of one world, and which of them have happened."""

    def __init__(self, world: World) -> None:
        super().__init__(world, FAULTS, "the command is refused by the simulated node")
        self._world = world

    def _can_go_wrong(self, what: AnswerFault, asked: Seen) -> bool:
        if what.kind == "wrong password":
            return asked.kind == "login"
        if what.kind in ("refuse", "late"):
            return asked.kind == "command"
        return asked.kind != "login"

    def _trigger(self, when: When, asked: Seen) -> str | None:
        """The name of a message VPN, or "" for all. None if the request does not trigger the fault."""
        if when.phase in ("any", "login", "reads"):
            fits = when.phase == "any" or asked.kind == {"login": "login", "reads": "read"}[when.phase]
            named = when.about is None or when.about in asked.vpns
            first = when.about or next((name for name in asked.vpns if self._world.has_vpn(name)), "")
            return first if fits and named else None
        for name in asked.vpns:
            if when.about in (None, name) and self._world.has_vpn(name):
                vpn = self._world.vpn(name)
                if when.phase == _phase(vpn, asked):
                    return name
        return None

    def _disturb(self, what: StateFault, about: str | None) -> None:
        if isinstance(what, SiteFault):
            self._disturb_site(what)
            return
        for vpn in self._world.affected(about):
            self._disturb_vpn(vpn, what)
            vpn.settle()

    def _disturb_vpn(self, vpn: Vpn, what: BridgeFault | RoleFault | ManagerFault) -> None:
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
            case "spool not ready":
                first = centre.layout.nodes[0]
                world.change(centre.stall)
                if what.lasts is not None:
                    world.plan(until, "up", [what.site, first])
            case "node down":
                node = what.node or centre.layout.nodes[0]
                world.change(lambda: world.take_over(what.site, centre.fail(node)))
                if what.lasts is not None:
                    world.plan(until, "up", [what.site, node])
            case _:
                assert_never(what.kind)

    def _misnamed(self, fault: Fault, given: Sequence[Fault]) -> str:
        world, what, vpn = self._world, fault.what, fault.when.about
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
        if isinstance(what, ManagerFault) and what.verb != "prepares" and not self._will_know(what.xid, given):
            return f"there is no transaction {what.xid}"
        return ""

    def _will_know(self, xid: str, given: Sequence[Fault]) -> bool:
        if ManagerFault("prepares", xid) in [fault.what for fault in given]:
            return True
        vpns = (self._world.vpn(name) for name in self._world.vpn_names)
        return any(xid in side.transactions for vpn in vpns for side in vpn.sides.values())


def _phase(vpn: Vpn, seen: Seen) -> str | None:
    """The trigger that a request about this VPN matches in the present state of the world, if any."""
    side = vpn.sides.get(seen.site)
    if side is None:
        return None
    left = vpn.last_active == side.name
    match seen.kind, seen.name, seen.args.get("role"):
        case "read", "replication_queue", _ if left and _is_between(vpn):
            return "drain"
        case "read", "transactions", _ if left and _is_between(vpn):
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


def _is_between(vpn: Vpn) -> bool:
    """Are both sites standby?"""
    return all(side.role == "standby" for side in vpn.sides.values())


def _until(now: float, lasts: float | None) -> float:
    return FOREVER if lasts is None else now + lasts
