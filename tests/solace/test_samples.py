"""What `failover check --explain` wrote somewhere, put into adapters/solace/samples: every file there is played back."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest

from tests.solace.replay import difference, documents, load, play

FOLDER = Path(__file__).parents[2] / "adapters" / "solace" / "samples"
FILES = documents(FOLDER)


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_sample_is_read_as_it_was(file: Path) -> None:
    """Law: the recorded answers, given to the adapters again, come to the readings that were recorded with them, by the
    same lines in the same order."""
    sites = load(file)["sites"]
    found = [text for site in sites for one, answers in play(site) for text in difference(one, answers)]
    assert found == []


def test_there_is_a_sample() -> None:
    """Law: the folder holds at least one, over the CLI and over SEMP, so that the other test says something."""
    told = [part["adapter"] for file in FILES for site in load(file)["sites"] for part in site["adapters"]]
    assert {"solace-cli", "solace-semp"} <= set(told)


def test_every_sample_says_where_it_was_made() -> None:
    """Law: README.md names each file, and where it was made; what a lab made says itself that it is simulated."""
    page = (FOLDER / "README.md").read_text("utf-8")
    made = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", page, re.M))
    assert set(made) == {file.name for file in FILES}
    for file in FILES:
        assert load(file)["simulated"] is ("Not a broker" in made[file.name]), file.name


def test_control_a_changed_answer_is_noticed() -> None:
    """The checker fails where an answer says something else than was recorded."""
    sites = next(load(file)["sites"] for file in FILES if file.stem == "lab-cli-ha")
    changed = copy.deepcopy(sites[0])
    queue = next(one for one in changed["readings"] if one["reading"] == "replication_queue")
    queue["answers"][0]["understood"]["messages"] = 77
    assert [text for one, answers in play(changed) for text in difference(one, answers)] != []
