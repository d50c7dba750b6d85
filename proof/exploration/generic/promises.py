"""The rules for a run of any family, by facets: it must never cause two sites that serve, or a move to a site that lacks
units.

The rules are the same for each family: promises 1 to 3. A change is judged twice: by the run's readings when it is
decided, and by the state of the model when it takes effect. This module must never use the code that decides.
"""

from __future__ import annotations

from typing import NamedTuple

from orchestrator.model import events as ev
from orchestrator.model.facets import Facet
from orchestrator.model.other_manager import MANAGER_GATE
from orchestrator.model.reading import Reading
from orchestrator.model.readings import ExternalFence, Reachability
from proof.exploration.family import SIDE_NAMES, SOURCE, TARGET, Change, with_side
from proof.exploration.generic.pair import Effects, Pair


class Evidence(NamedTuple):
    """The run's readings. Sides are as in ``pair``. None: unknown.

    ``idle``: the side serves no client, as last read. ``gone``: it was read as not answering. ``fenced``: as last read.
    ``drained``: since the source was read as idle, nothing waited there while the link held. Or one round showed that the
    target had reached the last number of the idle source. ``answered``: an operator answers for the fence. ``accepted``:
    an operator accepts the leftovers. ``managed``: an operator accepts that another manager may act. ``unheard``: since
    the last decision, the target no longer hears from the source. ``needs_link``: without a link, an empty queue proves
    nothing. A run that finds the source idle needs no link, because nothing was written since.
    """

    idle: tuple[bool | None, bool | None] = (None, None)
    gone: tuple[bool, bool] = (False, False)
    fenced: tuple[bool | None, bool | None] = (None, None)
    drained: bool = False
    answered: bool = False
    accepted: bool = False
    managed: bool = False
    unheard: bool = False
    needs_link: bool = True

    @property
    def is_given_up(self) -> bool:
        """Is the move no longer controlled? Either an operator accepted the leftovers, or the source was read as gone."""
        return self.accepted or self.gone[SOURCE]

    def noted(self, event: ev.Observed) -> Evidence:
        """See ``family.Evidence``."""
        found, empty, links = self, False, list[bool]()
        for one in event.seen:
            side, value = SIDE_NAMES.index(one.on), one.value
            if isinstance(value, ExternalFence) and value.closed is not None:
                found = found._replace(fenced=with_side(found.fenced, side, value.closed))
            if not isinstance(value, Reading):
                continue
            serves, link = value.flag(Facet.SERVES), value.flag(Facet.LINK)
            if isinstance(value, Reachability) or serves is not None:
                idle = None if serves is None else not serves
                is_silent = isinstance(value, Reachability) and not value.answers
                # An answer of the machine about a stopped server is not an answer of the server.
                is_gone = is_silent or (found.gone[side] and not value.surveyed)
                found = found._replace(
                    idle=with_side(found.idle, side, idle), gone=with_side(found.gone, side, is_gone)
                )
            links += [] if link is None else [link]
            if side == TARGET and link is not None:
                found = found._replace(unheard=not link)
            empty = empty or (side == SOURCE and value.number(Facet.BACKLOG) == 0)
        if found.idle[SOURCE] is not True:
            return found._replace(drained=False)
        is_linked = not self.needs_link or (True in links and False not in links)
        return found._replace(drained=found.drained or (empty and is_linked) or _is_reached(event))

    def decided(self, event: ev.GateDecided) -> Evidence:
        """See ``family.Evidence``."""
        choice, self = event.ruling.choice, self._replace(unheard=False)
        if event.gate == MANAGER_GATE:  # accepting another manager does not give up any reading
            return self._replace(managed=self.managed or choice == "accept")
        if choice in ("attest", "waive"):
            return self._replace(answered=True, accepted=True)
        return self._replace(accepted=True) if choice in ("escalate", "accept") else self


def _is_reached(event: ev.Observed) -> bool:
    """Has the target reached the last number that the source had issued, with the source read as idle in the same round?
    The source must be asked first, because the target's number does not cover units that were issued later."""
    numbers: dict[tuple[str, Facet], tuple[float, int]] = {}
    is_gated = False
    for one in event.seen:
        if not isinstance(one.value, Reading):
            continue
        is_gated = is_gated or (one.on == "source" and one.value.flag(Facet.SERVES) is False)
        for facet in (Facet.MARK, Facet.REACHED):
            number = one.value.number(facet)
            if number is not None:
                numbers[one.on, facet] = one.asked_at, number
    mark, reached = numbers.get(("source", Facet.MARK)), numbers.get(("target", Facet.REACHED))
    if mark is None or reached is None or not is_gated:
        return False
    return mark[0] <= reached[0] and mark[1] <= reached[1]


class Promises(NamedTuple):
    """The rules. ``is_exclusive``: at most one site of a pair may serve. ``shows_link``: a reading of the target can tell
    that it still hears from the source. ``asks_nobody``: the run closes one of two sites that serve, even if another
    manager may act."""

    effects: Effects
    is_exclusive: bool
    shows_link: bool = False
    asks_nobody: bool = False

    def forbids(self, evidence: Evidence, change: Change, *, undo: bool) -> list[str]:
        """See ``family.Family``."""
        if not self.effects.serves(change):
            return []
        broken, mate = [], 1 - change.side
        is_fenced = evidence.answered or evidence.fenced[mate] is True
        if self.is_exclusive and evidence.idle[mate] is not True and not is_fenced:
            broken.append("promoted-unconfirmed")
        is_lost = change.side == TARGET and evidence.idle[mate] is not True and evidence.fenced[mate] is not True
        if self.is_exclusive and self.shows_link and is_lost and not evidence.unheard:
            broken.append("promoted-while-heard")
        if change.side == TARGET and not undo and not evidence.drained and not evidence.is_given_up:
            broken.append("promoted-undrained")
        return broken

    def harms(self, evidence: Evidence, before: Pair, after: Pair, change: Change) -> list[str]:
        """See ``family.Family``."""
        broken = []
        if before.managers and not (evidence.managed or self.asks_nobody) and self.effects.serves(change) is not None:
            broken.append("changed-while-managed")
        gained = [side for side in (SOURCE, TARGET) if after.takes(side) and not before.takes(side)]
        if self.is_exclusive and any(after.takes(1 - side) for side in gained) and not evidence.answered:
            broken.append("two-active")
        is_moved = change.side == TARGET and TARGET in gained
        if is_moved and before.queued[SOURCE] and not evidence.is_given_up:
            broken.append("messages-left")
        return broken
