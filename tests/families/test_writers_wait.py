"""Writers that wait for a mate which is away (facet ``blocked``): `status`, `check` and `watch` say so, as runs do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from adapters.declared.family import family_of
from orchestrator.core.pair_position import End, position_of
from orchestrator.model.declared.file import FamilyFile
from orchestrator.operations.pairs.status_facets import figures_of, row_words
from tests.families.declared import COUNTER, Counters

FAMILY = family_of(FamilyFile.model_validate(COUNTER), None)
WAITS = "WRITERS WAIT: ny confirms no write of one until nj is restored"
LINK_DOWN = FAMILY.words.link_down.format(site="ny")


@pytest.mark.parametrize(
    ("here", "there", "word"),
    [
        (End("ny", serves=True, link=True, blocked=True), End("nj", serves=False), WAITS),
        (End("ny", serves=True, link=False, blocked=True), End("nj", serves=False), f"{LINK_DOWN}; {WAITS}"),
        (End("ny", serves=True, link=True, blocked=False), End("nj", serves=False), "ok"),
        (End("ny", serves=True, link=True), End("nj", serves=False, blocked=True), "ok"),
    ],
    ids=["waits", "link down too", "does not wait", "the mate would"],
)
def test_what_the_position_says(here: End, there: End, word: str) -> None:
    """Law: only at a serving site do writers wait; the verdict of every screen says so, beside what else is wrong."""
    for ends in ((here, there), (there, here)):
        assert position_of(FAMILY, ends, "one").word == word
    assert ("writers wait" in row_words(here)) is bool(here.blocked)
    assert figures_of(here)["blocked"] is here.blocked


@pytest.mark.realtime
def test_status_and_check(tmp_path: Path) -> None:
    """Law: the real commands read it, for people and for machines."""
    counters = Counters.make(tmp_path)
    file = tmp_path / "families/counter.yaml"
    said = yaml.safe_load(file.read_text())
    said["readings"]["counter"]["fields"]["waits"] = {"from": "/waits", "type": "bool", "facet": "blocked"}
    file.write_text(yaml.safe_dump(said, sort_keys=False))
    counters.write("ny", state={"role": "primary"}, linked=True, unsent=0, waits=True)
    counters.write("nj", state={"role": "copy"}, linked=True, waits=False)
    for command in ("status", "check"):
        code, text = counters.run(command)
        assert (code, WAITS in " ".join(text.split())) == (4, True), text
    _, text = counters.run("status", "-o", "json")
    document = json.loads(text)
    assert '"blocked": true' in json.dumps(document)
    assert WAITS in text
