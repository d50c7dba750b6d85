"""Dumps of AMPS are read exactly: payloads as they are, and what cannot be read is kept with its place."""

from __future__ import annotations

import io
import tracemalloc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.amps.journal_dump import Entry, JournalDump
from pipeline.amps.sow_dump import SowDump, SowRecord
from pipeline.amps.text import EXCERPT_BYTES, VALUE_MAX, Quarantined
from tests.spark.dumps import LINE, NOON_MICROS, Kept, Logged, journal_text, sow_text

# Payloads that look like the dump's own lines, and bytes that are no text.
NASTY = st.one_of(
    st.binary(max_size=80),
    st.sampled_from(
        [
            b'{\n "a": [1,\n 2]\n}\n',
            f"]\n{LINE}\nentry : 7\n".encode(),
            b"]\nkey = 5\n    data = [x]\n",
            b"\r\n\r\n]",
            Logged(9, "1", 9, b"inner").text(9) + LINE.encode() + b"\n",
            Kept(9, 9, b"inner").text(),
        ]
    ),
)


def journal(data: bytes) -> tuple[JournalDump, list[Entry | Quarantined]]:
    dump = JournalDump(io.BytesIO(data))
    return dump, list(dump)


def sow(data: bytes) -> tuple[SowDump, list[SowRecord | Quarantined]]:
    dump = SowDump(io.BytesIO(data))
    return dump, list(dump)


@given(st.lists(NASTY, max_size=6))
def test_journal_entries_come_back_as_written(payloads: list[bytes]) -> None:
    """Whatever a payload holds, every entry is read with its identity and its very bytes, and nothing else is."""
    logged = [Logged(100 + n, "15749960451245477525", n, data, at_s=n) for n, data in enumerate(payloads)]
    dump, found = journal(journal_text(logged))
    assert [
        (one.txid, one.client, one.sequence, one.data, one.micros) for one in found if isinstance(one, Entry)
    ] == [(one.txid, one.client, one.sequence, one.data, NOON_MICROS + round(one.at_s * 1e6)) for one in logged]
    assert len(found) == dump.total == len(logged)


@given(st.lists(NASTY, max_size=6))
def test_sow_records_come_back_as_written(payloads: list[bytes]) -> None:
    """The same for the records of a SOW file."""
    kept = [Kept(5617746317001299819 + n, 7 + n, data) for n, data in enumerate(payloads)]
    dump, found = sow(sow_text(kept))
    assert [(one.key, one.txid, one.data) for one in found if isinstance(one, SowRecord)] == [
        (str(one.key), one.txid, one.data) for one in kept
    ]
    assert len(found) == dump.total == len(kept)


@given(st.lists(NASTY, min_size=1, max_size=4), st.data())
def test_every_byte_is_read_or_quarantined(payloads: list[bytes], data: st.DataObject) -> None:
    """Damage anywhere loses no record silently: what is not read is quarantined, or the dump's own total tells."""
    text = journal_text([Logged(100 + n, "1", n, payload) for n, payload in enumerate(payloads)])
    at = data.draw(st.integers(0, len(text) - 1))
    until = data.draw(st.integers(at + 1, min(len(text), at + 200)))
    dump, found = journal(text[:at] + text[until:])
    read = [one for one in found if isinstance(one, Entry)]
    quarantined = [one for one in found if isinstance(one, Quarantined)]
    if len(read) < len(payloads):
        assert quarantined or dump.total is None or dump.total != len(read)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"client seq                    :", b"client sequence               :", "the field client seq is missing"),
        (b"local txid                    :", b"local txid                    : x", "local txid is not a number"),
        (
            b"data                          : [two]",
            b"data                          : two",
            "the value of data is not in brackets",
        ),
        (b": [two]", b": [twofold]", "a value does not end after its 3 bytes"),
        (b": [trader]\nrep", b": [trader]\n?\nrep", "this line is not a field"),
    ],
)
def test_one_corrupt_entry_costs_no_other(old: bytes, new: bytes, reason: str) -> None:
    """A corrupt entry is set aside with its offset, its length and why; those around it are read."""
    one, two, three = (Logged(n, "1", n, name) for n, name in enumerate((b"one", b"two", b"three")))
    text = journal_text([one, two, three])
    start = text.index(b"entry                         :                              1")
    broken = text[:start] + text[start:].replace(old, new, 1)
    _, found = journal(broken)
    first, bad, last = (one for one in found if not isinstance(one, Quarantined) or one.length > 1)
    assert isinstance(first, Entry) and first.data == b"one"
    assert isinstance(bad, Quarantined) and bad.reason.startswith(reason)
    assert bad.offset == start
    assert broken[start:].startswith(bad.excerpt[:EXCERPT_BYTES])
    assert isinstance(last, Entry) and last.data == b"three"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Total Entries   : 2", b"Total Entries   : " + b"9" * 5_000),
        (b"timestamp                     : ", b"timestamp                     : " + b"9" * 5_000),
    ],
)
def test_a_number_that_none_can_be_is_unknown(old: bytes, new: bytes) -> None:
    """Digits without end are neither a total nor a time, and no reason to give up the dump."""
    text = journal_text([Logged(1, "1", 1, b"one"), Logged(2, "1", 2, b"two")])
    assert old in text
    dump, found = journal(text.replace(old, new))
    assert [one.data for one in found if isinstance(one, Entry)] == [b"one", b"two"]
    assert dump.total in (2, None)


def test_wrong_lengths_are_not_looked_at_for_ever() -> None:
    """Each costs as much as it claims; once that is much more than was read they are not believed, and what follows is
    read all the same."""
    claims = b"msg byte count                : %30d"
    wrong = [Logged(n, "1", n, b"x") for n in range(100)]
    right = [Logged(n, "1", n, b"y" * 3_000) for n in range(100, 2_000)]
    text = journal_text([*wrong, *right]).replace(claims % 1, claims % 5_000_000)
    _, found = journal(text)
    reasons = Counter(one.reason for one in found if isinstance(one, Quarantined))
    assert (
        reasons["a value of 5,000,000 bytes is not read, because too many values before it had a wrong length"] > 50
    )
    assert [one.txid for one in found if isinstance(one, Entry)] == [one.txid for one in right]


def test_what_is_too_large_to_be_held_is_set_aside() -> None:
    """A value of more than ``VALUE_MAX`` bytes is quarantined with its length, not read; what follows is read."""
    claims = b"msg byte count                : %30d"
    text = journal_text([Logged(1, "1", 1, b"x"), Logged(2, "1", 2, b"two")])
    _, found = journal(text.replace(claims % 1, claims % (VALUE_MAX + 1)))
    assert [type(one) for one in found] == [Quarantined, Entry]
    assert isinstance(found[0], Quarantined)
    assert found[0].reason == "a value has 67,108,865 bytes, but a value may have at most 67,108,864 bytes"


@pytest.mark.parametrize("size", [VALUE_MAX + 1, 5_000_000_000, 2**63 - 1])
@pytest.mark.parametrize("has_data", [True, False], ids=["without its data", "another type, without the field"])
def test_a_size_that_no_message_has_is_set_aside(size: int, has_data: bool) -> None:
    """Law: where a dump has no data to count, a byte count beyond what is held is no size of a message: its entry is
    quarantined with what it says, and what follows is read."""
    claims = b"msg byte count                : %30d"
    text = journal_text([Logged(1, "1", 1, b"x"), Logged(2, "1", 2, b"two")])
    text = text.replace(claims % 1, claims % size).replace(b": [x]\n", b": []\n")
    if not has_data:
        start = text.index(b"data", text.index(b"topic byte count"))
        text = text[:start] + text[text.index(b"\n", start) + 1 :]
    _, found = journal(text)
    assert [type(one) for one in found] == [Quarantined, Entry]
    assert isinstance(found[0], Quarantined)
    assert f"{size:,} bytes" in found[0].reason
    assert b"msg byte count" in found[0].excerpt


@pytest.mark.parametrize("filler", [b"x", b"x\n"])
def test_a_value_is_held_twice_at_most(filler: bytes) -> None:
    """While a large value is read its pieces and the whole are in memory, and nothing more that grows with it, such as
    an object for each short line."""
    size = 8 << 20
    stream = io.BytesIO(sow_text([Kept(1, 1, filler * (size // len(filler)))]))
    tracemalloc.start()
    try:
        (record,) = SowDump(stream)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(record, SowRecord) and len(record.data) == size
    assert peak < 2 * size + (4 << 20)


def test_a_dump_cut_off_has_no_total() -> None:
    """A dump that ends within a value is set aside there, and tells no total that could be mistaken for a whole."""
    text = journal_text([Logged(1, "1", 1, b"one"), Logged(2, "1", 2, b"x" * 500)])
    dump, found = journal(text[: text.index(b"xxxx") + 100])
    assert [type(one) for one in found] == [Entry, Quarantined]
    assert isinstance(found[1], Quarantined) and found[1].reason == "the file ends inside a value of 500 bytes"
    assert dump.total is None


def test_a_dump_without_data_is_read_without_data() -> None:
    """``--no-data`` leaves every payload out: the content is unknown then, not empty."""
    text = journal_text([Logged(1, "1", 1, b"secret")]).replace(b"[secret]", b"[]")
    _, (entry,) = journal(text)
    assert isinstance(entry, Entry)
    assert (entry.data, entry.size) == (None, 6)


def test_several_sow_files_in_one_dump() -> None:
    """``amps_sow_dump`` takes several files: their totals add up, and no summary is taken for a record."""
    dump, found = sow(sow_text([Kept(1, 1, b"a")]) + sow_text([Kept(2, 2, b"b"), Kept(3, 3, b"c")]))
    assert len(found) == dump.total == 3
