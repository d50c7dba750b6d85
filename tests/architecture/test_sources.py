"""Every fact names a document that its reader can open."""

from __future__ import annotations

import pytest

from tests.architecture.source import Source, code, listed
from tests.architecture.sources import private, sections, unfounded

X = "docs/sources" + "/x.md"  # not in one piece, or it would be looked for
PAGE = code(X, "# X", "## 1 One", "### 1.10 Ten", "### controlled 4: Four", "## fail-back: Back")


def test_no_file_names_a_private_document(files: list[Source]) -> None:
    """No file names a document of facts, a numbered seed, a line of a copy, or a design document."""
    assert not (found := private(files)), listed(found)


def test_named_sections_exist(files: list[Source]) -> None:
    """Every page below docs/sources that a file names is there, with the sections that it names."""
    pages = [file for file in files if file.path.startswith("docs/sources/")]
    assert pages
    assert not (found := unfounded(files, pages)), listed(found)


@pytest.mark.parametrize(
    "line",
    [
        *("# fact" + "s/solace.md section 3.9", "(fact" + "s section 7)", "as fact" + "s on AMPS say"),
        *(
            '"""See' + 'd 003, step 4."""',
            "see" + "ds 001 and 004",
            "at DO" + "C:19232 ff.",
            "DESIG" + "N, promise 8",
        ),
    ],
)
def test_control_private(line: str) -> None:
    """The checker finds each kind of private document, once; and numbers of seeds that a command takes are none."""
    assert len(private([code("x.py", line, "failover simulate --seeds 1000", "the facts of a run")])) == 1


@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        ([f"# ({X}, 1, 1.10 and controlled", "# 4). Three clients"], []),
        ([f"{X}, fail-back; 266 more"], []),
        ([f"{X}, 1 and 2.", f"{X}, controlled 4 to 6"], ["2", "controlled 6"]),
        ([f"{X}, 1.1"], ["1.1"]),
    ],
)
def test_control_unfounded(lines: list[str], missing: list[str]) -> None:
    """The checker reads a reference over two lines, and finds each section that the page does not have."""
    found = unfounded([code("y.py", *lines)], [PAGE])
    assert found == [f"y.py: {X} has no section {one}" for one in missing]


def test_control_no_page() -> None:
    """A page that is not there is found; a kind of step holds for the numbers behind it."""
    assert len(unfounded([code("y.py", f"{X}, 1")], [])) == 1
    assert sections(", uncontrolled 1, 4.2 and fail-back") == ["uncontrolled 1", "uncontrolled 4.2", "fail-back"]
