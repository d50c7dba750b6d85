"""XML bodies: nothing is expanded, nothing is fetched, and what was written reads back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.http.xmldoc import MalformedXml, element, nested, parse_xml, text_of, written

BOMB = b'<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;&b;">]><a>&c;</a>'
FETCH = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>'
OUTSIDE = b'<!DOCTYPE a SYSTEM "http://127.0.0.1/a.dtd"><a/>'


@pytest.mark.parametrize("body", [BOMB, FETCH, OUTSIDE, b"", b"<a>", b"<a/><b/>", b"\xff\xfe", b"{}", b"<a>&b;</a>"])
def test_what_is_not_plain_xml_is_refused(body: bytes) -> None:
    """A reply comes from a device; a device may be anybody."""
    with pytest.raises(MalformedXml):
        parse_xml(body)


def test_an_encoding_nobody_knows_is_refused() -> None:
    """It is an answer that cannot be read, and no crash."""
    with pytest.raises(MalformedXml):
        parse_xml(b'<?xml version="1.0" encoding="klingon"?><a/>')


@given(
    st.text(alphabet=st.characters(min_codepoint=32, exclude_categories=["Cs"], exclude_characters="\ufffe\uffff"))
)
def test_texts_are_escaped(text: str) -> None:
    """Whatever a name holds, it stays one text."""
    root = parse_xml(written(element("rpc", element("name", text))))
    assert (root.findtext("name") or "", len(root), len(root[0])) == (text, 1, 0)


def test_elements_keep_their_order() -> None:
    """The schema of SEMP v1 is a sequence."""
    made = element("a", element("b"), element("c", "x", kind="y"), nested(["d", "e"], "z"))
    assert written(made) == b'<a><b /><c kind="y">x</c><d><e>z</e></d></a>'
    assert (text_of(made, "d/e"), text_of(made, "b"), text_of(made, "nowhere")) == ("z", None, None)
