"""Can a run that stopped still end? From each stop (``needs-operator``, ``stuck``) the search resumes and aborts the run,
after people repaired the pair, and while nothing else goes wrong.

``failover abort --leave`` ends every run. It is left out here, because it leaves the service to the operator.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic

from orchestrator.core.lifecycle import RESUMABLE_ENDS
from proof.exploration.family import E, Family, P
from proof.exploration.ways import Node, Way, Ways


class Finishing(Generic[P, E]):
    """The answers for one walk. Each state that leads to a final end is found once."""

    def __init__(self, family: Family[P, E], ways: Ways[P, E]) -> None:
        self._family = family
        self._ways = ways
        self._good: set[Node[P, E]] = set()

    def can_end(self, node: Node[P, E]) -> bool:
        """Does any way lead from the end ``node`` to a final end?"""
        if self._is_final(node):
            return True
        starts = [node._replace(pair=pair) for pair in self._family.repaired(node.pair)]
        before: dict[Node[P, E], Node[P, E] | None] = dict.fromkeys(starts)
        todo = deque(before)
        while todo:
            here = todo.popleft()
            if self._is_final(here) or here in self._good:
                self._keep(here, before)
                return True
            for reached in self._next(here):
                if reached not in before:
                    before[reached] = here
                    todo.append(reached)
        return False

    def _is_final(self, node: Node[P, E]) -> bool:
        outcome = self._ways.outcome(node)
        return outcome is not None and outcome not in RESUMABLE_ENDS

    def _next(self, node: Node[P, E]) -> Iterator[Node[P, E]]:
        for way in self._ways_of(node):
            if not way.broken:
                yield way.node

    def _ways_of(self, node: Node[P, E]) -> Iterable[Way[Node[P, E]]]:
        if self._ways.outcome(node) is None:
            return self._ways.moves(node, undisturbed=True)
        return [way for abort in (False, True) for way in self._ways.killed(node, abort=abort)]

    def _keep(self, node: Node[P, E] | None, before: dict[Node[P, E], Node[P, E] | None]) -> None:
        while node is not None:
            self._good.add(node)
            node = before.get(node)
