"""Where the facets of a family in a file are read, as checks of a runbook that is made of them. Knows no runbook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from orchestrator.errors import DefinitionError
from orchestrator.model.declared.file import FamilyFile, managers_in
from orchestrator.model.declared.requests import rules_in
from orchestrator.model.facets import Facet
from orchestrator.model.other_manager import MANAGER_GATE, MANAGER_OPTION, OTHER_MANAGER

Steps = list[dict[str, Any]]
# A site that serves; the same once it was closed; its mate.
End = Literal["serves", "closed", "mate"]


class Drained(NamedTuple):
    """What shows that the target has everything, what a wait for it follows, and what has to hold beside it."""

    check: dict[str, Any]
    progress: dict[str, Any]
    beside: Steps


class Facets:
    """Where a family's facets are read, and at which end they are known."""

    def __init__(self, file: FamilyFile) -> None:
        self._file = file
        self._places = {
            field.facet: (reading, name, field)
            for reading, declared in file.readings.items()
            for name, field in declared.fields.items()
            if field.facet is not None and declared.survey
        }

    def has(self, facet: Facet, end: End) -> bool:
        """Is it read, and has it a meaning at this end, as far as the file says?"""
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
        """The fields of the model that are true or false, at this end of a pair that is well."""
        found = {name: both[1 if end == "mate" else 0] for name, both in self._file.flags.items()}
        if end == "closed" and len(self._file.closing) == 1:
            made = self._file.actions[self._file.closing[0]].makes
            found |= {name: value for name, value in made.items() if name in found}
        return found

    def check(self, side: str, facet: Facet, value: bool | int, say: str = "") -> dict[str, Any]:
        """A check of one side."""
        reading, name, _ = self._places[facet]
        return {"on": side, "reading": reading, "where": {name: value}} | ({"say": say} if say else {})

    def fields(self, side: str, wanted: Mapping[str, bool]) -> Steps:
        """Checks of fields that have no facet, one for each reading."""
        found = []
        for reading, declared in self._file.readings.items():
            own = {one for one, field in declared.fields.items() if field.facet is None}
            where = {name: value for name, value in wanted.items() if name in own}
            found += [{"on": side, "reading": reading, "where": where}] if where else []
        return found

    def shown(self, action: str, side: str = "source") -> Steps:
        """What a side shows once it has obeyed: all that the action makes, else another's hand could have done it."""
        made = self._file.actions[action].makes
        serves = [self.check(side, Facet.SERVES, made[Facet.SERVES])] if Facet.SERVES in made else []
        return [*serves, *self.fields(side, made)]

    def after(self, action: str, end: End) -> dict[str, bool]:
        """The fields of the model at an end that has obeyed."""
        found = self.fields_at(end)
        return found | {name: value for name, value in self._file.actions[action].makes.items() if name in found}

    def cut(self, say: str) -> Steps:
        """That the target no longer hears from the source, where its end of the link tells."""
        return [self.check("target", Facet.LINK, False, say)] if self.has(Facet.LINK, "mate") else []

    def managers(self, *sides: str) -> Steps:
        """A question for each side at which another manager may act, or that is unknown; none where the file has no
        reading of that."""
        return [_manager_step(side) for side in sides] if managers_in(self._file) else []

    def closing(self, kind: str) -> str:
        """The one action that ends service, and can be rolled back. Raises ``DefinitionError``."""
        names = self._file.closing
        if len(names) != 1:
            what = "no action" if not names else f"not one action but {', '.join(names)}"
            raise not_made(self._file, kind, f"{what} makes serves: false, and has an inverse")
        return names[0]

    def reopening(self, close: str) -> str:
        """The inverse of what closes a site. Raises ``DefinitionError`` where the site is not as it was then."""
        inverse = str(self._file.actions[close].inverse)
        if not self._serves_after(inverse, "closed"):
            what = f"{inverse} rolls {close} back, and does not make the site as it was before"
            raise not_made(self._file, "controlled", what)
        return inverse

    def opening(self) -> str:
        """The one action that makes a mate serve. Raises ``DefinitionError``."""
        found = [name for name in self._file.actions if self._serves_after(name, "mate")]
        if len(found) != 1:
            what = "no action" if not found else f"not one action but {', '.join(found)}"
            raise not_made(
                self._file, "generic", f"{what} makes a mate serve, with all that the model says of a site that does"
            )
        return found[0]

    def _serves_after(self, action: str, end: End) -> bool:
        """Is an end, once it has obeyed, as the site that serves?"""
        declared = self._file.actions.get(action)
        if declared is None:
            return False
        is_made = declared.makes.get(Facet.SERVES) is True and not declared.arguments and declared.on_item is None
        return is_made and self.after(action, end) == self.fields_at("serves")

    def value(self, side: str, facet: Facet) -> dict[str, Any]:
        """Where a number is read."""
        reading, name, _ = self._places[facet]
        return {"on": side, "reading": reading, "field": name}

    def drained(self, target: End = "mate") -> Drained | None:
        """What shows that the ``target`` has everything of a source that was closed: the last numbers of both ends, or
        that nothing waits at the source. None: nothing does."""
        if self.has(Facet.MARK, "closed") and self.has(Facet.REACHED, target):
            mark, reached = self.value("source", Facet.MARK), self.value("target", Facet.REACHED)
            check = {"on": "target", "reading": reached["reading"], "where": {reached["field"]: {"reaches": mark}}}
            closed = self.check("source", Facet.SERVES, False, "the source serves again")
            return Drained(check, reached | {"up_to": mark}, [closed])
        if self.has(Facet.BACKLOG, "serves") and self.has(Facet.BACKLOG, "closed"):
            return Drained(self.check("source", Facet.BACKLOG, 0), self.value("source", Facet.BACKLOG), [])
        return None

    def links(self, say: Mapping[str, str], *, serving: str = "source") -> Steps:
        """Checks of the link at the ends that tell of it, while one side serves and the other one is its mate; ``say``:
        what is wrong, by side."""
        return [
            self.check(side, Facet.LINK, True, say[side])
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
            "text": f"Another manager may act at the {side}, or that is unknown. It could start or stop service there"
            f" during the move. Pause it first. accept ({MANAGER_OPTION} 'why, and who decided it'): move anyway.",
            "choices": ["accept", "stop"],
            "unattended": "stop",
            "option": f"{MANAGER_OPTION} TEXT",
        },
    }


def not_made(file: FamilyFile, kind: str, why: str) -> DefinitionError:
    """The refusal of a runbook that the file leaves open. ``kind``: generic, of several."""
    what = "runbook" if kind == "generic" else f"runbook {kind}"
    return DefinitionError(
        f"{file.family} has no {what}, and its file does not give one: {why}",
        hint=f"write it beside the family file: {file.family}/{'controlled' if kind == 'generic' else kind}.yaml",
    )
