"""Finds the names in CLI output, and knows the devices' own words: for a text that is shown to outsiders.

Recognised names are XIDs, and the values under a column heading or label that is the name, the address or the number of
something that belongs to the owner of the devices. In an unknown layout a name may not be recognised, so the sender has
to read the text first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adapters.solace.dialect import SOLACE
from adapters.solace.labels import Term, plain
from adapters.solace.parse_redundancy import Activity, Spool
from adapters.solace.reading_models import Bridge, TransactionState
from adapters.solace.refusals import refusal
from adapters.solace.spec import READINGS
from adapters.solace.tables import Span, label_in, lines_of, rule_in
from orchestrator.model.exchanges import Exchange, Explanation
from orchestrator.model.readings import Role

# Words that head a column of names, or end the label of a name.
_NAMING = re.compile(
    r"(?:\w*name|\w*vpn|\w*user|owner|client|queue|endpoint|router|mate|node|node s|host|address|gateway|xid"
    r"|description|topic|contact|location|serial|serial number|serial #|chassis|product key|fingerprint|destination"
    r"|domain)s?",
    re.IGNORECASE,
)
# A name in an error message: the node that was reached, or the text that came in place of a prompt.
_IN_ERRORS = re.compile(r"\bcalls itself ([^\s;]+)|\blast: '([^']+)'")
_XID = re.compile(r"(?<![\w-])[0-9A-F]{4,}-[0-9A-F]*-[0-9A-F]+(?![\w-])", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"[\d.,:%/ -]*|true|false", re.IGNORECASE)
_VERSION = re.compile(r"\bversion \d", re.IGNORECASE)
# The heading of the two columns of `show redundancy`, which hold states.
_SIDE = re.compile(r"virtual router", re.IGNORECASE)
_LONGEST_REFUSAL = 3  # lines
# Columns of one or two characters hold flags.
_NARROW = 3
# Other words that devices print: beside the labels that are read, and for services, routers and separate clients.
_PRINTED = (
    "ad admin administratively address all alone any appliance async backbone backup bridge busy client clients "
    "clock cluster command config config-sync configuration connection connections count current date default "
    "destination detail disabled down durable enabled endpoint error failed flags found full group guaranteed ha "
    "hwm interface internal invalid legend link local loopback management mate mb mode monitor mqtt amqp msg n na "
    "no node none not null number oper operational owner pending platform port primary public pubsub queue queues "
    "rate ready redundancy rejected released replication rest router runtime semp service session show shutdown "
    "site smf solace solos source spool spooled ssh standalone standard standby state static status stopped success "
    "sync system table tcp temporary tls topic total transaction transactions true type unknown up usage user utc "
    "value version virtual vpn vrf warning web xa yes false not-applicable "
)


def _words() -> frozenset[str]:
    spoken = [" ".join(term.names) for term in Term]
    spoken += [str(word) for kind in (Activity, Spool, Role, Bridge, TransactionState) for word in kind]
    spoken += [line for spec in READINGS.values() for line in (*spec.commands([""]), *spec.perhaps([""]))]
    whole = {line.lower() for line in spoken} | {
        "n/a",
        "#config-sync",
        "#msgvpn_replication_data_queue",
        "message vpn",
        "#client",
        "internal message bus",
    }
    return frozenset(
        {word.lower() for line in spoken for word in _WORD.findall(line)} | whole | set(_PRINTED.split())
    )


def names_in(exchange: Exchange) -> Iterator[str]:
    """Each name in the output, as it is written there."""
    yield from _XID.findall(exchange.answer)
    yield from _told(SOLACE.prompt.sub(r"\g<name>", exchange.prompt))
    yield from (one or other for one, other in _IN_ERRORS.findall(exchange.why))
    lines = exchange.answer.split("\n")
    above: list[str] = []  # the lines since the last table started or ended; the last of them head the next table
    rule: Sequence[Span] = ()
    heads: Sequence[bool] = ()
    has_rows = False
    for number, line in enumerate(lines):
        if not line.strip():
            if has_rows:  # a blank line before the first row is no end
                rule, above, has_rows = (), [], False
            continue
        drawn = rule_in(line)
        if drawn is not None:
            has_rows = False
            rule, heads = drawn, [_is_naming(above[-2:], span) for span in drawn]
            continue
        if number + 1 < len(lines) and rule_in(lines[number + 1]) is not None:
            rule = ()
        if rule and not line.rstrip().endswith(":"):
            has_rows = True
            yield from _cells(line, rule, heads)
        label = label_in(line)
        if label is not None and _NAMING.search(label.name) and _ends_naming(label.name):
            yield from _told(label.value)
        above.append(line)


def _cells(line: str, rule: Sequence[Span], heads: Sequence[bool]) -> Iterator[str]:
    """The names in one row. The last column runs to the end of the row. A row of one cell may be longer than its
    column."""
    if not line[rule[0].end :].strip() or (heads[0] and len(line.split()) == 1):
        if heads[0]:
            yield from _told(line)
        return
    ends = [*(span.end for span in rule[:-1]), len(line)]
    for span, end, is_naming in zip(rule, ends, heads, strict=True):
        if is_naming:
            yield from _told(line[span.start : end])


def _told(value: str) -> Iterator[str]:
    name = value.strip().strip('"*').removeprefix("v:").strip()
    if name and not is_plain(name):
        yield name


def is_plain(value: str) -> bool:
    """Is ``value`` a number, a truth value or a version, and therefore not a name?"""
    return _NUMBER.fullmatch(value) is not None or _VERSION.search(value) is not None


def _is_naming(above: Sequence[str], span: Span) -> bool:
    """Does one of the lines ``above`` a rule label its column as names?"""
    if span.end - span.start < _NARROW:
        return False
    cells = [line[span.start : span.end].strip() for line in above]
    return any(_ends_naming(cell) and not _SIDE.search(cell) for cell in cells if cell)


def _ends_naming(label: str) -> bool:
    words = [plain(word) for word in re.split(r"[\s-]+", re.sub(r"\(.*?\)", "", label)) if plain(word)]
    return bool(words) and (
        _NAMING.fullmatch(words[-1]) is not None or _NAMING.fullmatch(" ".join(words[-2:])) is not None
    )


def _refusal(exchange: Exchange) -> str:
    if len(lines_of(exchange.answer)) > _LONGEST_REFUSAL:  # words such as "does not exist" are in tables, too
        return ""
    found = refusal(exchange.answer, exchange.device)
    return "" if found is None else str(found)


WORDS = _words()
EXPLANATION = Explanation(names_in, WORDS, _refusal)
