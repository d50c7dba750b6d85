"""What a target lacks, of a family that only the last numbers of both ends tell: in status, and of a lost site."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.families.declared import Counters
from tests.families.test_generic_runbooks import of_both_ends

pytestmark = pytest.mark.realtime


def a_pair(folder: Path) -> Counters:
    """ny has issued 120 steps, of which nj has 113. A site without its file does not answer."""
    counters = Counters.make(folder)
    shutil.rmtree(folder / "families/counter")
    file = folder / "families/counter.yaml"
    said = yaml.safe_load(file.read_text())
    said["readings"] = json.loads(json.dumps(of_both_ends()["readings"]))
    said["readings"]["counter"]["fields"]["count"]["when"] = {"writable": True}
    said["readings"]["counter"]["fields"]["copied"]["when"] = {"writable": False}
    said["connect"]["exec"]["unreachable"] = "No such file"
    file.write_text(yaml.safe_dump(said, sort_keys=False))
    counters.write("ny", state={"role": "primary"}, linked=True, count=120, copied=0)
    counters.write("nj", state={"role": "copy"}, linked=True, count=0, copied=113)
    return counters


def test_status_compares_both_ends(tmp_path: Path) -> None:
    """Law: status shows what the mate of a serving site lacks; where the mate does not tell, it is unknown."""
    counters = a_pair(tmp_path)
    code, text = counters.run("status")
    assert (code, "7 steps" in text) == (0, True), text
    code, text = counters.run("status", "--json")
    assert '"backlog":7' in text, text
    counters.write("nj", state={"role": "copy"}, linked=True)
    _, text = counters.run("status")
    assert ("unknown" in text, "steps" in text) == (True, False), text


@pytest.mark.parametrize("is_known", [True, False])
def test_a_lost_site(tmp_path: Path, is_known: bool) -> None:
    """Law: an unplanned move reports how many the target lacks of what the lost site was last read to have; without such
    a reading that is unknown, never a number, and never nothing."""
    counters = a_pair(tmp_path)
    if is_known:
        counters.run("status")
    (tmp_path / "ny.json").rename(tmp_path / "away.json")
    counters.write("nj", state={"role": "copy"}, linked=False, count=0, copied=113)
    words = ("uncontrolled", "--service", "one", "--site", "ny", "--yes", "--attest", "its machine is off")
    code, text = counters.run(*words)
    assert (code, counters.role("nj")) == (0, "primary"), text
    said = " ".join(text.split())
    assert ("its last step was 120" in said) is is_known, text
    assert ("LEFT AT ny: 7 steps" in said, "so the present number is unknown" in said) == (is_known, is_known), text
    assert ("the number of steps that only ny holds is unknown" in said) is not is_known, text
