"""Checks that a record is unchanged, in the journal or in an exported file.

The verdict says what was proven and what was not. An unbroken chain without a signature proves nothing against an
attacker who can write all of it. No record proves that it is the newest one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from pydantic_core import from_json

from orchestrator.clock import iso
from orchestrator.errors import DefinitionError, JournalCorrupt
from orchestrator.files import ordinary_file
from orchestrator.journal.errors import gone
from orchestrator.journal.hash_chain import RESTING, Link, Signature, follow_exported, read_event
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import is_led
from orchestrator.model.events import ApprovalGiven, ApprovalRule, PolicyChanged, RunCreated
from orchestrator.operations.find_run import find_run
from orchestrator.operations.journal_location import place_of
from orchestrator.operations.runtime import Tools

if TYPE_CHECKING:
    from orchestrator.engine.approvers import Approvers
    from orchestrator.journal.signing import Verifier

State = Literal["unsigned", "signed", "not checked"]

# The fields of a line of an export. The last three repeat, or sign, the content of the others.
_FIELDS = frozenset({"run", "seq", "at", "lane", "event", "hash", "time", "simulated", "signature"})
# The first record of a run contains its inventory and its runbook, a megabyte each at most. Texts grow when quoted.
_LINE_MAX = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Doubts:
    """The facts that the record is compared with. ``trusted``: the keys whose signatures count, or None.
    ``is_demanded``: a record without a signature is bad; with ``is_theirs``, a signature by another key is bad too.
    ``head``: number and hash of a record, noted earlier. ``approvers``: the people who may sign an approval, if this
    machine knows them."""

    trusted: Verifier | None
    is_demanded: bool
    head: tuple[int, str] | None = None
    approvers: Approvers | None = None
    is_theirs: bool = True


NO_DOUBTS = Doubts(None, False)


@dataclass(slots=True)
class Verdict:
    """The result for one record. ``simulated`` None: the record does not say. ``head`` is the hash of the last record.
    ``note``: a remark that is no fault of the record, but may point to a fault elsewhere."""

    what: str
    records: int = 0
    simulated: bool | None = None
    head: str = ""
    signature: State = "unsigned"
    key: str = ""
    problem: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """What to verify: the run of this ``name``, else an exported ``file``, else every run. ``keys``: the keys whose
    signatures count. ``head``: NUMBER:HASH of a record, noted earlier."""

    name: str | None
    file: Path | None
    keys: Sequence[Path]
    head: str | None


def verdicts_of(tools: Tools, request: VerifyRequest) -> Iterator[Verdict]:
    """Check chains and signatures, one verdict for each record.

    ``name`` may also be the name of a file. An account with its own key signs everything that it records, so there a
    record without a signature is a finding. Raises ``DefinitionError`` for an invalid record, key or head.
    """
    name, file, head = request.name, request.file, request.head
    if head is not None and name is None and file is None:
        raise DefinitionError("--head is only for one run", hint="name the run, or the exported file")
    if file is None and name is not None and Path(name).is_file():
        file = Path(name)
    known = tools.approvers()
    trusted = _trusted(tools, request.keys)
    doubts = Doubts(
        trusted,
        trusted is not None,
        None if head is None else _parse_head(head),
        None if known.policy is None else known,
        is_theirs=bool(request.keys),
    )
    if file is not None:
        yield verify_file(file, doubts)
    else:
        yield from _of_journal(tools, name, doubts)


def _trusted(tools: Tools, keys: Sequence[Path]) -> Verifier | None:
    """The named keys; else this account's own key, if it has one."""
    own = None if keys else tools.signer()
    if not keys and own is None:
        return None
    from orchestrator.journal.signing import Verifier, load_public

    return Verifier([load_public(path) for path in keys] if own is None else [own.public()])


def _parse_head(text: str) -> tuple[int, str]:
    found = re.fullmatch(r"([1-9][0-9]{0,9}):([0-9a-f]{64})", text)
    if found is None:
        raise DefinitionError(
            f"{text!r} is not a head of a run", hint="use the form of `failover runs verify`: NUMBER:HASH"
        )
    return int(found[1]), found[2]


def _of_journal(tools: Tools, name: str | None, doubts: Doubts) -> Iterator[Verdict]:
    """Every run that is or was in the journal. A damaged journal is a finding, too."""
    try:
        with closing(tools.journal()) as journal:
            runs = [find_run(journal, name)] if name else [row.run for row in journal.runs()]
            for run in runs:
                yield verdict_of(Verdict(f"run {run}"), Stored(journal, run, tools.clock.now()), doubts)
            vanished = {} if name else journal.vanished()
            for run, noted in vanished.items():
                yield Verdict(f"run {run}", problem=str(gone(run, noted)))
            if not runs and not vanished:
                yield Verdict(f"the journal {place_of(journal)}", problem="the journal has no runs")
    except JournalCorrupt as error:
        yield Verdict("the journal", problem=str(error))


def verify_file(path: Path, doubts: Doubts = NO_DOUBTS) -> Verdict:
    """The verdict on an exported run. Raises ``DefinitionError`` for a file that is no exported run."""
    try:
        with ordinary_file(path) as file:
            return verdict_of(Verdict(str(path)), Exported(file), doubts)
    except OSError as error:
        raise DefinitionError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DefinitionError(f"{path} is not an exported run: {error}") from error


class Stored:
    """A run in the journal. ``signature``: the newest signature over it. ``now``: by the reader's clock.

    ``at_first``: the number of records before the signature was read. A process may be writing meanwhile.
    """

    def __init__(self, journal: Journal, run: str, now: float | None = None) -> None:
        self._journal, self._run, self._now = journal, run, now
        self.at_first = journal.row(run).seq
        newest = journal.signatures(run, only_last=True)
        self.signature = newest[0] if newest else None

    def __iter__(self) -> Iterator[tuple[str, Link]]:
        for link in self._journal.links(self._run):
            yield self._run, link

    def note_on(self, last: str) -> str:
        """The remark on a record whose last event ``last`` is not an end, while no process leads the run. Either its
        process has died, or the record was cut off together with its head. The record cannot show which."""
        if last in RESTING or self._now is None or is_led(self._journal.row(self._run), self._now):
            return ""
        return (
            "the record has no end, and no process leads the run: the run was interrupted (failover resume"
            f" {self._run}), or the end of its record was cut off"
        )


class Exported:
    """The lines of a file. ``signature``: the signature of the last line that was read and has one."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.at_first = None
        self.signature: Signature | None = None
        self._line: Mapping[str, Any] = {}  # the last line that was read

    def note_on(self, last: str) -> str:
        """Always empty: the chain of a file must end with an end event (``follow_exported``)."""
        return ""

    def __iter__(self) -> Iterator[tuple[str, Link]]:
        """The links of the file. Raises ``JournalCorrupt``, also if a field that only people read, and that no hash
        covers, differs from the record."""
        simulated, at, time = None, None, None
        for run, link in follow_exported(self._read()):
            if link.seq == 1:
                simulated = json.loads(link.event)["plan"]["simulated"]
            if link.at != at:  # events recorded together have the same time
                at, time = link.at, _in_words(link.at)
            if self._line.get("time", time) != time:
                raise self._other_words(run, link, "time")
            if self._line.get("simulated", simulated) is not simulated:
                raise self._other_words(run, link, "simulated")
            yield run, link

    def _other_words(self, run: str, link: Link, field: str) -> JournalCorrupt:
        said = self._line[field]
        return JournalCorrupt(f"run {run}: record {link.seq} says {field} {said!r}, but something else was recorded")

    def _read(self) -> Iterator[Mapping[str, Any]]:
        """The values of the file, one for each line. Raises ``ValueError`` or ``TypeError`` for a line that no export
        has."""
        while text := self._file.readline(_LINE_MAX + 1):
            if len(text) > _LINE_MAX:
                raise ValueError(f"a line is longer than {_LINE_MAX // 1_048_576} MB")
            line = from_json(text)
            if not isinstance(line, dict):
                raise TypeError("a line is not a JSON object")
            if not _FIELDS.issuperset(line):
                raise ValueError("a line has fields that records do not have")
            signed = line.get("signature")
            if signed is not None:
                self.signature = Signature(int(line["seq"]), str(signed["key"]), str(signed["value"]))
            self._line = line
            yield line


def _in_words(at: float) -> str | None:
    """A time as an export writes it; None for a value that no export can have written."""
    try:
        return iso(at)
    except (ValueError, OverflowError, OSError):
        return None


def verdict_of(verdict: Verdict, source: Stored | Exported, doubts: Doubts) -> Verdict:
    """Follow the whole chain, then check its newest signature, which covers all records before it."""
    run, signed, last, rule = "", "", "", None
    try:
        for run, link in source:
            verdict.records, verdict.head = link.seq, link.hash
            event = read_event(run, link)
            last = event.kind
            if isinstance(event, RunCreated):
                verdict.simulated, rule = event.plan.simulated, event.plan.approval
            elif isinstance(event, PolicyChanged):
                rule = event.approval or rule
            elif isinstance(event, ApprovalGiven):
                _see_signed(doubts.approvers, rule, run, link, event)
            if source.signature is not None and source.signature.seq == link.seq:
                signed = link.hash
            if doubts.head is not None and doubts.head[0] == link.seq and doubts.head[1] != link.hash:
                raise JournalCorrupt(f"run {run}: record {link.seq} differs from the record that was noted")
        if doubts.head is not None and doubts.head[0] > verdict.records:
            raise JournalCorrupt(
                f"run {run}: records {verdict.records + 1} to {doubts.head[0]} existed earlier, but are missing now"
            )
        _judge(verdict, run, source, signed, doubts)
        verdict.note = source.note_on(last)
    except JournalCorrupt as error:
        verdict.problem = str(error)
    return verdict


def _see_signed(
    approvers: Approvers | None, rule: ApprovalRule | None, run: str, link: Link, given: ApprovalGiven
) -> None:
    """If the plan requires signed approvals, check that this one is signed; if the policy is known, by the named
    approver."""
    if rule is None or not rule.signed:
        return
    if given.signed is None or (approvers is not None and not approvers.has_agreed(run, given)):
        raise JournalCorrupt(f"run {run}: record {link.seq}: the approval by {given.by} is not signed by an approver")


def _judge(verdict: Verdict, run: str, source: Stored | Exported, head: str, doubts: Doubts) -> None:
    """Check that the newest signature covers the whole record. ``head``: the hash of the signed record."""
    signature, count = source.signature, source.at_first or verdict.records
    if signature is None:
        if doubts.is_demanded:
            raise JournalCorrupt(f"run {run}: the record is not signed")
        return
    verdict.signature, verdict.key = "not checked", signature.key
    if signature.seq > verdict.records:
        raise JournalCorrupt(f"run {run}: record {signature.seq} was signed, but is missing now")
    if doubts.trusted is not None and doubts.trusted.knows(signature):
        if not doubts.trusted.holds(signature, run, head):
            raise JournalCorrupt(f"run {run}: record {signature.seq} was changed after it was signed")
        verdict.signature = "signed"
    elif doubts.is_demanded and doubts.is_theirs:
        raise JournalCorrupt(f"run {run}: the record is signed with another key, {signature.key}")
    if signature.seq < count:
        raise JournalCorrupt(f"run {run}: records {signature.seq + 1} to {count} are not signed")
