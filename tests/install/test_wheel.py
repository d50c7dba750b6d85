"""What is installed: the wheel has what the product needs, and nothing that only its tests need."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

pytestmark = pytest.mark.realtime

# What it puts at the top level of an environment (docs/how-to/install.md).
TOP = {"orchestrator", "adapters", "simulator", "validator", "pipeline", "proof", "runbooks"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [found] = folder.glob("*.whl")
    return found


def test_the_wheel_has_the_product_and_nothing_else(wheel: Path) -> None:
    """Law: no test, no mutant and no benchmark is in the wheel; runbooks, schemas and templates are."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        described = archive.read(metadata).decode()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == TOP
    assert not [name for name in names if "mutant" in name or "/test" in name or "conftest" in name]
    for needed in (
        "runbooks/solace/controlled.yaml",
        "orchestrator/schemas/run.schema.json",
        "orchestrator/reports/page/templates/page.html",
        "orchestrator/reports/page/templates/check.js",
    ):
        assert needed in names
    assert "Classifier: Private :: Do Not Upload" in described
    page = (ROOT / "docs/how-to/install.md").read_text(encoding="utf-8")
    assert all(f"`{top}`" in page for top in TOP)


def pack(folder: Path, wheel: Path) -> Path:
    """A bundle with no dependencies in it, packed as `install/bundle.sh` does."""
    (folder / "wheels").mkdir(parents=True)
    (folder / "wheels" / wheel.name).write_bytes(wheel.read_bytes())
    (folder / "requirements.txt").write_text("", encoding="utf-8")
    script = folder / "install.sh"
    script.write_bytes((ROOT / "install/install.sh").read_bytes())
    script.chmod(0o755)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  ./{path.relative_to(folder)}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    return script


def run(script: Path, target: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": sys.executable, "PIP_NO_INDEX": "1", **more}
    return subprocess.run([str(script), str(target)], env=environment, capture_output=True, text=True, check=False)


def test_the_script_installs_nothing_from_a_bundle_that_was_changed(tmp_path: Path, wheel: Path) -> None:
    """Law: a changed byte, an old Python and a directory that exists are refused, each with what to do; nothing is
    installed. Control: the same script gets as far as the wheel when nothing is wrong."""
    script = pack(tmp_path / "bundle", wheel)
    target = tmp_path / "target"
    target.mkdir()
    refused = run(script, target)
    assert refused.returncode == 1 and "exists: remove it, or name another directory" in refused.stderr
    target.rmdir()
    assert "set PYTHON" in run(script, target, PYTHON="/no/such/python").stderr
    installed = run(script, target)  # it lacks what failover needs, and says so when it starts
    assert (target / "bin/failover").exists(), installed.stderr
    assert "installed:" not in installed.stdout
    (tmp_path / "bundle/requirements.txt").write_text("#", encoding="utf-8")
    changed = run(script, tmp_path / "other")
    assert changed.returncode == 1 and "copy the bundle again" in changed.stderr
    assert not (tmp_path / "other").exists()
