"""Every check and rule with its id, usual level, title and consequence. Documentation, SARIF and findings use them.

The nine checks are AMPS's own. The other rules are ours, and their consequence contains the reason. A published id
keeps its meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adapters.amps.config.model import MANDATORY
from validator.checks import CHECKS
from validator.report import Level


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``consequence``: the effect when the rule is broken. A milder case may have another level."""

    id: str
    level: Level
    title: str
    consequence: str


OURS: tuple[Rule, ...] = (
    # Remarks of the configuration reader.
    Rule("missing-element", Level.ERROR, "A required element is there", "AMPS does not start without it"),
    Rule("missing-setting", Level.NOTE, "A setting that AMPS requires is there", "AMPS does not start without it"),
    Rule(
        "name-invalid", Level.ERROR, "An instance's name has no space, /, \\, $ or ~", "AMPS does not accept the name"
    ),
    Rule("value-unknown", Level.ERROR, "A value is one that AMPS knows", "AMPS documents no such value"),
    Rule("element-repeated", Level.UNDECIDED, "An element is given once", "which one AMPS takes is not documented"),
    Rule(
        "element-misspelt",
        Level.RISK,
        "Element names are spelt as documented",
        "AMPS documents no effect of this element",
    ),
    Rule(
        "element-unknown",
        Level.NOTE,
        "Elements are documented ones",
        "this validation does not check the element",
    ),
    Rule(
        "variable-undefined",
        Level.UNDECIDED,
        "Every ${VARIABLE} has a value",
        "the real value may compare differently",
    ),
    Rule(
        "sow-name-pattern",
        Level.RISK,
        "The Name of a SOW topic is a plain name",
        "AMPS accepts it and it matches nothing",
    ),
    Rule(
        "exclusion-unknown",
        Level.RISK,
        "ExcludeValidation names checks that exist",
        "the check that was meant stays in force",
    ),
    Rule(
        "exclusion-mandatory",
        Level.RISK,
        "ExcludeValidation leaves queue and queue_underlying alone",
        "it has no effect",
    ),
    # One instance.
    Rule(
        "duplicate-name",
        Level.ERROR,
        "Names of instances are unique",
        "messages are kept from looping by the names they passed; two of the same name lose messages",
    ),
    Rule(
        "replication-transports",
        Level.ERROR,
        "An instance has at most one incoming replication transport",
        "AMPS allows exactly one per instance",
    ),
    Rule(
        "no-sync-destination",
        Level.RISK,
        "An instance that takes publishes has a sync destination",
        "a publisher has an acknowledgement while this instance alone has the message; losing one loses the other",
    ),
    Rule(
        "topic-not-logged",
        Level.RISK,
        "A replicated topic is in the instance's own transaction log",
        "what is not in the transaction log is never replicated",
    ),
    Rule(
        "queue-not-logged",
        Level.RISK,
        "A queue and its underlying topic are in the transaction log",
        "AMPS keeps queues in the transaction log",
    ),
    Rule(
        "local-queue-replicated",
        Level.ERROR,
        "A LocalQueue is not replicated",
        "AMPS reports an error: a LocalQueue cannot be",
    ),
    Rule(
        "derived-replicated",
        Level.NOTE,
        "Views and conflated topics are not replicated",
        "AMPS computes them on each instance and replicates only what is published",
    ),
    Rule(
        "overlapping-topics",
        Level.UNDECIDED,
        "No two Topic entries of a Destination treat one topic differently",
        "how AMPS combines them is not documented",
    ),
    Rule(
        "pattern-unreadable",
        Level.UNDECIDED,
        "Expressions can be read",
        "which topics it matches is unknown, so nothing that depends on it is decided",
    ),
    Rule("duplicate-definition", Level.RISK, "A topic is defined once", "which definition counts is not documented"),
    Rule(
        "sow-order",
        Level.RISK,
        "A SOW topic comes before the container that matches it",
        "the container takes the topic",
    ),
    Rule(
        "exclusion-not-needed",
        Level.NOTE,
        "Nothing is excluded that would pass",
        "a later mistake would go unnoticed",
    ),
    Rule(
        "initial-owner-unknown",
        Level.RISK,
        "InitialOwner is an instance of the fabric",
        "AMPS does not check it; until that instance is reached nothing of the queue is delivered",
    ),
    # Destinations and links.
    Rule(
        "destination-unknown",
        Level.UNDECIDED,
        "The configuration a Destination leads to is given",
        "the link is not validated",
    ),
    Rule(
        "destination-ambiguous", Level.NOTE, "A Destination leads to certain instances", "each candidate is validated"
    ),
    Rule(
        "self-destination", Level.RISK, "A Destination leads to another instance", "an instance has all it could send"
    ),
    Rule(
        "duplicate-destination",
        Level.RISK,
        "One Destination leads to an instance",
        "AMPS keeps only one connection from an instance to another",
    ),
    Rule(
        "group-mismatch",
        Level.ERROR,
        "The Group of a Destination is the remote instance's",
        "AMPS reports an error and refuses to connect",
    ),
    Rule(
        "no-replication-transport",
        Level.ERROR,
        "The remote instance listens for replication",
        "the link cannot be made: nothing listens, and no connection comes from there",
    ),
    Rule(
        "transport-mismatch", Level.RISK, "Both ends of a link speak the same transport type", "the link is not made"
    ),
    Rule(
        "port-mismatch",
        Level.NOTE,
        "The remote instance listens on the port",
        "unless ports are mapped, the link is not made",
    ),
    Rule(
        "regex-support-differs",
        Level.RISK,
        "RegexTopicSupport is the same on both ends",
        "an expression on one side is a plain name on the other",
    ),
    # One topic on one link.
    Rule("key-domain-differs", Level.RISK, "KeyDomain is the same on both ends", "the same record has other SowKeys"),
    Rule(
        "key-generator-differs",
        Level.RISK,
        "KeyGenerator is the same on both ends",
        "the same record has other SowKeys",
    ),
    Rule(
        "queue-kind-differs",
        Level.RISK,
        "A queue is of one kind everywhere",
        "who owns a message is decided differently; whether the queue check covers it is not documented",
    ),
    Rule(
        "initial-owner-differs",
        Level.RISK,
        "InitialOwner is the same everywhere",
        "AMPS requires it and does not check it: two instances may deliver the same message",
    ),
    Rule(
        "queue-settings-differ",
        Level.RISK,
        "Semantics and domain of a queue are the same",
        "consumers see another behaviour",
    ),
    Rule(
        "queue-filtered",
        Level.NOTE,
        "Queues are replicated without a filter",
        "the queue holds other messages on each side",
    ),
    Rule(
        "queue-underlying-not-replicated",
        Level.RISK,
        "The underlying topics of a replicated queue are replicated too",
        "the queue is empty on the other side",
    ),
    # The whole fabric.
    Rule(
        "passthrough-gap",
        Level.RISK,
        "Every message arrives wherever links lead",
        "messages stop on the way, because PassThrough does not name the group they come from",
    ),
    Rule(
        "passthrough-anchoring",
        Level.NOTE,
        "PassThrough matches the whole name of a group, or none of it",
        "whether AMPS matches anywhere in the name is assumed (passthrough_match)",
    ),
    Rule(
        "failover-async",
        Level.RISK,
        "Links between instances that clients fail over between are sync",
        "a message that was acknowledged may be missing after the fail-over, and be dropped as a duplicate later",
    ),
    Rule(
        "failover-unconnected",
        Level.RISK,
        "Instances that clients fail over between are connected by sync links both ways",
        "after the fail-over messages are missing",
    ),
    Rule(
        "bootstrap-deadlock",
        Level.RISK,
        "No instances bootstrap from each other alone",
        "when all of their transaction logs are empty, each waits for the others for ever",
    ),
    Rule(
        "bootstrap-unprepared",
        Level.ERROR,
        "An instance that bootstraps has a replication transport and a transaction log",
        "AMPS requires both for bootstrap initialization",
    ),
    Rule(
        "bootstrap-data-unsaid",
        Level.UNDECIDED,
        "A Bootstrap has a DataType",
        "whether it fetches SOW, log or both is unknown",
    ),
    Rule(
        "bootstrap-unstored",
        Level.RISK,
        "An instance that bootstraps a SOW topic defines it",
        "AMPS keeps records of a topic only if it is defined in the SOW, so they are not restored",
    ),
    Rule(
        "bootstrap-incomplete",
        Level.RISK,
        "A Bootstrap restores all that the instance shares with its source",
        "replication does not bring it back, so the instance is no fail-over target for it",
    ),
    Rule(
        "bootstrap-source-closed",
        Level.ERROR,
        "A bootstrap source has a replication transport",
        "the instance waits for another source, for ever if there is none",
    ),
    Rule(
        "bootstrap-source-unknown",
        Level.UNDECIDED,
        "The configuration that Bootstrap leads to is given",
        "whether it has the topics is unknown",
    ),
    Rule(
        "bootstrap-source-lacks",
        Level.RISK,
        "A bootstrap source has the topics asked for",
        "the instance starts without the messages of the topic",
    ),
)


def _nine() -> Iterable[Rule]:
    for check, function in CHECKS.items():
        title = (function.__doc__ or "").strip().removeprefix("… and ")
        unless = "; the check cannot be excluded" if check in MANDATORY else ", unless the check is excluded"
        yield Rule(check.value, Level.ERROR, title[:1].upper() + title[1:], f"AMPS refuses the link{unless}")


NINE: tuple[Rule, ...] = tuple(_nine())
RULES: Mapping[str, Rule] = {rule.id: rule for rule in (*NINE, *OURS)}
