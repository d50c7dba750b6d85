"""Whatever is in a file, reading it ends in an instance or in a definition error with the file's name."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from adapters.amps.config.configuration import parse_instance
from adapters.amps.config.includes import expand_text
from adapters.amps.config.settings import Assumptions
from adapters.amps.config.xmltree import parse
from orchestrator.errors import DefinitionError
from validator.validate import validate

TAGS = ("AMPSConfig", "Name", "Group", "SOW", "Topic", "Queue", "Replication", "Destination", "SyncType", "Transport")
MORE = (
    "TransactionLog",
    "MessageType",
    "ExcludeValidation",
    "PassThrough",
    "InetAddr",
    "Bootstrap",
    "Pattern",
    "Other",
)
TEXTS = st.sampled_from(
    ["", "a", "A", "sync", "json", ".*", "[", "^(", "a:1", ":x", "${V}", "replicate,,x", "A\x85", " "]
)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """No other exception leaves the reader."""
    try:
        parse(data, file="f.xml")
    except DefinitionError as error:
        assert str(error).startswith("f.xml")


@st.composite
def trees(draw: st.DrawFn, depth: int = 0) -> str:
    tag = draw(st.sampled_from(TAGS + MORE))
    if depth == 3 or draw(st.booleans()):
        return f"<{tag}>{draw(TEXTS)}</{tag}>"
    return f"<{tag}>{''.join(draw(st.lists(trees(depth=depth + 1), max_size=4)))}</{tag}>"


@given(st.lists(trees(), max_size=6))
def test_any_elements_in_any_place_are_validated(parts: list[str]) -> None:
    """Elements that make no sense become remarks, whatever they are and wherever they stand."""
    text = f"<AMPSConfig><Name>A</Name>{''.join(parts)}</AMPSConfig>"
    try:
        report = validate([parse_instance(text, "f.xml")])
    except DefinitionError as error:
        assert "f.xml" in str(error)  # an instance whose only Name is empty after all, or a strange include
    else:
        assert report.to_json()


@given(noise=st.text(alphabet="<>&;/!-[]\"' AMPSConfigNae", max_size=60), at=st.integers(0, 400))
def test_a_broken_file_is_refused_with_its_line(noise: str, at: int, amps: SimpleNamespace) -> None:
    """Noise anywhere in a sound file ends in an instance or in one sentence."""
    sound = amps.full("A", ["B"], ["t"]).xml()
    try:
        expand_text(sound[:at] + noise + sound[at:], "f.xml", {}, Assumptions())
    except DefinitionError as error:
        assert error.file == "f.xml" and (error.line or 0) >= 1
