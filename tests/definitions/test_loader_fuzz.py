"""Whatever is in a file, the loader answers with a value or with DefinitionError."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.documents.loader import load_inventory, load_runbook
from orchestrator.errors import DefinitionError
from tests.definitions.declared import load_decisions

SHIPPED = (Path(__file__).parents[2] / "runbooks/solace/controlled.yaml").read_text(encoding="utf-8")
INVENTORY = (Path(__file__).parents[2] / "examples/inventory.yaml").read_text(encoding="utf-8")
LOADERS = [load_runbook, load_inventory, load_decisions]

# The characters that mean something in YAML, much denser than chance would have them.
yaml_like = st.text(alphabet="ab:-?[]{}#&*!|>'\"%@`,~<\\ \n\t0.1ex_", max_size=80)
scalar = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file, written over for each example."""
    return tmp_path_factory.mktemp("fuzz") / "fuzz.yaml"


def _only_definition_errors(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for load in LOADERS:
        try:
            load(path)
        except DefinitionError as error:
            assert str(error).startswith(str(path))
            assert error.line is None or 1 <= error.line <= content.count(b"\n") + content.count(b"\r") + 2


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes(path: Path, content: bytes) -> None:
    """Law: no bytes make the loader raise anything but DefinitionError."""
    _only_definition_errors(path, content)


@settings(max_examples=400, deadline=None)
@given(yaml_like | st.text(max_size=60))
def test_any_text(path: Path, text: str) -> None:
    """Law: no text makes the loader raise anything but DefinitionError."""
    _only_definition_errors(path, text.encode("utf-8", "surrogatepass"))


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.sampled_from([SHIPPED, INVENTORY]),
    st.integers(min_value=0, max_value=5000),
    st.integers(0, 40),
    yaml_like,
)
def test_damaged_files(path: Path, text: str, at: int, length: int, insert: str) -> None:
    """Law: a real file with a piece replaced by anything is a value or a DefinitionError."""
    _only_definition_errors(path, (text[:at] + insert + text[at + length :]).encode())
