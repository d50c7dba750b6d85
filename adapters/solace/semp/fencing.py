"""One change to every node of a site: the backbone flag is not config-synced (facts/solace.md section 1.5).

A site is fenced when all its nodes are. What only some of them took is in doubt, and the reading ``fence`` tells.
"""

from __future__ import annotations

from collections.abc import Sequence

from adapters.solace.semp.actions import SET_BACKBONE, check_call, perform
from adapters.solace.semp.nodes import Node
from orchestrator.contract import Call, Effect, Permit, Result
from orchestrator.errors import Forbidden


def set_backbone(nodes: Sequence[Node], call: Call, permit: Permit) -> Result:
    """One attempt at each node. Raises ``Forbidden`` when ``permit`` refuses and nothing has been sent yet.

    The order is that of the appliances' maintenance procedure (section 3.8): the primary, which the inventory lists
    first, is opened first and closed last.
    """
    try:
        check_call(SET_BACKBONE, call)
    except Forbidden as error:
        return Result(call, Effect.NOT_SENT, detail=str(error))
    opens = call.args["state"] == "up"
    results: list[Result] = []
    for node in nodes if opens else reversed(nodes):
        try:
            results.append(_on(node, call, permit))
        except Forbidden as error:
            if not any(one.sent for one in results):
                raise
            results.append(Result(call, Effect.NOT_SENT, detail=str(error), device=node.device.name))
            break
    return _together(call, results)


def _on(node: Node, call: Call, permit: Permit) -> Result:
    if node.writer is None:
        raise Forbidden("this session only reads", device=node.device.name)
    return perform(node.writer, SET_BACKBONE, call, permit)


def _together(call: Call, results: Sequence[Result]) -> Result:
    """One result for the site: what all nodes say, or a doubt once any of them has, or may have, obeyed."""
    effects = {one.effect for one in results}
    sent = tuple(line for one in results for line in one.sent)
    missing = [one for one in results if one.effect is not Effect.ACCEPTED]
    told = missing or results
    device = told[0].device if len(told) == 1 else ""
    detail = "; ".join(f"{one.device}: {one.detail}" for one in missing)
    if len(effects) == 1:
        return Result(call, effects.pop(), detail=detail, device=device, sent=sent)
    if effects <= {Effect.REJECTED, Effect.NOT_SENT}:
        return Result(call, Effect.REJECTED, detail=detail, device=device, sent=sent)
    obeyed = " and ".join(one.device for one in results if one.effect is Effect.ACCEPTED)
    detail = f"{obeyed} took it; {detail}" if obeyed else detail
    return Result(call, Effect.DOUBTFUL, detail=detail, device=device, sent=sent)
