"""The project belongs to no machine, and its documents name what is there."""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import sys

import pytest

from tests.architecture.source import ROOT, Source, code, is_ignored, listed
from tests.architecture.tree import broken_links, foreign, missing_files, unknown_targets


@pytest.fixture(scope="module")
def documents(files: list[Source]) -> list[Source]:
    return [file for file in files if file.path.endswith(".md")]


# Pages that docs/generate.py makes. `make docs` checks the links to them.
GENERATED = ("docs/reference/commands/", "docs/reference/keys/", "docs/reference/events.md")


def exists(path: str) -> bool:
    return (ROOT / path).exists() or posixpath.normpath(path).startswith(GENERATED)


def named(files: list[Source], path: str) -> Source:
    return next(file for file in files if file.path == path)


def test_no_file_belongs_to_one_machine(files: list[Source]) -> None:
    """No file names a path of a machine, or where packages are fetched from."""
    assert {"Makefile", ".ci/run", "requirements/dev.txt"} <= {file.path for file in files}
    assert not (found := foreign(files)), listed(found)


def test_links_lead_somewhere(documents: list[Source]) -> None:
    """Every link of a document to a file of the project finds it."""
    assert not (found := broken_links(documents, exists)), listed(found)


def test_documented_targets_exist(files: list[Source], documents: list[Source]) -> None:
    """Every `make …` in a document is a target of the Makefile."""
    assert not (found := unknown_targets(documents, named(files, "Makefile").text)), listed(found)


def test_contributing_lists_every_target(files: list[Source]) -> None:
    """Every target that `make` lists stands in CONTRIBUTING.md."""
    targets = set(re.findall(r"^([a-z-]+):.*## ", named(files, "Makefile").text, flags=re.MULTILINE)) - {"help"}
    shown = set(re.findall(r"^\| `make ([a-z-]+)` \|", named(files, "CONTRIBUTING.md").text, flags=re.MULTILINE))
    assert shown == targets


def test_contributing_names_real_files(files: list[Source]) -> None:
    """The newcomer's path is six files, and every file that CONTRIBUTING.md names is there."""
    contributing = named(files, "CONTRIBUTING.md")
    assert not (found := missing_files(contributing, exists)), listed(found)
    assert len(re.findall(r"^\d\. `[\w/]+\.py`: ", contributing.text, flags=re.MULTILINE)) == 6


def test_system_packages_have_reasons(files: list[Source]) -> None:
    """Every package that .ci/run installs stands in CONTRIBUTING.md with its reason, and no other."""
    installed = set(re.findall(r"^need ([a-z0-9-]+) ", named(files, ".ci/run").text, flags=re.MULTILINE))
    installed |= set(re.findall(r"packages\+=\(([a-z0-9-]+)\)", named(files, ".ci/run").text))
    section = named(files, "CONTRIBUTING.md").text.split("### System packages")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \| \w", section, flags=re.MULTILINE)) == installed


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_an_interpreter_by_name_has_its_own_environment() -> None:
    """`make PYTHON=… test` never runs in the environment of another Python, though that one be there already."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    asked = ["make", "--dry-run", "--always-make", "test"]
    said = [
        subprocess.run([*asked, *by_name], cwd=ROOT, env=clean, check=True, capture_output=True, text=True).stdout
        for by_name in ([], [f"PYTHON={sys.executable}"])
    ]
    environments = [set(re.findall(r"(\S+)/bin/python -m pytest", text)) for text in said]
    assert environments == [{".venv"}, {f".venv-{sys.version_info.major}.{sys.version_info.minor}"}]


@pytest.mark.parametrize(
    "line",
    [
        "see " + "/home" + "/ann/notes",
        "cd " + "/work" + "/main",
        "# via failover (" + "/root" + "/x)",
        "python: ~/" + ".pyenv" + "/versions",
        "https://" + "pypi" + ".org/simple",
        "--extra-" + "index-url https://packages.example.com",
        "--find-" + "links wheels",
    ],
)
def test_control_foreign(line: str) -> None:
    """The checker finds each kind of foreign line, once."""
    assert len(foreign([code("docs/x.md", "fine", line)])) == 1


@pytest.mark.parametrize(
    "line", ["uv pip compile --no-emit-index-url", "~/.ssh/known_hosts", "docs/home/x", "/tmp/x"]
)
def test_control_not_foreign(line: str) -> None:
    """Paths that mean the same on every machine are nobody's."""
    assert foreign([code("docs/x.md", line)]) == []


def test_control_ignored() -> None:
    """What tools and commands leave behind is no file of the project; a folder of the same name deeper down is."""
    patterns = ["/lab/", "*.egg-info/", "build/"]
    left = ["lab", "failover.egg-info", "docs/build"]
    ours = ["simulator/lab", "builder"]
    assert [path for path in left + ours if is_ignored(path, patterns)] == left


def test_control_documents() -> None:
    """The checkers find a dead link, an unknown target and a missing file; and nothing else."""
    page = code(
        "docs/x.md", "[a](y.md#part) [b](z.md) [c](https://example.com)", "`make go` `make J=1 stay`", "make x"
    )
    assert broken_links([page], lambda path: path == "docs/y.md") == ["docs/x.md: links to z.md, which is not there"]
    assert [line.split("`")[1] for line in unknown_targets([page], "go: x\nx:\nstay := 1\n")] == ["make stay"]
    assert missing_files(code("x.md", "`tests/a.py` `orchestrator/b`"), lambda path: path == "tests/a.py") == [
        "x.md: names orchestrator/b, which is not there"
    ]
