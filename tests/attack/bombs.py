"""Texts made to fill the memory or to keep a processor busy, each for the reader it is meant for.

Run as a program (``python -m tests.attack.bombs KIND FOLDER``) it sets its own limits, reads those of one kind, and
prints how each ended: the documented error's name, or ``read``.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from pathlib import Path

from adapters.amps.configuration import read_instance
from adapters.amps.validate import validate
from adapters.http.session import Reply
from adapters.http.xmldoc import MalformedXml, parse_xml
from adapters.mock.faults import parse_faults
from adapters.mock.world import World
from adapters.solace.semp.envelope import envelope_of
from orchestrator.cli.verification import verify_file
from orchestrator.clock import VirtualClock
from orchestrator.errors import FailoverError
from orchestrator.loader import load_inventory

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
    "faults-line": (lambda at: _faults("drain: " + "slow 9x " * 200_000), "DefinitionError"),
}


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
