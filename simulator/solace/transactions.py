"""The transactions of one VPN at both sites, and the transaction manager that also completes them.

Sources: docs/sources/solace-procedure.md, controlled 4 and 6, docs/sources/solace.md, 1.8 and 4.3. Prepared,
replicated transactions are known to both sites. Nothing here moves a message. The account of messages does not include
the messages of a transaction.

Assumption: the heuristic completion of a transaction reaches the mate only if the mate's bridge is bound at that time.
"""

from __future__ import annotations

from simulator.solace.account import Ledger
from simulator.solace.appliance import NoSuchObject, Outcome, Refused
from simulator.solace.layout import ManagerLayout, TransactionLayout
from simulator.solace.site_state import HeldTransaction, Side

_MANAGER = "transaction manager"


class TransactionTable:
    """The transactions that each side knows. ``mirror``: the mate if its bridge is bound to that side, else None."""

    __slots__ = ("_ledger", "_manager")

    def __init__(self, ledger: Ledger, manager: ManagerLayout) -> None:
        self._ledger = ledger
        self._manager = manager

    def begin(self, active: Side, standby: Side, layouts: tuple[TransactionLayout, ...]) -> None:
        """Create the transactions that exist when time starts."""
        for what in layouts:
            self._hold(active, what, -what.age)
            if what.replicated and what.state in ("PREPARED", "COMPLETE"):
                self._hold(standby, what, -what.age)

    def complete(self, now: float, side: Side, mirror: Side | None, xid: str, outcome: Outcome) -> None:
        """Heuristic commit or rollback. Raises ``NoSuchObject``, or ``Refused`` unless the transaction is prepared."""
        held = self._find(side, xid)
        if held.state != "PREPARED":
            raise Refused(f"transaction {xid} is not prepared")
        self._complete(now, side, mirror, held, outcome, "command")

    def delete(self, side: Side, xid: str) -> None:
        """Forget a completed transaction at one site. Raises ``NoSuchObject`` or ``Refused``."""
        if self._find(side, xid).state != "COMPLETE":
            raise Refused(f"transaction {xid} is not complete")
        del side.transactions[xid]

    def manager_ends(self, now: float, side: Side, mirror: Side | None, xid: str, outcome: Outcome) -> None:
        """The transaction manager completes and forgets a transaction at the sides it can still reach."""
        held = side.transactions.get(xid)
        if held is None:
            return
        if held.state == "PREPARED":
            self._complete(now, side, mirror, held, outcome, _MANAGER)
        for known in (side, mirror):
            if known is not None:
                known.transactions.pop(xid, None)

    def manager_prepares(self, now: float, side: Side, mirror: Side | None, xid: str) -> None:
        """A new branch is prepared."""
        for known in (side, mirror):
            if known is not None:
                self._hold(known, TransactionLayout(xid=xid), now)

    def reconcile(self, now: float, side: Side, mirror: Side | None) -> None:
        """Once connected to the newly active site, the manager ends all transactions there that have an outcome in
        its log.

        A transaction that a person completed meanwhile is forgotten. The account records the outcome from the log for it.
        """
        for xid, outcome in self._manager.outcomes:
            held = side.transactions.get(xid)
            if held is None:
                continue
            if held.state == "PREPARED":
                self._complete(now, side, mirror, held, outcome, _MANAGER)
            else:
                self._ledger.note_completion(now, side.name, xid, outcome, _MANAGER)
            del side.transactions[xid]

    def _complete(
        self, now: float, side: Side, mirror: Side | None, held: HeldTransaction, outcome: Outcome, by: str
    ) -> None:
        held.state, held.since = "COMPLETE", now
        self._ledger.note_completion(now, side.name, held.what.xid, outcome, by)
        mirrored = None if mirror is None else mirror.transactions.get(held.what.xid)
        if mirror is not None and mirrored is not None and mirrored.state == "PREPARED":
            mirrored.state, mirrored.since = "COMPLETE", now
            self._ledger.note_completion(now, mirror.name, held.what.xid, outcome, "replication")

    def _hold(self, side: Side, what: TransactionLayout, since: float) -> None:
        side.transactions[what.xid] = HeldTransaction(what, what.state, since)

    def _find(self, side: Side, xid: str) -> HeldTransaction:
        held = side.transactions.get(xid)
        if held is None:
            raise NoSuchObject(f"transaction {xid} does not exist")
        return held
