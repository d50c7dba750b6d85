"""Finds mistakes in the ``model`` of a family file: unknown names, and rules that would depend on themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.documents.source_map import Diagnostic
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.declared.requests import ModelFile, rules_in
from orchestrator.model.findings import Level
from orchestrator.suggestions import suggest

# Facets for which the model may state conditions, and the protocols of a site.
_FACETS, _WAYS = ("serves", "link", "backlog"), ("sql", "exec", "ssh", "http", "nats")


def lint_model(file: FamilyFile, fields: set[str]) -> Iterator[Diagnostic]:
    """Findings of the model. ``fields`` are the boolean fields without a facet."""
    rules, flags = rules_in(file.model), file.flags
    for name in file.model:
        rule = rules.get(name)
        is_field = name in fields and name not in _FACETS
        if rule is not None and rule.shared:
            if name not in _alike(file):
                yield _error(
                    name, f"`shared` is only for a text or a number without a facet, but {name} does not fit", ()
                )
            continue
        if not is_field and (rule is None or name not in (*_FACETS, *_WAYS, *file.readings)):
            known = sorted({*fields, *_FACETS, *_WAYS, *file.readings})
            what = f"{name} is not a true-or-false field without a facet"
            yield _error(
                name, what if rule is None else f"{name} is not a true-or-false field, a facet or a reading", known
            )
        elif rule is not None:
            yield from _rule(name, rule, is_field=is_field, flags=flags, rules=rules)
    for name, action in file.actions.items():
        for made in action.makes:
            if made in fields and made not in flags:
                what = f"the action {name} makes {made}, but the model gives no first value of {made}"
                hint = f"give the values at the source and at the target: {made}: [true, false]"
                yield Diagnostic(("actions", name, "makes"), Level.WARNING, "not-in-model", what, hint)


def _rule(
    name: str, rule: ModelFile, *, is_field: bool, flags: Mapping[str, object], rules: Mapping[str, ModelFile]
) -> Iterator[Diagnostic]:
    if is_field and rule.is_ is None:
        yield _error(name, f"the field {name} needs values at the source and at the target: is: [true, false]", ())
    if not is_field and rule.is_ is not None:
        yield _error(name, f"{name} cannot have `is`, because it is not a field without a facet", ())
    if rule.dropped_while and name != "backlog":
        yield _error(name, f"`dropped_while` is only for backlog, not for {name}", ())
    if rule.restarted is not None and not (is_field or name == "serves"):
        yield _error(name, f"`restarted` is only for serves and for fields without a facet, not for {name}", ())
    # A needed field may need other fields, but those must need nothing. So no rule can depend on itself.
    ranks = {"link": 1, "serves": 1, **{one: 1 if _needs(rules.get(one)) else 0 for one in flags}}
    rank = ranks.get(name, 2)
    for one in (*rule.only_while, *rule.either_end, *rule.dropped_while):
        if one not in ranks:
            yield _error(name, f"there is no field {one} in the model", list(ranks))
        elif ranks[one] >= rank:
            yield _error(name, f"{name} cannot depend on {one}, because {one} depends on other values", ())


def _alike(file: FamilyFile) -> set[str]:
    fields = (one for reading in file.readings.values() for one in reading.fields.items())
    return {name for name, field in fields if field.type in ("text", "number") and field.facet is None}


def _needs(rule: ModelFile | None) -> bool:
    return rule is not None and bool(rule.only_while or rule.either_end)


def _error(name: str, message: str, known: object) -> Diagnostic:
    hint = suggest(name, known) if isinstance(known, list) and known else ""
    return Diagnostic(("model", name), Level.ERROR, "unknown-field" if known else "model-rule", message, hint)
