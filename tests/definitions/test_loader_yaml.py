"""From bytes to plain values: the dialect, its limits, and the line of each mistake."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.documents.loader import BYTES_MAX, load_runbook, read_runbook
from orchestrator.documents.yaml_nodes import ALIASES_MAX, NODES_MAX
from orchestrator.errors import DefinitionError
from tests.definitions.declared import Write, load_decisions

CHECK = """\
runbook: test/dialect
summary: {summary}
steps:
  - id: look
    title: t
    require:
      - on: source
        reading: replication
        where: {{enabled: {value}}}
"""


def _where(write: Write, value: str) -> object:
    return load_runbook(write(CHECK.format(summary="s", value=value))).steps[0].require[0].where["enabled"]


@pytest.mark.parametrize(
    "word", ["on", "off", "yes", "no", "On", "NO", "y", "2001-01-01", "1:30", "1_000", "0b1", "="]
)
def test_words_that_yaml_1_1_would_turn_into_something_else_stay_texts(write: Write, word: str) -> None:
    """Law: a word means what YAML 1.2's core schema says; booleans are true and false only."""
    assert _where(write, word) == word


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("true", True),
        ("False", False),
        ("7", 7),
        ("-7", -7),
        ("+7", 7),
        ("007", 7),
        ("0o17", 15),
        ("0x1f", 31),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("'7'", "7"),
        ("!!str 7", "7"),
        ("!!int 7", 7),
        ("!!float 7", 7.0),
        ("[1, a, true]", (1, "a", True)),
    ],
)
def test_numbers_booleans_and_lists(write: Write, word: str, value: object) -> None:
    """Law: a value keeps the type that was written; 1 is not true, and "7" is not 7."""
    found = _where(write, word)
    assert found == value
    assert type(found) is type(value)


def test_the_key_on_is_a_text(write: Write) -> None:
    """Law: ``on: source`` reads as it is written; YAML 1.1 would make its key a boolean."""
    assert load_runbook(write(CHECK.format(summary="s", value="true"))).steps[0].require[0].on == "source"


def test_aliases_within_the_limits_are_followed(write: Write) -> None:
    """Law: an anchor may save repetition."""
    text = CHECK.format(summary="&text the same", value="true").replace("title: t", "title: *text")
    assert load_runbook(write(text)).steps[0].title == "the same"


def test_a_byte_order_mark_and_windows_line_ends_are_harmless(write: Write) -> None:
    """Law: what an editor on another system adds does not change the meaning."""
    text = "\ufeff" + CHECK.format(summary="s", value="true").replace("\n", "\r\n")
    assert load_runbook(write(text.encode())).runbook == "test/dialect"


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
)
LAUGH = "a: &a [x, x]\n" + "".join(f"k{i}: *a\n" for i in range(ALIASES_MAX + 1))
# Each anchor holds the one before it: shallow where it is written, deep when it is followed.
TOWER = "k0: &a0 [x]\n" + "".join(f"k{i}: &a{i} [[[[[*a{i - 1}]]]]]\n" for i in range(1, 9))


@pytest.mark.parametrize(
    ("content", "line", "sentence"),
    [
        ("", None, "the file is empty"),
        ("# only a comment\n", None, "the file is empty"),
        ("---\n", None, "the file is empty"),
        ("- a\n- b\n", 1, "not a list"),
        ("\n\njust text\n", 3, "not a single value"),
        ("a: 1\nb: 2\na: 3\n", 3, "the key 'a' is given twice, first on line 1"),
        ("a:\n  b: 1\n  'b': 2\n", 3, "the key 'b' is given twice, first on line 2"),
        ("a:\n\tb: 1\n", 2, "the line has a tab where only spaces are allowed"),
        ("a: @b\n", 1, "starts with a reserved character"),
        ("a: 1\nb: 'open\nc: 2\n", 2, "a quote is opened here and never closed"),
        ("a: 1\nb: [1, 2\nc: 3\n", 2, "a bracket is opened here and not closed"),
        ("a: {b: 1\n", 1, "a bracket is opened here and not closed"),
        ("a: 1\nb: *nowhere\n", 2, "an alias (*) refers to an anchor that does not exist"),
        ("a: 1\nb: !python/object:os.system x\n", 2, "this YAML tag (!) is not allowed"),
        ("a: !!binary aGk=\n", 1, "this YAML tag (!) is not allowed"),
        ("a: !mine {b: c}\n", 1, "this YAML tag (!) is not allowed"),
        ("a: !mine [b]\n", 1, "this YAML tag (!) is not allowed"),
        ("a: !!int many\n", 1, "the value does not fit its YAML tag, int"),
        ("a: b: c\n", 1, "the line has a colon in a wrong place"),
        ("a: 1\n b: 2\n", 2, "the line has a colon in a wrong place"),
        ("a:\n  - 1\n b\n", 3, "the indentation does not match the lines above"),
        ("a: 1\nb\n", 3, "the line is neither a key with a colon nor an item with a dash"),
        ('a: "\\q"\n', 1, "a backslash starts an unknown escape sequence"),
        ("a: 1\n---\nb: 2\n", 2, "more than one document"),
        ("a: %b\n", 1, "starts with a reserved character"),
        ("%TAG !\n---\na: 1\n", 1, "this is not valid YAML"),
        ('a: "\\UFFFFFFFF"\n', None, "too large"),
        ("%YAML 1." + "9" * 5000 + "\n---\na: 1\n", None, "too large"),
        ('a: "\\ud800"\n', 1, "half of a character"),
        ('a: 1\nb: "\\0"\n', 2, "control character"),
        ('a: 1\nb: "\\e[2J"\n', 2, "control character"),
        ("a: 1\nb: \x07\n", 2, "control character"),
        (b"a: 1\nb: caf\xe9\n", 2, "not UTF-8"),
        ("a: 1\n".encode("utf-16"), 1, "not UTF-8"),
        ("a: 1\nb: .nan\n", 2, "this number is too long or not finite"),
        ("a: -.inf\n", 1, "this number is too long or not finite"),
        ("a: 1e999\n", 1, "this number is too long or not finite"),
        ("a: " + "9" * 5000 + "\n", 1, "this number is too long or not finite"),
        ("1: a\n", 1, "a key must be a text"),
        ("a: 1\ntrue: b\n", 2, "a key must be a text"),
        ("? [a, b]\n: c\n", 1, "a key must be a text"),
        ("a: {{ password }}\n", 1, "a key must be a text"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", 3, "merge keys"),
        ("a: &x [*x]\n", 1, "an alias refers to a value that contains the alias"),
        ("a:\n  &x b:\n    c: 1\n  d: &y {e: *y}\n", 4, "an alias refers to a value that contains the alias"),
        ("a: " + "[" * 40 + "]" * 40 + "\n", 1, "nested deeper than 32 levels"),
        ("[" * 100_000, 1, "nested deeper than 32 levels"),
        (TOWER, 1, "nested deeper than 32 levels"),
        (BOMB, 1, f"more than {NODES_MAX} values, including the values that its aliases repeat"),
        (LAUGH, ALIASES_MAX + 2, f"more than {ALIASES_MAX} aliases"),
        ("# " + "x" * BYTES_MAX, None, "larger than 1024 KiB"),
    ],
)
def test_every_mistake_of_yaml_has_one_sentence_and_its_line(
    write: Write, content: str | bytes, line: int | None, sentence: str
) -> None:
    """Law: what cannot be read is a DefinitionError that names file and line, and never a foreign exception."""
    path = write(content)
    with pytest.raises(DefinitionError) as caught:
        load_decisions(path)
    error = caught.value
    assert (error.file, error.line) == (str(path), line)
    assert sentence in str(error)
    assert str(error).startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert "\n" not in str(error)
    assert error.__cause__ is None


def test_all_mistakes_are_collected(write: Write) -> None:
    """Law: ``read_…`` returns every mistake in order; ``load_…`` raises the first and counts the rest."""
    path = write("a: !x 1\nb: .nan\na: 2\n")
    assert [(found.line, found.code) for found in read_runbook(path).findings] == [
        (1, "yaml"),
        (2, "wrong-value"),
        (3, "duplicate-key"),
    ]
    with pytest.raises(DefinitionError) as caught:
        load_runbook(path)
    assert caught.value.hint == "put a text that starts with ! in quotes; 2 more mistakes in this file"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("missing.yaml", "there is no such file"),
        ("", "this is a folder"),
        ("a\0b.yaml", "a file cannot have this name"),
    ],
)
def test_files_that_are_not_there(tmp_path: Path, name: str, sentence: str) -> None:
    """Law: an unreadable file is a DefinitionError with the name as it was given."""
    with pytest.raises(DefinitionError, match=sentence):
        load_runbook(tmp_path / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(write: Write) -> None:
    """Law: a lack of permission is said as such."""
    path = write("a: 1")
    path.chmod(0)
    with pytest.raises(DefinitionError, match="this program has no permission to read the file"):
        load_runbook(path)


def test_an_error_of_the_system_is_told(tmp_path: Path) -> None:
    """Law: any other error of the file system is a DefinitionError too."""
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    with pytest.raises(DefinitionError, match="cannot be read"):
        load_runbook(Path(loop))
