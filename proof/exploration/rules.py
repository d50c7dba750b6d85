"""The rules for what must never happen, in words. The code of each rule is stable for machines."""

from __future__ import annotations

from collections.abc import Mapping

RULES: Mapping[str, str] = {
    # For every family. The family defines serving, confirmed and drained.
    "two-active": "an action of this run makes a second site serve",
    "promoted-unconfirmed": "a site is made to serve, and nothing shows that its mate cannot serve against it",
    "promoted-while-heard": "the target is made to serve, and nothing shows that it no longer hears from a source that is"
    " neither closed nor fenced",
    "promoted-undrained": "the target is made to serve, and nothing shows that it has all messages of the source",
    "messages-left": "a site is made to serve while its mate holds messages that it lacks, and no operator accepted that",
    "changed-while-managed": "a site is changed while another manager may act there, and no operator accepted that",
    "sent-twice": "an action that must not be repeated is sent again after it was obeyed",
    "undo-order": "a change is rolled back before a later one",
    "not-reverted": "the lane ends reverted, and a change of it is still there",
    "not-refused": "the lane ends refused, as if nothing was changed, and something was",
    "not-done": "a step counts as done, and what it does is not so",
    "escalated-unattended": "the guarantee is given up without a decision",
    "unnamed-end": "the lane ends in no way that has a name",
    "core-error": "the decisions break off",
    "dead-end": "from here no answer, no decision and no passing of time leads to an end",
    "waits-unattended": "without an operator this never ends",
    "stays-stopped": "the run stopped, and no resume and no abort ends it, even after people repaired the pair",
    "never-done": "undisturbed, no way from any start ends done",
    # Of message VPNs.
    "opened-behind-another": "a door of the site is opened while another service relies on its being shut",
    "undecided-transaction": "a transaction is completed or deleted without a decision on it",
    "transaction-elsewhere": "a transaction is completed at a site that is not the formerly active one",
    # Of AMPS.
    "opened-unrecovered": "clients are let in at an instance that has not finished its recovery",
    "undecided-proxy": "proxied transfer is turned on without an approval",
    "delivered-twice": "two instances may deliver the same queue messages, by proxied transfer",
    "nobody-serves": "it ends done, and neither instance lets clients in",
    "left-waiting": "it ends done, and the target's publishers wait for a source that is gone",
    "queues-left": "the move is done, and the source still owns queue messages",
}
