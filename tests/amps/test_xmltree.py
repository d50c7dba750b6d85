"""The XML reader: lines of every element, and nothing dangerous ever expanded."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.amps.config.configuration import parse_instance, read_instance
from adapters.amps.config.xmltree import DEPTH_MAX, parse
from orchestrator.errors import DefinitionError

BOMB = """<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<AMPSConfig><Name>&b;</Name></AMPSConfig>"""
PARAMETER = '<!DOCTYPE x [<!ENTITY % p "y">]><AMPSConfig><Name>a</Name></AMPSConfig>'


def test_an_element_knows_its_line_and_its_own_text() -> None:
    """``line`` is where the start tag begins; ``text`` is trimmed and leaves comments and children out."""
    root = parse("<a>\n <b>\n  one <!-- no --> two\n  <c/></b>\n</a>", file="f.xml")
    b = root.children[0]
    assert (b.tag, b.line, b.file, b.text, b.children[0].line) == ("b", 2, "f.xml", "one  two", 4)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("<AMPSConfig>\n<Name>a</AMPSConfig>", 2, "mismatched tag"),
        ("<AMPSConfig>\n\n<!-- a -- b --></AMPSConfig>", 3, "not well-formed"),
        ("", 1, "no element found"),
        ("not xml", 1, "not well-formed"),
        ("<AMPSConfig><Name>a</Name></AMPSConfig>\n<more/>", 2, "junk after document element"),
        (BOMB, 1, "entity a is refused"),
        (PARAMETER, 1, "entity p is refused"),
        ('<!DOCTYPE x SYSTEM "http://example.com/x.dtd">\n<AMPSConfig/>', 1, "external document type is refused"),
        ('<!DOCTYPE x [\n<!ENTITY e SYSTEM "file:///etc/hostname">]>\n<AMPSConfig>&e;</AMPSConfig>', 2, "entity e"),
        ("<AMPSConfig>\n&unknown;</AMPSConfig>", 2, "undefined entity"),
        ("<a>" * (DEPTH_MAX + 1), 1, "nested more than"),
        ("<Config><Name>a</Name></Config>", 1, "its root is Config, not AMPSConfig"),
        ("<AMPSConfig>\n<Group>g</Group></AMPSConfig>", 1, "the instance has no Name"),
    ],
)
def test_what_cannot_be_read_is_one_sentence_with_file_and_line(text: str, line: int, says: str) -> None:
    """Broken XML, entities of any kind, a wrong root and a missing name are definition errors with file and line."""
    with pytest.raises(DefinitionError) as caught:
        parse_instance(text, "a.xml")
    assert (caught.value.file, caught.value.line, caught.value.exit_code) == ("a.xml", line, 2)
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"a.xml:{line}: ")
    assert "\n" not in str(caught.value)


def test_an_external_entity_is_never_opened(tmp_path: Path) -> None:
    """The text of a file that an entity points at appears nowhere."""
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    text = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]><AMPSConfig><Name>&e;</Name></AMPSConfig>'
    with pytest.raises(DefinitionError) as caught:
        parse_instance(text)
    assert "s3cret" not in str(caught.value)


def test_an_encoding_nobody_knows_is_a_definition_error(tmp_path: Path) -> None:
    """One that Python has not, and one that is no encoding of characters byte by byte."""
    for encoding in ("no-such", "utf-7"):
        (tmp_path / "a.xml").write_text(f'<?xml version="1.0" encoding="{encoding}"?><AMPSConfig/>')
        with pytest.raises(DefinitionError) as caught:
            read_instance(tmp_path / "a.xml")
        assert caught.value.line == 1


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A missing file, and a folder in the place of a file, are definition errors."""
    for path in (tmp_path / "no.xml", tmp_path):
        with pytest.raises(DefinitionError, match="this file does not exist"):
            read_instance(path)


def test_latin_1_and_utf_16_are_read_as_they_say(tmp_path: Path) -> None:
    """The encoding of a file is the one it declares."""
    for encoding in ("iso-8859-1", "utf-16"):
        path = tmp_path / f"{encoding}.xml"
        text = f'<?xml version="1.0" encoding="{encoding}"?><AMPSConfig><Name>Zürich</Name></AMPSConfig>'
        path.write_bytes(text.encode(encoding))
        assert read_instance(path).name == "Zürich"
