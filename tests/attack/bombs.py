"""Texts made to fill the memory or to keep a processor busy, each for the reader it is meant for.

Run as a program (``python -m tests.attack.bombs KIND FOLDER``) it sets its own limits, reads those of one kind, and
prints how each ended: the documented error's name, or ``read``.
"""

from __future__ import annotations

import gzip
import resource
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from adapters.amps.config.configuration import read_instance
from adapters.amps.document import instance_in
from adapters.amps.served import read_served
from adapters.http.exchange import Reply
from adapters.http.xmldoc import MalformedXml, parse_xml
from adapters.solace.dialect import SOLACE
from adapters.solace.parse_queue import parse_queues
from adapters.solace.parse_redundancy import parse_message_spool, parse_redundancy
from adapters.solace.parse_replication import parse_replication
from adapters.solace.parse_transactions import parse_transactions
from adapters.solace.semp.envelope import envelope_of
from adapters.ssh.conversation import ANSWER_BYTES_MAX
from adapters.ssh.hostkeys import expected_of
from orchestrator.cli.pairs.validate import read_topics
from orchestrator.clock import VirtualClock
from orchestrator.documents.loader import load_inventory
from orchestrator.errors import AdapterError, FailoverError
from orchestrator.family.secrets import Redactor, SecretStore
from orchestrator.journal.signing import Signer, load_public
from orchestrator.model.inventory import Device, SecretRef
from orchestrator.operations.verify import verify_file
from orchestrator.reports.forecast import read_forecast
from pipeline.amps.sow_dump import SowDump
from pipeline.evidence import load_evidence
from pipeline.places import Place
from simulator.amps.faults import parse_amps_faults
from simulator.amps.world import AmpsWorld
from simulator.solace.faults import parse_faults
from simulator.solace.world import World
from simulator.world.fault_lines import lines_of
from validator.validate import validate

MEMORY_MAX = 600 * 1024 * 1024
PROCESSOR_S = 30
_HOSTILE = ("^(a+)+$", "^(a|aa)+$", "(.*)(.*)(.*)(.*)(.*)(.*)x$", "^" + "a?" * 30 + "a" * 30 + "$", "(a|b|ab)*c")


def instance(body: str) -> str:
    return f"<AMPSConfig><Name>A</Name>{body}</AMPSConfig>"


def amps(folder: Path, text: str, **included: str) -> None:
    """An instance from a file, with the files it includes, through every check."""
    for name, content in included.items():
        (folder / f"{name}.xml").write_text(content, encoding="utf-8")
    (folder / "main.xml").write_text(text, encoding="utf-8")
    validate([read_instance(folder / "main.xml")]).to_json()


def yaml(folder: Path, text: str) -> None:
    """What reads the text is the same for runbooks and decisions."""
    (folder / "bomb.yaml").write_text(text, encoding="utf-8")
    load_inventory(folder / "bomb.yaml")


def world(folder: Path, text: str) -> None:
    (folder / "world.json").write_text(text, encoding="utf-8")
    World.load(folder / "world.json", VirtualClock()).close()


def export(folder: Path, text: str) -> None:
    (folder / "run.jsonl").write_text(text, encoding="utf-8")
    verify_file(folder / "run.jsonl")


def semp(folder: Path, body: bytes) -> None:
    envelope_of(Reply(200, {}, body, 0.0, 0.0), "d", is_read=True)


def amps_world(folder: Path, text: str) -> None:
    (folder / "amps-world.json").write_text(text, encoding="utf-8")
    AmpsWorld.load(folder / "amps-world.json", VirtualClock()).close()


def cli(text: str) -> None:
    """The text, over and over, as an answer of a terminal through each reader of tables. What is not linear would show
    at an eighth of the longest answer too."""
    long = text * (ANSWER_BYTES_MAX // 8 // len(text))
    for read in (parse_replication, parse_queues, parse_transactions, parse_redundancy, parse_message_spool):
        try:
            read(long, "d")
        except AdapterError as error:
            refused = error
        else:
            return
    raise refused  # each has refused it


def terminal(text: str) -> None:
    """The text, over and over, as a long answer on one line of a terminal."""
    SOLACE.lines("x" * (ANSWER_BYTES_MAX // 4) + text * (ANSWER_BYTES_MAX // 4 // len(text)))


def question(text: str) -> None:
    """The text where a question of the device's would be, far longer than the line that is looked at."""
    SOLACE.question.search(text * (1_000_000 // len(text)) + "x")
    SOLACE.pager.search(text * (1_000_000 // len(text)) + "x")


def scrubbed(text: str) -> None:
    """A long text, with a secret to look for."""
    redactor = Redactor()
    for secret in ("C4nary/+Tweet-5ongbird", "pä ss/w+ö&r<d>\"'$`\\;%41", "a b  c'd\"e"):
        redactor.learn(secret)
    redactor.scrub(text * (200_000 // len(text)) + "x")


def sow(line: bytes) -> None:
    """A dump of a SOW that has this line between its records, and in one of them."""
    for record in SowDump(BytesIO(line + b"key = 1\n" + line + b"data size = 0\ndata = []\n")):
        repr(record)


def dump(folder: Path, name: str, data: bytes, times: int) -> None:
    """A dump of AMPS, packed to almost nothing, as an export."""
    from orchestrator.clock import VirtualClock
    from pipeline.amps.collect import collect_dumps, dumps_of
    from pipeline.amps.instance import Instance
    from pipeline.collect import Job
    from pipeline.manifest import ServiceSnapshot

    place = folder / name
    (place / "journal").mkdir(parents=True)
    with gzip.open(place / "journal" / "0.txt.gz", "wb", compresslevel=1) as file:
        file.write(_JOURNAL)
        for _ in range(times):
            file.write(data)
    dumps = dumps_of({"orders": Instance.of_dumps(str(place))}, 0.0)
    collect_dumps(dumps, place / "out", Job("ny", [ServiceSnapshot(name="orders")]), VirtualClock())


# An entry that claims to be as long as can be held; what follows it is the next one.
_GREEDY = b"".join(
    [
        b"entry : 1\n",
        b"msg byte count                : 200000000\n",
        b"data                          : [x]\n",
        b"_" * 27 + b"\n",
    ]
)
_LINE = b"_" * 27 + b"\n"
_JOURNAL = b"File Name       : AMPS.0000000000.journal\nFile Size       : 10485760\n" + _LINE


def _topics() -> str:
    names = "".join(
        f"<Topic><Name>{'a' * 30}{number}!</Name><MessageType>json</MessageType></Topic>" for number in range(200)
    )
    patterns = "".join(f"<Topic><Name>{text}</Name><MessageType>json</MessageType></Topic>" for text in _HOSTILE)
    destination = (
        "<Destination><Name>d</Name><Group>B</Group><SyncType>sync</SyncType><Transport><InetAddr>b:1</InetAddr>"
        f"<Type>amps-replication</Type></Transport>{patterns}<PassThrough>{_HOSTILE[0]}</PassThrough></Destination>"
    )
    return instance(
        f"<SOW>{names}</SOW><TransactionLog>{patterns}{names}</TransactionLog><Replication>{destination}</Replication>"
    )


_ENDLESS = Path("/dev/zero")
_LEVELS = "\n".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
_LAUGHS = "".join(
    f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
_BILLION = f'<!DOCTYPE x [<!ENTITY a "ha">{_LAUGHS}]>'

# Name: what is done, and the error it must end in; None: it is read.
BOMBS: dict[str, tuple[Callable[[Path], None], str | None]] = {
    "yaml-aliases": (lambda at: yaml(at, f"a: &a [x, x, x]\n{_LEVELS}\n"), "DefinitionError"),
    "yaml-depth-flow": (lambda at: yaml(at, "[" * 1_000_000), "DefinitionError"),
    "yaml-depth-block": (lambda at: yaml(at, "- " * 500_000), "DefinitionError"),
    "yaml-keys": (lambda at: yaml(at, "".join(f"k{n}: {{}}\n" for n in range(80_000))), "DefinitionError"),
    "yaml-values": (lambda at: yaml(at, "a: [" + "a," * 500_000 + "]"), "DefinitionError"),
    "yaml-folded": (lambda at: yaml(at, "a: '" + "\n" * 300_000 + "'"), "DefinitionError"),
    "yaml-size": (lambda at: yaml(at, "#" * 3_000_000), "DefinitionError"),
    "xml-laughs": (lambda at: amps(at, f"{_BILLION}{instance('&i;')}"), "DefinitionError"),
    "xml-depth": (lambda at: amps(at, "<a>" * 2_000_000), "DefinitionError"),
    "xml-elements": (lambda at: amps(at, instance("<a/>" * 3_000_000)), "DefinitionError"),
    "xml-attributes": (
        lambda at: amps(at, instance("<a " + " ".join(f"a{n}=''" for n in range(300_000)) + "/>")),
        None,
    ),
    "xml-text": (lambda at: amps(at, instance("<a>" + "x" * 30_000_000 + "</a>")), None),
    "xml-variables": (
        lambda at: amps(at, instance("".join(f"<a>{'${AMPS_CONFIG_PATH}' * 400_000}</a>" for _ in range(9)))),
        "DefinitionError",
    ),
    "includes-circle": (lambda at: amps(at, instance("<Include>main.xml</Include>")), "DefinitionError"),
    "includes-many": (
        lambda at: amps(at, instance("<Include>b.xml</Include>" * 100_000), b="<a/>"),
        "DefinitionError",
    ),
    "includes-doubling": (
        lambda at: amps(
            at,
            instance("<Include>i0.xml</Include>"),
            **{f"i{n}": f"<Include>i{n + 1}.xml</Include>" * 2 for n in range(30)},
            i30="<a/>",
        ),
        "DefinitionError",
    ),
    "expressions": (lambda at: amps(at, _topics()), None),
    "semp-depth": (lambda at: semp(at, b"[" * 10_000_000), "UnreadableReply"),
    "semp-many": (lambda at: semp(at, b"[" + b"{}," * 2_000_000 + b"{}]"), "UnreadableReply"),
    "semp-digits": (lambda at: semp(at, b'{"meta": {"responseCode": ' + b"9" * 5_000_000 + b"}}"), "UnreadableReply"),
    "semp-v1-laughs": (lambda at: _xml(f"{_BILLION}<rpc-reply>&i;</rpc-reply>".encode()), "MalformedXml"),
    "semp-v1-depth": (lambda at: _xml(b"<a>" * 10_000_000), "MalformedXml"),
    "semp-v1-elements": (lambda at: _xml(b"<a>" + b"<b/>" * 10_000_000 + b"</a>"), "MalformedXml"),
    "world-depth": (lambda at: world(at, "[" * 1_000_000), "Unreachable"),
    "world-inner-depth": (
        lambda at: world(at, '{"format": "failover world 2", "layout": ' + "[" * 500_000),
        "Unreachable",
    ),
    "export-depth": (lambda at: export(at, "[" * 1_000_000), "DefinitionError"),
    "export-line": (lambda at: export(at, " " * 100_000_000), "DefinitionError"),
    "admin-depth": (lambda at: _admin(b"[" * 10_000_000), "UnreadableReply"),
    "admin-inner-depth": (
        lambda at: _admin(b'{"amps": {"instance": {"a": ' + b"[" * 10_000_000),
        "UnreadableReply",
    ),
    "admin-many": (lambda at: _admin(b"[" + b"{}," * 2_000_000 + b"{}]"), "UnreadableReply"),
    "admin-digits": (
        lambda at: _admin(b'{"amps": {"instance": {"a": ' + b"9" * 5_000_000 + b"}}}"),
        "UnreadableReply",
    ),
    "admin-laughs": (lambda at: _served(f"{_BILLION}{instance('&i;')}"), "DefinitionError"),
    "admin-elements": (lambda at: _served(instance("<a/>" * 3_000_000)), "DefinitionError"),
    "admin-include": (lambda at: _served(instance("<Include>/dev/zero</Include>")), "DefinitionError"),
    "cli-rules": (lambda at: cli("- " * 80 + "\n"), "UnreadableReply"),
    "cli-rule": (lambda at: cli("- "), "UnreadableReply"),
    "cli-blanks": (lambda at: cli(" " * 500_000 + "x\n"), "UnreadableReply"),
    "cli-labels": (lambda at: cli("a : b : c\n"), "UnreadableReply"),
    "cli-letters": (lambda at: cli("A B C D E F G "), "UnreadableReply"),
    "cli-lines": (lambda at: cli("\n"), "UnreadableReply"),
    "terminal-erase": (lambda at: terminal("\x1b[K"), None),
    "terminal-erase-line": (lambda at: terminal("x\x1b[2K"), None),
    "terminal-erase-back": (lambda at: terminal("\b\b\bx\x1b[2K"), None),
    "terminal-return": (lambda at: terminal("\rx\x1b[K"), None),
    "terminal-escapes": (lambda at: terminal("\x1b[0"), None),
    "terminal-question": (lambda at: question("(y/n)" + " " * 999_995), None),
    "terminal-questions": (lambda at: question("(y/n) ? "), None),
    "redact-blanks": (lambda at: scrubbed(" "), None),
    "redact-dots": (lambda at: scrubbed("…"), None),
    "redact-halves-cut": (lambda at: scrubbed("C4nary/+Tweet-5ongbir…"), None),
    "redact-cuts": (lambda at: scrubbed(" […] "), None),
    "redact-halves": (lambda at: scrubbed("C4nary/+Tweet-5ongbir"), None),
    "cli-prompts": (lambda at: cli("ny1> "), "UnreadableReply"),
    "amps-world-depth": (lambda at: amps_world(at, "[" * 1_000_000), "Unreachable"),
    "amps-world-inner-depth": (
        lambda at: amps_world(at, '{"format": "failover amps world 1", "layout": ' + "[" * 500_000),
        "Unreachable",
    ),
    "dump-line": (lambda at: dump(at, "line", b"x" * 1_000_000, 400), None),
    "dump-blocks": (lambda at: dump(at, "blocks", (b"entry : 1\n" + _LINE) * 1_000, 200), None),
    "dump-blanks": (lambda at: dump(at, "blanks", b" " * 1_000_000 + b"\n" + b" " * 1_000_000 + b"x\n", 10), None),
    "dump-entry-blanks": (
        lambda at: dump(at, "entry-blanks", b"entry : 1\n" + b" " * 1_000_000 + b"\n" + _LINE, 10),
        None,
    ),
    "sow-blanks": (lambda at: sow(b" " * 1_000_000 + b"\n"), None),
    "sow-tabs": (lambda at: sow(b"a" + b" \t" * 500_000 + b"b\n"), None),
    "dump-lengths": (lambda at: dump(at, "lengths", _GREEDY * 100, 100), None),
    "endless-inventory": (lambda at: no_value(load_inventory(_ENDLESS)), "DefinitionError"),
    "endless-configuration": (lambda at: no_value(read_instance(_ENDLESS)), "DefinitionError"),
    "endless-topics": (lambda at: no_value(list(read_topics(_ENDLESS))), "DefinitionError"),
    "endless-faults": (lambda at: no_value(lines_of(_ENDLESS)), "DefinitionError"),
    "endless-evidence": (lambda at: no_value(load_evidence(_ENDLESS)), "DefinitionError"),
    "endless-forecast": (lambda at: no_value(read_forecast(_ENDLESS)), "DefinitionError"),
    "endless-document": (lambda at: no_value(Place.of(str(_ENDLESS)).read()), "DefinitionError"),
    "endless-export": (lambda at: no_value(verify_file(_ENDLESS)), "DefinitionError"),
    "endless-key": (lambda at: no_value(load_public(_ENDLESS)), "DefinitionError"),
    "endless-signing-key": (lambda at: no_value(Signer(_ENDLESS).public()), "DefinitionError"),
    "endless-secret": (lambda at: _reveal(_ENDLESS), "DefinitionError"),
    "endless-known-hosts": (lambda at: _known(_ENDLESS), None),
    "endless-world": (lambda at: no_value(World.load(_ENDLESS, VirtualClock())), "Unreachable"),
    "faults-amps": (lambda at: _amps_faults("at 1s: " + "kill A " * 200_000), "DefinitionError"),
    "faults-line": (lambda at: _faults("drain: " + "slow 9x " * 200_000), "DefinitionError"),
}


def no_value(value: object) -> None:
    """What was made of a file without an end."""


def _reveal(path: Path) -> None:
    SecretStore().reveal(SecretRef(file=str(path)), what="password")


def _known(path: Path) -> None:
    """A file of host keys that cannot be read holds none."""
    expected = expected_of(Device(name="ny1", address="ny1"), str(path))
    assert not expected.keys and "not an ordinary file" in expected.remark


def _admin(body: bytes) -> None:
    instance_in(body, "d")


def _served(text: str) -> None:
    read_served(text, "d")


def _amps_faults(text: str) -> None:
    parse_amps_faults([text])


def _xml(body: bytes) -> None:
    parse_xml(body)


def _faults(text: str) -> None:
    parse_faults([text])


def kind_of(name: str) -> str:
    """What the name of a bomb begins with."""
    return name.partition("-")[0]


def ended(name: str, folder: Path) -> str:
    """Read the bomb ``name``; how that ended."""
    try:
        BOMBS[name][0](folder)
    except (FailoverError, MalformedXml) as error:
        return type(error).__name__
    return "read"


def main(kind: str, folder: Path) -> None:
    """Within the limits, a line for each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
    for name in BOMBS:
        if kind_of(name) == kind:
            sys.stdout.write(f"{name} {ended(name, folder)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
