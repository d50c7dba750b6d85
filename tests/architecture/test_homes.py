"""Each third-party library is imported in one place, is declared, and is pinned with its hash."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.architecture.homes import HOMES, Home, package_name, strays, undeclared, unpinned
from tests.architecture.source import ROOT, Source, code, listed

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
RUNTIME: list[str] = PROJECT["project"]["dependencies"]
OPTIONAL: list[str] = [
    name for names in PROJECT["project"].get("optional-dependencies", {}).values() for name in names
]
GROUPS: dict[str, list[object]] = PROJECT["dependency-groups"]


def pins(name: str) -> list[str]:
    return (ROOT / "requirements" / name).read_text("utf-8").splitlines()


def group(name: str) -> list[str]:
    return [one for one in GROUPS[name] if isinstance(one, str)]


def test_every_library_is_at_home(product: list[Source]) -> None:
    """A third-party library is imported in its home only; one without a home is not imported at all."""
    assert not (found := strays(product)), listed(found)


def test_dependencies_are_what_is_imported(product: list[Source]) -> None:
    """The product declares what it imports, and imports what it declares."""
    assert not (found := undeclared(product, RUNTIME + OPTIONAL)), listed(found)


def test_homes_say_why() -> None:
    """Each home has its reason."""
    assert all(home.reason for home in HOMES.values())


@pytest.mark.parametrize(
    ("file", "declared"),
    [
        ("run.txt", RUNTIME + group("build")),
        ("dev.txt", RUNTIME + group("build") + group("dev")),
        ("kerberos.txt", group("kerberos")),
    ],
)
def test_pins_hold_what_is_declared(file: str, declared: list[str]) -> None:
    """Whatever pyproject.toml declares stands in the pins; `make pins` was run after the last change."""
    assert not (found := unpinned(pins(file), declared)), listed(found)


@pytest.mark.parametrize("file", ["run.txt", "dev.txt", "kerberos.txt"])
def test_pins_have_hashes(file: str) -> None:
    """Each pin is one exact version with at least one hash, and the file sets no option of pip."""
    text = re.sub(r"\\\n\s*", "", "\n".join(pins(file)))
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    wrong = [line[:60] for line in lines if not re.match(r"[a-z0-9.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line)]
    assert lines
    assert not wrong, listed(wrong)


def test_tests_run_what_is_shipped() -> None:
    """dev.txt holds all of run.txt in the same versions: what is tested is what runs."""
    run, dev = ({line for line in pins(name) if re.match(r"[a-z0-9]", line)} for name in ("run.txt", "dev.txt"))
    assert run <= dev


def test_what_is_compiled_is_the_extra() -> None:
    """kerberos.txt is made of what the extra asks for, and changes no version that dev.txt has."""
    assert PROJECT["project"]["optional-dependencies"]["kerberos"] == group("kerberos")
    dev, more = (
        dict(line.split(" ")[0].split("==") for line in pins(name) if re.match(r"[a-z0-9]", line))
        for name in ("dev.txt", "kerberos.txt")
    )
    assert {name: dev[name] for name in more if name in dev} == {name: more[name] for name in more if name in dev}
    assert set(more) - set(dev) == {"decorator", "gssapi", "httpx-gssapi"}


def test_control_homes() -> None:
    """The checkers find a library away from home, one without a home, and both kinds of wrong declaration."""
    sources = [
        code(
            "orchestrator/engine/engine.py", "import time", "import sqlalchemy.exc", "from orchestrator import clock"
        ),
        code("validator/a.py", "def f() -> None:", "    import requests"),
        code("orchestrator/journal/journal.py", "from sqlalchemy import Table"),
    ]
    homes = {"sqlalchemy": Home(("orchestrator/journal/journal.py",), "the record")}
    assert [line.split(";")[0] for line in strays(sources, homes)] == [
        "orchestrator/engine/engine.py:2: sqlalchemy lives in orchestrator/journal/journal.py",
        "validator/a.py:2: requests has no home",
    ]
    assert undeclared(sources, ["typer>=1"]) == [
        "sqlalchemy is imported, but pyproject.toml does not name it",
        "typer is declared, but nothing imports it",
    ]
    assert unpinned(["typer==0.1 \\", "    --hash=sha256:00"], ["typer>=0.1", "Rich[jupyter]>=1"]) == ["rich"]
    assert package_name("SQLAlchemy[asyncio]>=2 ; python_version < '4'") == "sqlalchemy"
