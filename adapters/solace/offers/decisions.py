"""The file of decisions on prepared XA transactions, which names them by their XID."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import StringConstraints

from orchestrator.model.transactions import TransactionDecision, TransactionDecisions

# docs/sources/solace.md, 1.8: <formatId hex>-<gtrid hex>-<bqual hex>, at most 266 characters.
XID = r"^[0-9A-Fa-f]{1,8}-[0-9A-Fa-f]*-[0-9A-Fa-f]*$"

Xid = Annotated[str, StringConstraints(pattern=XID, max_length=266)]


class XaDecision(TransactionDecision):
    """One transaction: either the ``choice`` with its ``reason``, or the outcomes of its other ``branches``."""

    xid: Xid


class XaDecisions(TransactionDecisions):
    """The decisions for one run. XIDs are compared as text, exactly as the device prints them."""

    key: ClassVar[str] = "xid"
    patterns: ClassVar[Mapping[str, str]] = {XID: "an XID is three hexadecimal numbers, as in 0021B028-00-01"}

    decisions: tuple[XaDecision, ...] = ()
