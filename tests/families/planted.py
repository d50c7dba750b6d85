"""A family that comes with the program, with a mistake planted in its file or in one of its runbooks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from adapters.declared.family import family_of
from orchestrator.documents.loader import read_family
from orchestrator.model.families import SHIPPED, needed_family
from orchestrator.model.installed import offer_recorded
from orchestrator.operations.declared_families import offer_families

Steps = list[dict[str, Any]]


def copied(folder: Path, family: str) -> Path:
    """A copy of the family's file, with its runbooks beside it."""
    path = folder / f"{family}.yaml"
    shutil.copy(SHIPPED / f"{family}.yaml", path)
    shutil.copytree(SHIPPED / family, folder / family)
    return path


def edited(path: Path, edit: Callable[[Steps], object]) -> None:
    """The steps of a runbook's file, after ``edit``."""
    plain = _plain(yaml.safe_load(path.read_text()))
    edit(plain["steps"])
    path.write_text(json.dumps(plain))


def _plain(value: Any) -> Any:
    """YAML 1.1 reads the key ``on`` as true."""
    if isinstance(value, dict):
        return {"on" if key is True else key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


@contextmanager
def in_place(path: Path) -> Iterator[None]:
    """The family of this file is the installed one of its name, for the length of a block."""
    offer_families()
    file = read_family(path).result()
    shipped = needed_family(file.family)
    offer_recorded(file.family, family_of(file, path.with_name(file.family)))
    try:
        yield
    finally:
        offer_recorded(file.family, shipped)


def nobody_asks_about_a_manager(steps: Steps) -> None:
    """No step asks whether another manager may act."""
    steps[:] = [step for step in steps if not step["id"].startswith("manager-at")]


def asks_about_one_manager(reading: str) -> Callable[[Steps], None]:
    """Each step asks about the manager that this reading shows, and about no other one."""

    def plant(steps: Steps) -> None:
        for check in _about_managers(steps):
            check |= {"reading": reading, "where": {"other_manager": ["acts", "unknown"]}}

    return plant


def takes_an_unknown_manager_for_none(steps: Steps) -> None:
    """No step asks where it is unknown whether one may act."""
    for check in _about_managers(steps):
        check["where"] = {"other_manager": "acts"}


def _about_managers(steps: Steps) -> Steps:
    found = [one for step in steps for one in step.get("only_if", []) if one["reading"] == "other_manager"]
    assert found
    return found


def not_asked_about_its_link(steps: Steps) -> None:
    """The point of no return does not read whether the target hears from the source."""
    for step in steps:
        if "require" in step:
            step["require"] = [one for one in step["require"] if "hears from" not in one.get("say", "")]


def before_it_stops(steps: Steps) -> None:
    """The target takes over first, and nothing asks whether the source still serves."""
    names = [step["id"] for step in steps]
    taken = steps.pop(names.index("take-over"))
    for gone in ("reconfirm", "require", "progress", "when_guard_breaks", "poll", "point_of_no_return"):
        taken.pop(gone, None)
    steps.insert(names.index("close"), taken)


def never_asked_about_its_link(steps: Steps) -> None:
    """No step does."""
    steps[:] = [step for step in steps if step["id"] != "link-lost"]
    not_asked_about_its_link(steps)


def does_not_ask_about_sessions(steps: Steps) -> None:
    """That the gate is shut is all that the closing step reads."""
    for step in steps:
        for check in step.get("expect", ()):
            check["where"].pop("sessions_ended", None)


def on_the_wrong_side(steps: Steps) -> None:
    """What waits is read at the target."""
    for step in steps:
        for check in (*step.get("until", ()), *step.get("reconfirm", ())):
            if {"behind", "waiting"} & set(check["where"]):
                check["on"] = "target"
        if "progress" in step:
            step["progress"]["on"] = "target"


def never_drained(steps: Steps) -> None:
    """Nothing waits for the target to have everything."""
    for step in steps:
        for gone in ("reconfirm", "when_guard_breaks", "progress", "poll") if step["id"] == "take-over" else ():
            step.pop(gone, None)
    steps[:] = [step for step in steps if step["id"] not in ("drain", "nothing-left")]
