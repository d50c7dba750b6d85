"""The editions of the simulated appliances: answers of real brokers that differ from those of the plain lab.

Each edition changes one property of the text and JSON answers. Events of a device (its spool is not ready, a role is
set back) are faults of the world, not editions. Sources: docs/sources/solace-cli.md, by section. An edition without a
source is marked as an assumption. A reader must work with each edition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import sha256

from simulator.lab.catalogue import Catalogue, Named
from simulator.lab.edition import NEWER, Edition, Printing, Views
from simulator.solace.appliance import PlatformView, RedundancyView, VpnReplication

Change = Callable[[Edition], Edition]

_RULE = re.compile(r"-{2,}(?: -+)*")
# Printed instead of an empty table. Assumption: the words.
_SENTENCE = "No matching objects found."
# From the older to the newer spelling (sections 7 and 11).
_LABELS = {
    "Reject Msg To Sender On Discard": "Reject Msg to Sender on Discard",
    "Max Message Count": "Max Queue Messages",
    "Message Count Utilization": "Queue Message Resource Utilization",
    "Mate Disk Partition Usage": "Standby Disk Partition Usage",
}
_LABEL = re.compile(r"(?P<label>\S[^:]*?)(?P<blanks> *):(?P<more> *)(?P<value>.*)")


def with_editions(edition: Edition, names: Iterable[str]) -> Edition:
    """``edition`` with the changes of the named editions, in order. Raises ``DefinitionError`` with the list."""
    for change in APPLIANCES.chosen(names):
        edition = change(edition)
    return edition


# Printed lines


def _empty(instead: Callable[[Sequence[str]], Sequence[str]]) -> Change:
    """Print ``instead`` of the table of ``show transaction`` if the table has no rows."""

    def printing(words: Sequence[str], lines: Sequence[str]) -> Sequence[str]:
        rules = [number for number, line in enumerate(lines) if _RULE.fullmatch(line)]
        is_empty = not rules or not any(line.strip() for line in lines[rules[-1] + 1 :])
        is_listing = words[0] == "transaction" and not any(line.startswith("XID:") for line in lines)
        return instead(lines) if is_listing and is_empty else lines

    return _printing(printing)


def _without_legend(lines: Sequence[str]) -> Sequence[str]:
    """The table from its header on, the two lines above the rule. The detail form has no rule and stays unchanged."""
    rule = next((number for number, line in enumerate(lines) if _RULE.fullmatch(line)), None)
    return lines if rule is None else lines[max(0, rule - 2) :]


def _labels(words: Sequence[str], lines: Sequence[str]) -> Sequence[str]:
    return [_spelled_otherwise(line) for line in lines]


def _spelled_otherwise(line: str) -> str:
    found = _LABEL.fullmatch(line)
    other = _LABELS.get(found["label"]) if found else None
    if found is None or other is None:
        return line
    # The colon, or the value after it, stays in its column.
    width = len(found["label"]) - len(other)
    if found["blanks"]:
        return f"{other}{' ' * max(1, len(found['blanks']) + width)}:{found['more']}{found['value']}"
    return f"{other}:{' ' * max(1, len(found['more']) + width)}{found['value']}"


def _heuristic(words: Sequence[str], lines: Sequence[str]) -> Sequence[str]:
    """Assumption: the word, taken from the documentation's term for such a transaction. The letters of the table
    stay, because docs/sources/solace-procedure.md, controlled 4, shows them (docs/sources/solace-cli.md, 14)."""
    if words[0] != "transaction":
        return lines
    return ["State: HEURISTICALLY-COMPLETED" if line == "State: COMPLETE" else line for line in lines]


def _printing(printing: Printing) -> Change:
    return lambda edition: replace(edition, prints=(*edition.prints, printing))


# Reports of a node about itself


def _views(change: Callable[[Views], Views]) -> Change:
    return lambda edition: replace(edition, views=change(edition.views))


def _mate_prefix(views: Views) -> Views:
    def platform(found: PlatformView) -> PlatformView:
        return replace(found, mate_router=f"v:{found.mate_router}" if found.mate_router else "")

    return replace(views, platform=platform)


def _sync_untold(views: Views) -> Views:
    def row(found: VpnReplication) -> VpnReplication:
        return replace(found, sync_eligible=None)

    return replace(views, row=row)


def _released(word: str) -> Change:
    def node(found: RedundancyView) -> RedundancyView:
        gave_up = found.configured and found.activity != "Local Active"
        return replace(found, released=word) if gave_up else found

    return _views(lambda views: replace(views, node=node))


def _software(edition: Edition) -> Edition:
    return replace(
        edition,
        version=NEWER.version,
        product="Standard",
        redundancy_tells_status=True,
        views=replace(edition.views, router=_container),
    )


def _container(name: str) -> str:
    """Twelve hexadecimal digits, as in the host name of a container (section 21)."""
    return sha256(name.encode()).hexdigest()[:12]


# Pace


def _slow_login(seconds: float) -> Change:
    return lambda edition: replace(edition, pace=replace(edition.pace, login_s=seconds))


def _slow_line(seconds: float) -> Change:
    return lambda edition: replace(edition, pace=replace(edition.pace, line_s=seconds))


def _half_open(answers: float) -> Change:
    return lambda edition: replace(edition, pace=replace(edition.pace, answers_max=int(answers)))


def _newer(edition: Edition) -> Edition:
    return replace(
        edition,
        version=NEWER.version,
        replication_letters=NEWER.replication_letters,
        replication_rule=NEWER.replication_rule,
        legend_says_not_applicable=True,
        redundancy_tells_status=True,
    )


def _letter_w(edition: Edition) -> Edition:
    return replace(edition, replication_letters="ACWBRQSMT", replication_rule=9)


def _asking(edition: Edition) -> Edition:
    return edition.asking_also("commit-transaction", "rollback-transaction", "delete-transaction")


APPLIANCES: Catalogue[Change] = Catalogue(
    "appliances",
    (
        Named("newer", "The tables of version 10.25: legends with -=N/A, Redundancy Status.", lambda _: _newer),
        Named("letter-w", "The replication table has the column W, which no legend explains.", lambda _: _letter_w),
        Named(
            "empty-nothing",
            "Without transactions `show transaction` prints nothing at all.",
            lambda _: _empty(lambda lines: []),
        ),
        Named(
            "empty-header",
            "Without transactions `show transaction` prints header and rule only.",
            lambda _: _empty(_without_legend),
        ),
        Named(
            "empty-sentence",
            "Without transactions `show transaction` prints a sentence in place of the table.",
            lambda _: _empty(lambda lines: ["", _SENTENCE, ""]),
        ),
        Named("other-labels", "Labels are spelled as newer versions spell them.", lambda _: _printing(_labels)),
        Named(
            "mate-prefix",
            "Over SEMP, too, the replication mate is a virtual router: v:NAME.",
            lambda _: _views(_mate_prefix),
        ),
        Named(
            "sync-untold",
            "Sync eligibility is - for an active message VPN too; SEMP leaves it out.",
            lambda _: _views(_sync_untold),
        ),
        Named(
            "asks-transactions",
            "commit-, rollback- and delete-transaction ask y/n before they act.",
            lambda _: _asking,
        ),
        Named(
            "heuristic-states",
            "The details of a completed transaction say HEURISTICALLY-COMPLETED.",
            lambda _: _printing(_heuristic),
        ),
        Named("software", "A software broker in a container: its name is 12 hex digits.", lambda _: _software),
        Named("released", "An HA node without activity is Released, not Enabled.", lambda _: _released("Released")),
        Named(
            "enabled-released",
            "An HA node without activity is Enabled-Released, not Enabled.",
            lambda _: _released("Enabled-Released"),
        ),
        Named(
            "standby-refuses",
            "A node without the active spool refuses `show queue`; the plain lab shows 0 there.",
            lambda _: _views(lambda views: replace(views, asks_spool=True)),
        ),
        Named("slow-login", "A login takes so many seconds.", _slow_login, 10),
        Named("slow-line", "The first reading of a queue takes a node so many seconds.", _slow_line, 60),
        Named("half-open", "After so many answers a connection stops answering, and stays open.", _half_open, 20),
    ),
)
