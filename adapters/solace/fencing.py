"""One change on every node of a site, because the message backbone is not config-synced (docs/sources/solace.md, 1.5).

A site is fenced when all its nodes are fenced. If only some nodes obeyed, the result is a doubt, which the reading
``fence`` resolves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from orchestrator.errors import Forbidden
from orchestrator.family.contract import EVERY_NODE, ActionSpec, ArgumentSpec, Call, Permit, Result
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect

SET_BACKBONE = "set_backbone"

N = TypeVar("N")
Attempt = Callable[[N, Call, Permit], Result]


def shut_interface(site: Site) -> str | None:
    """The interface that is shut in place of the message backbone; None if the fence plan does not prefer an
    interface."""
    own = site.own_fence
    return own.value if own is not None and own.kind == "interface" else None


def backbone_spec(commands: Callable[[Call], Sequence[str]]) -> ActionSpec:
    """The declaration of the action, for every kind of session."""
    return ActionSpec(
        SET_BACKBONE,
        "Let clients in, or disconnect all clients, on every node of the site",
        idempotent=True,
        commands=commands,
        arguments={"state": ArgumentSpec(choices=("up", "down"))},
        inverse=SET_BACKBONE,
        place=EVERY_NODE,
        shuts={"state": "down"},
    )


def set_backbones(nodes: Sequence[N], calls: Iterable[Call], permit: Permit, attempt: Attempt[N]) -> Iterator[Result]:
    """A result for each call. The backbone belongs to the nodes, not to a message VPN, so calls with the same arguments
    share one attempt at each node. The order follows the appliances' maintenance procedure (section 3.8). The primary,
    which the inventory lists first, is opened first and closed last.

    Raises ``Forbidden`` when ``permit`` refuses and nothing has been sent for a call yet.
    """
    done: dict[tuple[tuple[str, str], ...], Result] = {}
    for call in calls:
        wanted = tuple(sorted(call.args.items()))
        if wanted not in done:
            opens = call.args.get("state") == "up"
            done[wanted] = on_every_node(nodes if opens else nodes[::-1], call, permit, attempt)
        yield replace(done[wanted], call=call)


def on_every_node(nodes: Sequence[N], call: Call, permit: Permit, attempt: Attempt[N]) -> Result:
    """Make one attempt at each node, one after the other, and return one result for the site. Raises ``Forbidden`` when
    ``permit`` refuses and nothing has been sent yet."""
    results: list[Result] = []
    for node in nodes:
        try:
            results.append(attempt(node, call, permit))
        except Forbidden as error:
            if not any(one.sent for one in results):
                raise
            results.append(Result(call, Effect.NOT_SENT, detail=str(error), device=error.device))
            break
    return _together(call, results)


def _together(call: Call, results: Sequence[Result]) -> Result:
    """One result for the site: the effect that all nodes report, or a doubt if only some nodes obeyed or may have
    obeyed."""
    effects = {one.effect for one in results}
    sent = tuple(line for one in results for line in one.sent)
    missing = [one for one in results if one.effect is not Effect.ACCEPTED]
    told = missing or results
    device = told[0].device if len(told) == 1 else ""
    detail = "; ".join(f"{one.device}: {one.detail}" if one.device else one.detail for one in missing)
    if len(effects) == 1:
        return Result(call, effects.pop(), detail=detail, device=device, sent=sent)
    if effects <= {Effect.REJECTED, Effect.NOT_SENT}:
        return Result(call, Effect.REJECTED, detail=detail, device=device, sent=sent)
    obeyed = " and ".join(one.device for one in results if one.effect is Effect.ACCEPTED)
    detail = f"{obeyed} accepted the change; {detail}" if obeyed else detail
    return Result(call, Effect.DOUBTFUL, detail=detail, device=device, sent=sent)
