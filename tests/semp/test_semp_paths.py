"""Names in a URL: escaped part by part, so that none can become another part, a fragment or a query."""

from __future__ import annotations

from urllib.parse import unquote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.solace.semp.paths import is_same_path, path_of, query_of
from simulator.lab.semp.query import target_of


def test_the_replication_queue() -> None:
    """docs/sources/solace.md, 1.1: an unescaped # would ask for the whole collection, with a 200."""
    assert path_of("monitor", "msgVpns", "A B", "queues", "#MSGVPN_REPLICATION_DATA_QUEUE") == (
        "/SEMP/v2/monitor/msgVpns/A%20B/queues/%23MSGVPN_REPLICATION_DATA_QUEUE"
    )


def test_separators_are_literal() -> None:
    """Of compound keys, and of select; a comma inside a name is not one."""
    assert path_of("monitor", "bridges", ("#B,1", "backup")) == "/SEMP/v2/monitor/bridges/%23B%2C1,backup"
    assert query_of(select=("a", "b.c"), count=100) == "?select=a,b.c&count=100"
    assert query_of() == ""


def test_the_broker_itself_ends_in_a_slash() -> None:
    """Without it, the path is another one (docs/sources/solace.md, 1.5)."""
    assert path_of("config") == "/SEMP/v2/config/"


@given(st.text(min_size=1, max_size=40).filter(lambda text: text.isprintable()))
def test_any_name_arrives_as_it_is(name: str) -> None:
    """Through our encoding, httpx, and a broker's reading of the path."""
    path = path_of("monitor", "msgVpns", name, "transactions", name)
    url = httpx.URL(scheme="http", host="h", port=1).copy_with(raw_path=path.encode("ascii"))
    assert url.raw_path.decode("ascii") == path
    assert unquote(path.split("/")[5]) == name
    assert target_of(path).parts == (("msgVpns",), (name,), ("transactions",), (name,))


NAMED = path_of("monitor", "msgVpns", "a/b~c,d", "bridges", ("#B", "auto"))


@pytest.mark.parametrize(
    "path",
    [
        NAMED,
        "/SEMP/v2/monitor/msgVpns/a%2fb~c%2cd/bridges/%23B,auto",
        "/SEMP/v2/monitor/msgVpns/a%2Fb%7Ec%2Cd/bridges/%23%42,auto",
        "/%53EMP/v2/monitor/msgVpns/a%2Fb~c%2Cd/bridges/%23B,auto",
    ],
)
def test_the_same_path_however_it_is_escaped(path: str) -> None:
    """Law: RFC 3986 section 6.2.2: the case of an escape, and an escape of what needs none, make no other path."""
    assert is_same_path(path, NAMED)


@pytest.mark.parametrize(
    "path",
    [
        "/SEMP/v2/monitor/msgVpns/a/b~c%2Cd/bridges/%23B,auto",
        "/SEMP/v2/monitor/msgVpns/a%2Fb~c,d/bridges/%23B,auto",
        "/SEMP/v2/monitor/msgVpns/a%2Fb~c%2Cd/bridges/%23B%2Cauto",
        "/SEMP/v2/config/msgVpns/a%2Fb~c%2Cd/bridges/%23B,auto",
        "/SEMP/v2/monitor/msgVpns/a%252Fb~c%2Cd/bridges/%23B,auto",
        "/SEMP/v2/monitor/msgVpns/x/../a%2Fb~c%2Cd/bridges/%23B,auto",
        f"{NAMED}/",
        "/SEMP/v2/monitor/msgVpns/%FF",
    ],
)
def test_another_path_is_another(path: str) -> None:
    """Law: an escaped separator belongs to a name; nothing is unescaped twice, and no step is taken back."""
    assert not is_same_path(path, NAMED)


def test_names_that_are_no_text_differ() -> None:
    """Law: what is no UTF-8 is not replaced by one and the same sign."""
    assert not is_same_path("/SEMP/v2/monitor/msgVpns/%FF", "/SEMP/v2/monitor/msgVpns/%FE")
