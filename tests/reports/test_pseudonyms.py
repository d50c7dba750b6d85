"""Pseudonyms: no name is left, one name is one pseudonym, and what a parser looks at stays."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.solace.explaining import WORDS, names_in
from adapters.solace.parse_queue import parse_queues
from adapters.solace.parse_replication import parse_replication
from adapters.solace.parse_transactions import parse_transactions
from orchestrator.model.exchanges import Exchange
from orchestrator.model.inventory import SERVICE_NAME
from orchestrator.reports.pseudonyms import Pseudonyms, addresses_in
from tests.solace import layouts

SERVICES = st.lists(
    st.from_regex(r"#?[A-Za-z](?: ?[A-Za-z0-9_./:@$~,+()-]){0,12}[A-Za-z0-9]", fullmatch=True).filter(
        lambda name: name.lower() not in WORDS and re.fullmatch(SERVICE_NAME, name) is not None
    ),
    min_size=1,
    max_size=5,
    unique_by=str.lower,
)
XIDS = st.from_regex(r"[0-9A-F]{8}-[0-9A-F]{2}-[0-9A-F]{2}", fullmatch=True)


def shape(text: str) -> list[str]:
    """What may not change: where letters, digits and other characters are."""
    return ["9" if one.isdigit() else ("A" if one.isupper() else "a") if one.isalpha() else one for one in text]


@given(SERVICES)
def test_tables_are_read_as_before(names: list[str]) -> None:
    """Law: a parser finds in the redacted table what it finds in the plain one, under the pseudonyms; no name is
    left, and no two names become one."""
    table, detail = layouts.replication(dict.fromkeys(names, layouts.ACTIVE)), layouts.queues(dict.fromkeys(names, 7))
    pseudonyms = Pseudonyms(names, words=WORDS, texts=[table, detail])
    assert pseudonyms.kept == ()
    made = [pseudonyms.scrub(name) for name in names]
    assert len({name.lower() for name in made}) == len(names)
    assert [shape(name) for name in made] == [shape(name) for name in names]
    for text, parse in ((table, parse_replication), (detail, parse_queues)):
        then = parse(text)
        assert parse(pseudonyms.scrub(text)) == {pseudonyms.scrub(name): one for name, one in then.items()}
        assert not any(f" {name} " in pseudonyms.scrub(text) for name in names)


@given(st.lists(XIDS, min_size=1, max_size=5, unique=True))
def test_transactions_are_read_as_before(xids: list[str]) -> None:
    """Law: an XID stays one, in the table and in the details, which belong together by it."""
    table = layouts.transactions([(xid, "blue_02", "X P Y") for xid in xids])
    details = layouts.transaction_details([(xid, "blue_02", "app/7/#1") for xid in xids])
    names = [name for text in (table, details) for name in names_in(Exchange("n", "show", 0.0, 0.0, answer=text))]
    assert {*xids, "blue_02", "app/7/#1"} <= set(names)
    pseudonyms = Pseudonyms(names, words=WORDS, texts=[table, details])
    listed, told = (parse_transactions(pseudonyms.scrub(text)) for text in (table, details))
    assert [one.transaction.xid for one in listed] == [one.transaction.xid for one in told]
    assert {one.transaction.xid for one in listed}.isdisjoint(xids)
    assert [len(one.transaction.xid) for one in listed] == [len(xid) for xid in xids]


def test_a_name_is_known_in_every_dress() -> None:
    """Law: percent-encoded, in JSON, in XML, in another case, cut by a column and behind a prefix it is the same name."""
    names = ["a/b & c#1", "Trading_VPN", "ny"]
    pseudonyms = Pseudonyms(names, words=frozenset({"up"}), texts=["Trading_VPN up ny many"])
    one, other, short = (pseudonyms.scrub(name) for name in names)
    for text, expected in (
        (f"GET /x/{quote(names[0], safe='')}/queues", f"GET /x/{quote(one, safe='')}/queues"),
        (json.dumps({"name": names[0]}), json.dumps({"name": one})),
        ("<name>a/b &amp; c#1</name>", f"<name>{one.replace('&', '&amp;')}</name>"),
        ("TRADING_VPN v:Trading_VPN Trading_V", f"{other.upper()} v:{other} {other[:9]}"),
        ("ny many solace-ny-a ny1", f"{short} many solace-{short}-a ny1"),
    ):
        assert pseudonyms.scrub(text) == expected


def test_the_devices_own_words_stay() -> None:
    """Law: a name that is a word of the devices, a flag or a small number stays, and is told of."""
    pseudonyms = Pseudonyms(["Primary", "x", "12", "orders"], words=frozenset({"primary"}), texts=[""])
    assert pseudonyms.kept == ("Primary", "x", "12")
    assert pseudonyms.scrub("Primary Virtual Router x 12 orders").startswith("Primary Virtual Router x 12 ")


def test_a_beginning_is_a_name_only_where_a_column_could_end() -> None:
    """Law: what continues behind it is another word, so that a client's name spoils no word of the device."""
    pseudonyms = Pseudonyms(["#config-sync/ny-a", "Trading_VPN"], words=frozenset({"#config-sync"}), texts=[""])
    for text in ("#config-sync   U A", "Trading-Desk", "Trading_/x"):
        assert pseudonyms.scrub(text) == text
    assert pseudonyms.scrub("Trading_V  U A") == f"{pseudonyms.scrub('Trading_VPN')[:9]}  U A"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("to 192.0.2.102:2,1 and 2001:db8::1", ["192.0.2.102", "2001:db8::1"]),
        ("mac 00:00:5e:00:53:01, ann@ops.example.com", ["00:00:5e:00:53:01", "ann@ops.example.com"]),
        (f"key SHA256:{'aB3+/' * 8}xyz is new", [f"SHA256:{'aB3+/' * 8}xyz"]),
        ("at 17:06:29, up 0d 0h 6m 39s, 1.2.3, soltr_7.2.1.51", []),
    ],
)
def test_addresses_are_names(text: str, found: list[str]) -> None:
    """Law: addresses of machines, networks and mail count as names though they were not listed; times do not."""
    assert list(addresses_in(text)) == found
    scrubbed = Pseudonyms([], words=frozenset(), texts=[text]).scrub(text)
    assert not any(one in scrubbed for one in found)
    assert len(scrubbed) == len(text)


def test_a_version_is_no_address() -> None:
    """Law: four numbers behind the word version stay, wherever else they are."""
    text = 'PubSub+ Version 10.25.0.217\nCLI  10.25.0.217\n"sempVersion":"2.1.3.4" from 10.25.0.218'
    assert Pseudonyms([], words=frozenset(), texts=[text]).scrub(text) == text.replace("10.25.0.218", "00.00.0.000")
