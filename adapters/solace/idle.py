"""Roles of a site whose message spool is not ready. They are read and set on nodes that answer, although none of them
serves.

The procedure makes all message VPNs of a failed site standby first, and checks its message spool ("Local Inactive",
"AD-NotReady") after that (docs/sources/solace-procedure.md, uncontrolled 4.1 and 4.2). A role is configuration, so
every node can show it. Assumption: a node without a spool accepts ``replication state standby``; no public source
says so. If one refuses, its answer is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from adapters.solace.fencing import Attempt, on_every_node
from adapters.solace.reading_models import ReplicationStatus
from adapters.solace.serving import Askable, Nodes
from orchestrator.errors import NotServing
from orchestrator.family.contract import Call, Permit, Result
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role

N = TypeVar("N", bound=Askable)
Read = Callable[[N, Sequence[str]], Mapping[str, Reading | Failure]]


def configured_roles(nodes: Nodes[N], services: Sequence[str], read: Read[N]) -> dict[str, Reading | Failure]:
    """The reading ``replication`` of each service of an idle site, as all nodes report it.

    Only the role standby is reported. A message VPN that is configured active does not serve yet, but would serve as
    soon as a spool is ready. Its answer is a failure with that reason. Raises ``NotServing`` when the site is not idle.
    """
    members = nodes.idle()
    answers = [read(node, services) for node in members]
    names = " and ".join(node.device.name for node in members)
    return {service: _agreed(names, [one[service] for one in answers]) for service in services}


def _agreed(names: str, answers: Sequence[Reading | Failure]) -> Reading | Failure:
    for one in answers:
        if not isinstance(one, ReplicationStatus):
            return one
    states = [one for one in answers if isinstance(one, ReplicationStatus)]
    if all(one.role is Role.STANDBY for one in states):
        enabled = {one.enabled for one in states}
        return ReplicationStatus(enabled=enabled.pop() if len(enabled) == 1 else None, role=Role.STANDBY)
    roles = ", ".join(dict.fromkeys(one.role or "unknown" for one in states))
    return Failure.of(
        NotServing(
            f"no message spool of the site is ready (asked: {names}), and the configured role is {roles}",
            hint="an active message VPN serves as soon as a spool is ready; `failover restore` makes it standby first",
        )
    )


def gives_up_activity(action: str, calls: Sequence[Call]) -> bool:
    """Do all calls make a message VPN standby? An idle site needs that, and it does no harm there."""
    return action == "set_role" and all(call.args.get("role") == Role.STANDBY for call in calls)


def make_standby(nodes: Nodes[N], calls: Sequence[Call], permit: Permit, attempt: Attempt[N]) -> Iterator[Result]:
    """A result for each call, sent to every node. Raises ``NotServing`` when the site is not idle."""
    members = nodes.idle()
    for call in calls:
        result = on_every_node(members, call, permit, attempt)
        if result.effect is Effect.REJECTED:
            hint = "no message spool of the site is ready: make one ready (`show redundancy`), then try again"
            result = replace(result, detail=f"{result.detail}; {hint}")
        yield result
