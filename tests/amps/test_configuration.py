"""From XML to the model: defaults, synonyms, includes, variables, and remarks on what is odd."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.amps.config.configuration import parse_instance, read_instance
from adapters.amps.config.model import Check, Instance, Topic
from adapters.amps.config.settings import Assumptions
from orchestrator.errors import DefinitionError
from validator.gather import UnreadableConfigurations, read_all


def within(inner: str) -> Instance:
    return parse_instance(f"<AMPSConfig><Name>a</Name>\n{inner}</AMPSConfig>", "a.xml")


def remarks(inner: str) -> list[tuple[str, int]]:
    return [(remark.rule, remark.at.line) for remark in within(inner).remarks]


def test_defaults_are_those_of_the_configuration_guide() -> None:
    """Group is the Name, UnderlyingTopic the queue's name, KeyDomain the topic's name, queues are at-least-once."""
    a = within(
        "<SOW><Topic><Name>t</Name><MessageType>json</MessageType></Topic>"
        "<Queue><Name>q</Name><MessageType>json</MessageType></Queue></SOW>"
    )
    assert (a.group, a.log, a.regexes) == ("a", None, True)
    assert (a.sow[0].key_domain, a.sow[0].keys) == ("t", ())
    assert (a.queues[0].underlying, a.queues[0].semantics, a.queues[0].kind) == ("q", "at-least-once", "Queue")


def test_older_synonyms_mean_the_same() -> None:
    """``Topic`` for ``Name``, and the Definition names of views, conflated topics and queues, are read."""
    a = within(
        "<SOW><Topic><Topic>t</Topic><MessageType>fix</MessageType></Topic>"
        "<QueueDefinition><Topic>q</Topic><MessageType>fix</MessageType></QueueDefinition>"
        "<ViewDefinition><Topic>v</Topic><MessageType>fix</MessageType></ViewDefinition>"
        "<ReplicaDefinition><Topic>c</Topic><MessageType>fix</MessageType></ReplicaDefinition></SOW>"
    )
    assert [each.name for each in a.sow] == ["t"]
    assert [(each.name, each.kind) for each in a.queues] == [("q", "Queue")]
    assert [(each.name, each.kind) for each in a.derived] == [("v", "View"), ("c", "ConflatedTopic")]
    assert a.remarks == ()


def test_a_destination_is_read_whole() -> None:
    """Topics, filters, exclusions, pass-through and the addresses of all transports, in document order."""
    a = within(
        "<Replication><Destination><Name>b</Name><Group>g</Group><SyncType>async</SyncType>"
        "<PassThrough>^g$</PassThrough>"
        "<Topic><MessageType>json</MessageType><Name>t</Name><Filter>/x &lt; 1</Filter>"
        "<ExcludeValidation> replicate , cascade </ExcludeValidation></Topic>"
        "<Topic><MessageType>fix</MessageType></Topic>"
        "<Transport><Type>amps-replication</Type><InetAddr>h:1</InetAddr><InetAddr>[::1]:2</InetAddr></Transport>"
        "<Transport><Type>amps-replication-secure</Type><InetAddr>3</InetAddr></Transport>"
        "</Destination></Replication>"
    )
    out = a.destinations[0]
    assert (out.name, out.group, out.sync_type, out.passthrough) == ("b", "g", "async", "^g$")
    assert [(each.host, each.port) for each in out.addresses] == [("h", 1), ("::1", 2), ("", 3)]
    assert out.topics[0].excluded == {Check.REPLICATE, Check.CASCADE}
    assert (out.topics[0].filter, out.topics[1].name, out.topics[1].message_type) == ("/x < 1", None, "fix")
    assert a.remarks == ()


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("<Replication>\n<Destination/></Replication>", "missing-element"),
        ("<Replication>\n<Destination/></Replication>", "missing-setting"),
        ("<TransactionLog>\n<Topic><Name>t</Name></Topic></TransactionLog>", "missing-element"),
        ("<SOW>\n<Topic><Name>t</Name></Topic></SOW>", "missing-element"),
        ("<SOW>\n<Queue><MessageType>json</MessageType></Queue></SOW>", "missing-element"),
        ("\n<TransactionLog/>", "missing-setting"),
        ("<Transports>\n<Transport><Type>tcp</Type></Transport></Transports>", "missing-setting"),
        ("\n<Replicaton/>", "element-misspelt"),
        ("\n<Zebra/>", "element-unknown"),
        ("<SOW>\n<Topc/></SOW>", "element-misspelt"),
        (
            "<SOW><Topic><Name>t</Name><MessageType>json</MessageType>\n<Foo>/id</Foo></Topic></SOW>",
            "element-unknown",
        ),
        ("\n<Name>b</Name>", "element-repeated"),
        ("\n<Group>${SITE}</Group>", "variable-undefined"),
        ("<SOW>\n<Topic><Name>^t</Name><MessageType>json</MessageType></Topic></SOW>", "sow-name-pattern"),
    ],
)
def test_what_is_odd_is_remarked_on_with_its_line(inner: str, expected: str) -> None:
    """A missing, misspelt, unknown or repeated element is remarked on at its own line, and reading goes on."""
    assert (expected, 3) in remarks(inner)


def test_exclusions_that_exclude_nothing_are_told_apart() -> None:
    """A misspelt check stays in force, a mandatory one too; the rest of the list has its effect."""
    a = within(
        "<Replication><Destination><SyncType>sync</SyncType><Transport><Type>t</Type></Transport><Topic><Name>t</Name>"
        "<MessageType>json</MessageType>\n<ExcludeValidation>sow,replicat,queue</ExcludeValidation>"
        "</Topic></Destination></Replication>"
    )
    entry = a.destinations[0].topics[0]
    assert (entry.excluded, entry.unknown_exclusions, entry.void_exclusions) == (
        frozenset({Check.SOW}),
        ("replicat",),
        ("queue",),
    )
    assert {(each.rule, each.at.line, each.hint) for each in a.remarks} == {
        ("exclusion-unknown", 3, "did you mean replicate?"),
        ("exclusion-mandatory", 3, "remove queue from ExcludeValidation"),
    }


def test_a_name_that_amps_does_not_accept_is_remarked_on() -> None:
    """No space, slash, backslash, dollar or tilde in the name of an instance."""
    remark = parse_instance("<AMPSConfig>\n<Name>a b</Name></AMPSConfig>").remarks[0]
    assert (remark.rule, remark.at.line) == ("name-invalid", 2)


def test_variables_are_replaced_everywhere_by_what_was_given() -> None:
    """Values given win over the two that AMPS sets itself; what has no value stays as it is written."""
    text = "<AMPSConfig><Name>${NAME}-1</Name><Group>${AMPS_CONFIG_DIRECTORY}</Group></AMPSConfig>"
    a = parse_instance(text, "/etc/amps/a.xml", {"NAME": "nyc"})
    assert (a.name, a.group, a.remarks) == ("nyc-1", "/etc/amps", ())
    assert parse_instance(text, "/etc/amps/a.xml").name == "${NAME}-1"


def test_an_include_is_put_in_its_place_and_keeps_its_own_lines(tmp_path: Path) -> None:
    """What comes from an included file is found at that file's lines; variables and includes work inside it too."""
    (tmp_path / "a.xml").write_text(
        "<AMPSConfig><Name>a</Name>\n<TransactionLog><JournalDirectory>j</JournalDirectory>\n"
        '<Include comment="true">parts/${SITE}.xml</Include></TransactionLog></AMPSConfig>'
    )
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "nyc.xml").write_text("\n<Topic>\n<Include>name.xml</Include><MessageType>json</MessageType></Topic>")
    (parts / "name.xml").write_text("<Name>t</Name>")
    a = read_instance(tmp_path / "a.xml", {"SITE": "nyc"})
    assert a.log is not None
    assert [(each.name, each.at) for each in a.log.topics] == [("t", (str(parts / "nyc.xml"), 2))]


def test_an_included_file_may_have_several_elements(tmp_path: Path) -> None:
    """An assumption: a fragment with several roots is read as they stand."""
    (tmp_path / "a.xml").write_text("<AMPSConfig><Include>b.xml</Include></AMPSConfig>")
    (tmp_path / "b.xml").write_text("<Name>a</Name>\n<Group>g</Group>")
    a = read_instance(tmp_path / "a.xml")
    assert (a.name, a.group) == ("a", "g")


def test_what_a_path_in_an_include_is_relative_to_is_a_setting(tmp_path: Path) -> None:
    """``include_base``: the file with the include (default), the main file, or the working directory."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.xml").write_text("<AMPSConfig><Include>sub/b.xml</Include></AMPSConfig>")
    (tmp_path / "sub" / "b.xml").write_text("<Include>c.xml</Include>")
    (tmp_path / "sub" / "c.xml").write_text("<Name>below</Name>")
    (tmp_path / "c.xml").write_text("<Name>beside</Name>")
    assert read_instance(tmp_path / "a.xml").name == "below"
    assert read_instance(tmp_path / "a.xml", {}, Assumptions(include_base="main-file")).name == "beside"


@pytest.mark.parametrize(
    ("files", "where", "says"),
    [
        ({"a.xml": "<AMPSConfig>\n<Include>a.xml</Include></AMPSConfig>"}, ("a.xml", 2), "a.xml → a.xml"),
        (
            {
                "a.xml": "<AMPSConfig><Include>b.xml</Include></AMPSConfig>",
                "b.xml": "<SOW>\n\n<Include>c.xml</Include></SOW>",
                "c.xml": "<Topic>\n<Include>b.xml</Include></Topic>",
            },
            ("c.xml", 2),
            "b.xml → c.xml → b.xml",
        ),
        ({"a.xml": "<AMPSConfig>\n<Include>no.xml</Include></AMPSConfig>"}, ("a.xml", 2), "does not exist"),
        ({"a.xml": "<AMPSConfig>\n<Include/></AMPSConfig>"}, ("a.xml", 2), "does not name a file"),
        (
            {"a.xml": "<AMPSConfig><Include>b.xml</Include></AMPSConfig>", "b.xml": "<SOW>\n<"},
            ("b.xml", 2),
            "well-formed",
        ),
    ],
)
def test_includes_that_cannot_work_are_definition_errors(
    files: dict[str, str], where: tuple[str, int], says: str, tmp_path: Path
) -> None:
    """Circles, missing and broken included files are told of at the line of the include, or of the break."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(DefinitionError) as caught:
        read_instance(tmp_path / "a.xml")
    assert (caught.value.file, caught.value.line) == (str(tmp_path / where[0]), where[1])
    assert says in str(caught.value)


def test_includes_that_multiply_are_stopped(tmp_path: Path) -> None:
    """Files that include each other twice, level by level, stop at a size, not at the end of memory."""
    (tmp_path / "a.xml").write_text("<AMPSConfig><Include>0.xml</Include></AMPSConfig>")
    padding = f"<!--{'x' * 200_000}-->"
    for level in range(30):
        more = f"<Include>{level + 1}.xml</Include>"
        (tmp_path / f"{level}.xml").write_text(f"<x>{padding}{more}{more}</x>")
    (tmp_path / "30.xml").write_text("<x/>")
    with pytest.raises(DefinitionError, match="the included files have more than"):
        read_instance(tmp_path / "a.xml")


def test_a_folder_stands_for_the_configurations_below_it(tmp_path: Path) -> None:
    """Other XML, and fragments to include, are passed over; a file named twice counts once."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.xml").write_text("<AMPSConfig><Name>a</Name></AMPSConfig>")
    (tmp_path / "deep" / "b.xml").write_text("<AMPSConfig><Name>b</Name></AMPSConfig>")
    (tmp_path / "deep" / "part.xml").write_text("<Topic/>")
    (tmp_path / "broken.xml").write_text("<other")
    found = read_all([tmp_path, tmp_path / "a.xml"], {}, Assumptions())
    assert [each.name for each in found] == ["a", "b"]
    with pytest.raises(DefinitionError, match="no AMPS configuration"):
        read_all([], {}, Assumptions())


def test_all_files_that_cannot_be_read_are_told_of_at_once(tmp_path: Path) -> None:
    """One sentence a file, in the order given."""
    for name in ("a.xml", "b.xml"):
        (tmp_path / name).write_text("<AMPSConfig>\n")
    with pytest.raises(UnreadableConfigurations) as caught:
        read_all([tmp_path / "a.xml", tmp_path / "b.xml"], {}, Assumptions())
    assert [Path(str(problem.file)).name for problem in caught.value.problems] == ["a.xml", "b.xml"]
    assert str(caught.value).count("no element found") == 2


def test_a_topic_is_its_name_and_its_message_type() -> None:
    """The same name with another message type is another topic."""
    assert Topic("t", "json") != Topic("t", "fix")
