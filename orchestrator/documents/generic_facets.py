"""Turns the facets of a file-based family into checks for a generated runbook. This module knows no runbook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from orchestrator.errors import DefinitionError
from orchestrator.model.declared.file import FamilyFile, managers_in
from orchestrator.model.declared.requests import rules_in
from orchestrator.model.facets import Facet
from orchestrator.model.other_manager import MANAGER_GATE, MANAGER_OPTION, OTHER_MANAGER

Steps = list[dict[str, Any]]
# The site that serves, the same site after it was closed, and its mate.
End = Literal["serves", "closed", "mate"]


class Drained(NamedTuple):
    """``check`` shows that the target has everything, ``progress`` is the number that a wait follows, and ``beside``
    are checks that must hold at the same time."""

    check: dict[str, Any]
    progress: dict[str, Any]
    beside: Steps


class Facets:
    """The readings that show a family's facets, and the ends at which the facets are known."""

    def __init__(self, file: FamilyFile) -> None:
        self._file = file
        self._places = {
            field.facet: (reading, name, field)
            for reading, declared in file.readings.items()
            for name, field in declared.fields.items()
            if field.facet is not None and declared.survey
        }

    def has(self, facet: Facet, end: End) -> bool:
        """Does a reading show the facet, and does the facet have a meaning at this end, according to the file?"""
        if facet not in self._places:
            return False
        serves_in, serves, _ = self._places[Facet.SERVES]
        reading, _, field = self._places[facet]
        fields = self.fields_at(end)
        shown = fields | ({serves: end == "serves"} if reading == serves_in else {})
        rule = rules_in(self._file.model).get(facet) if facet is Facet.BACKLOG else None
        needed = [*field.when.items(), *(() if rule is None else rule.only_while.items())]
        return all(shown.get(name, value) == value for name, value in needed)

    def fields_at(self, end: End) -> dict[str, bool]:
        """The boolean fields of the model, with their values at this end of a healthy pair."""
        found = {name: both[1 if end == "mate" else 0] for name, both in self._file.flags.items()}
        if end == "closed" and len(self._file.closing) == 1:
            made = self._file.actions[self._file.closing[0]].makes
            found |= {name: value for name, value in made.items() if name in found}
        return found

    def check(self, side: str, facet: Facet, value: bool | int, say: str = "", remedy: str = "") -> dict[str, Any]:
        """A check of one facet at one side."""
        reading, name, _ = self._places[facet]
        told = {key: text for key, text in (("say", say), ("remedy", remedy)) if text}
        return {"on": side, "reading": reading, "where": {name: value}} | told

    def fields(self, side: str, wanted: Mapping[str, bool]) -> Steps:
        """Checks of fields that have no facet, one for each reading."""
        found = []
        for reading, declared in self._file.readings.items():
            own = {one for one, field in declared.fields.items() if field.facet is None}
            where = {name: value for name, value in wanted.items() if name in own}
            found += [{"on": side, "reading": reading, "where": where}] if where else []
        return found

    def shown(self, action: str, side: str = "source") -> Steps:
        """The checks of a side after the action. They cover all that the action makes. A smaller set could also be true
        because another program or person changed the site."""
        made = self._file.actions[action].makes
        serves = [self.check(side, Facet.SERVES, made[Facet.SERVES])] if Facet.SERVES in made else []
        return [*serves, *self.fields(side, made)]

    def shut(self, close: str) -> Steps:
        """The checks of the source after the action that closes it. If a reading counts the clients of a closed site, no
        client may be left: a closed site may still serve sessions that were open before."""
        left = [self.check("source", Facet.CLIENTS, 0)] if self.has(Facet.CLIENTS, "closed") else []
        return [*self.shown(close), *left]

    def after(self, action: str, end: End) -> dict[str, bool]:
        """The boolean fields of the model at an end after the action."""
        found = self.fields_at(end)
        return found | {name: value for name, value in self._file.actions[action].makes.items() if name in found}

    def cut(self, say: str, remedy: str) -> Steps:
        """A check that the target no longer hears from the source, if the target's end of the link is read."""
        return [self.check("target", Facet.LINK, False, say, remedy)] if self.has(Facet.LINK, "mate") else []

    def managers(self, *sides: str) -> Steps:
        """A step for each side. It asks if another manager may act there, or if this is unknown. Empty if no reading of
        the file shows other managers."""
        return [_manager_step(side) for side in sides] if managers_in(self._file) else []

    def closing(self, kind: str) -> str:
        """The only action that ends service and can be rolled back. Raises ``DefinitionError`` if there is not exactly
        one."""
        names = self._file.closing
        if len(names) != 1:
            what = "no action does" if not names else f"these do: {', '.join(names)}"
            sentence = f"exactly one action must make serves: false and have an inverse, but {what}"
            raise not_made(self._file, kind, sentence)
        return names[0]

    def reopening(self, close: str) -> str:
        """The inverse of the action that closes a site. Raises ``DefinitionError`` if the inverse does not restore the
        site's earlier state."""
        inverse = str(self._file.actions[close].inverse)
        if not self._serves_after(inverse, "closed"):
            what = f"the inverse {inverse} of the action {close} does not restore the earlier state of the site"
            raise not_made(self._file, "controlled", what)
        return inverse

    def opening(self) -> str:
        """The only action that makes a mate serve. Raises ``DefinitionError`` if there is not exactly one."""
        found = [name for name in self._file.actions if self._serves_after(name, "mate")]
        if len(found) != 1:
            what = "no action does" if not found else f"these do: {', '.join(found)}"
            raise not_made(
                self._file,
                "generic",
                f"exactly one action must turn a mate into a serving site as the model describes it, but {what}",
            )
        return found[0]

    def _serves_after(self, action: str, end: End) -> bool:
        """Does this end have the state of the serving site after the action?"""
        declared = self._file.actions.get(action)
        if declared is None:
            return False
        is_made = declared.makes.get(Facet.SERVES) is True and not declared.arguments and declared.on_item is None
        return is_made and self.after(action, end) == self.fields_at("serves")

    def value(self, side: str, facet: Facet) -> dict[str, Any]:
        """The place at which the number of a facet is read."""
        reading, name, _ = self._places[facet]
        return {"on": side, "reading": reading, "field": name}

    def drained(self, target: End = "mate") -> Drained | None:
        """The checks that show that ``target`` has everything of a closed source: the last numbers of both ends, or an
        empty backlog at the source. None if no reading can show this."""
        if self.has(Facet.MARK, "closed") and self.has(Facet.REACHED, target):
            mark, reached = self.value("source", Facet.MARK), self.value("target", Facet.REACHED)
            check = {"on": "target", "reading": reached["reading"], "where": {reached["field"]: {"reaches": mark}}}
            closed = self.check("source", Facet.SERVES, False, "the source serves again")
            return Drained(check, reached | {"up_to": mark}, [closed])
        if self.has(Facet.BACKLOG, "serves") and self.has(Facet.BACKLOG, "closed"):
            return Drained(self.check("source", Facet.BACKLOG, 0), self.value("source", Facet.BACKLOG), [])
        return None

    def links(self, say: Mapping[str, str], *, serving: str = "source", remedy: str = "") -> Steps:
        """Checks of the link at each end whose reading shows the link, while one side serves and the other is its mate.
        ``say`` is the sentence for a broken link, by side, and ``remedy`` what an operator does about it."""
        return [
            self.check(side, Facet.LINK, True, say[side], remedy)
            for side in say
            if self.has(Facet.LINK, "serves" if side == serving else "mate")
        ]


def _manager_step(side: str) -> dict[str, Any]:
    return {
        "id": f"manager-at-{side}",
        "title": f"Check that no other manager may act at the {side}",
        "only_if": [{"on": side, "reading": OTHER_MANAGER, "where": {OTHER_MANAGER: ["acts", "unknown"]}}],
        "ask": {
            "gate": MANAGER_GATE,
            "text": f"Another manager is active at the {side}, or the program cannot read whether one is. It could start"
            f" or stop service there during the move. Pause it first. accept ({MANAGER_OPTION} 'why, and who decided"
            " it'): move anyway.",
            "choices": ["accept", "stop"],
            "unattended": "stop",
            "option": f"{MANAGER_OPTION} TEXT",
        },
    }


def not_made(file: FamilyFile, kind: str, why: str) -> DefinitionError:
    """The error for a runbook that cannot be made from the file. ``kind`` is ``generic`` for several runbooks."""
    what = "runbook" if kind == "generic" else f"runbook {kind}"
    place = f"{file.family}/{'controlled' if kind == 'generic' else kind}.yaml"
    return DefinitionError(
        f"the family {file.family} has no {what}, and the program cannot make one from its file: {why}",
        hint=f"write the runbook yourself, beside the family file: {place}",
    )
