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
    Rule(
        "missing-element",
        Level.ERROR,
        "A required element must be present",
        "AMPS does not start without this element",
    ),
    Rule(
        "missing-setting",
        Level.NOTE,
        "A setting that AMPS requires must be present",
        "AMPS does not start without this setting",
    ),
    Rule(
        "name-invalid",
        Level.ERROR,
        "The name of an instance has no space, /, \\, $ or ~",
        "AMPS does not accept the name",
    ),
    Rule(
        "value-unknown", Level.ERROR, "A value must be one that AMPS documents", "AMPS does not document this value"
    ),
    Rule(
        "element-repeated",
        Level.UNDECIDED,
        "An element is given only once",
        "AMPS does not document which of the elements it uses",
    ),
    Rule(
        "element-misspelt",
        Level.RISK,
        "Element names are spelt as documented",
        "AMPS documents no effect of this element",
    ),
    Rule(
        "element-unknown",
        Level.NOTE,
        "AMPS documents the element",
        "this validation does not check the element",
    ),
    Rule(
        "variable-undefined",
        Level.UNDECIDED,
        "Every ${VARIABLE} has a value",
        "the comparison may be wrong, because the real value is unknown",
    ),
    Rule(
        "sow-name-pattern",
        Level.RISK,
        "The Name of a SOW topic is a plain name",
        "AMPS accepts the name, but it matches no topic",
    ),
    Rule(
        "exclusion-unknown",
        Level.RISK,
        "ExcludeValidation names checks that exist",
        "the intended check is not excluded",
    ),
    Rule(
        "exclusion-mandatory",
        Level.RISK,
        "ExcludeValidation does not name queue or queue_underlying",
        "the exclusion has no effect",
    ),
    # One instance.
    Rule(
        "duplicate-name",
        Level.ERROR,
        "Names of instances are unique",
        "AMPS stops loops by the names of instances, so two instances with the same name lose messages",
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
        "a publisher has an acknowledgement while only this instance has the message, so a loss of it loses the message",
    ),
    Rule(
        "topic-not-logged",
        Level.RISK,
        "A replicated topic is in the transaction log of the instance",
        "messages that are not in the transaction log are never replicated",
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
        "AMPS reports an error, because a LocalQueue cannot be replicated",
    ),
    Rule(
        "derived-replicated",
        Level.NOTE,
        "Views and conflated topics are not replicated",
        "AMPS computes them on each instance and replicates only published messages",
    ),
    Rule(
        "overlapping-topics",
        Level.UNDECIDED,
        "Topic entries of a Destination do not treat the same topic differently",
        "AMPS does not document how it combines the entries",
    ),
    Rule(
        "pattern-unreadable",
        Level.UNDECIDED,
        "This validation can read the expression",
        "the matching topics are unknown, so checks that depend on the expression are undecided",
    ),
    Rule(
        "duplicate-definition",
        Level.RISK,
        "A topic is defined only once",
        "AMPS does not document which definition it uses",
    ),
    Rule(
        "sow-order",
        Level.RISK,
        "A SOW topic comes before the container that matches it",
        "the container takes the topic instead",
    ),
    Rule(
        "exclusion-not-needed",
        Level.NOTE,
        "A check that would pass is not excluded",
        "AMPS will not find a later mistake",
    ),
    Rule(
        "initial-owner-unknown",
        Level.RISK,
        "InitialOwner is an instance of the fabric",
        "AMPS does not check this; no message of the queue is delivered until that instance is reached",
    ),
    # Destinations and links.
    Rule(
        "destination-unknown",
        Level.UNDECIDED,
        "The configuration of the instance that a Destination leads to is given",
        "the link is not validated",
    ),
    Rule(
        "destination-ambiguous",
        Level.NOTE,
        "It is clear which instance a Destination leads to",
        "every possible instance is validated",
    ),
    Rule(
        "self-destination",
        Level.RISK,
        "A Destination leads to another instance",
        "an instance already has all messages that it could send to itself",
    ),
    Rule(
        "duplicate-destination",
        Level.RISK,
        "Only one Destination leads to the same instance",
        "AMPS keeps only one connection from an instance to another",
    ),
    Rule(
        "group-mismatch",
        Level.ERROR,
        "The Group of a Destination is the group of the remote instance",
        "AMPS reports an error and refuses to connect",
    ),
    Rule(
        "no-replication-transport",
        Level.ERROR,
        "The remote instance listens for replication",
        "the link cannot be made, because the remote instance neither listens nor connects",
    ),
    Rule(
        "transport-mismatch",
        Level.RISK,
        "Both ends of a link use the same transport type",
        "AMPS does not make the link",
    ),
    Rule(
        "port-mismatch",
        Level.NOTE,
        "The remote instance listens on the port of the Destination",
        "AMPS does not make the link, unless ports are mapped",
    ),
    Rule(
        "regex-support-differs",
        Level.RISK,
        "RegexTopicSupport is the same on both ends",
        "one side reads a name as an expression, but the other side reads it as a plain name",
    ),
    # One topic on one link.
    Rule(
        "key-domain-differs",
        Level.RISK,
        "KeyDomain is the same on both ends",
        "the same record has different SowKeys",
    ),
    Rule(
        "key-generator-differs",
        Level.RISK,
        "KeyGenerator is the same on both ends",
        "the same record has different SowKeys",
    ),
    Rule(
        "queue-kind-differs",
        Level.RISK,
        "A queue has the same kind on all instances",
        "the instances decide differently which one owns a message; "
        "AMPS does not document if the queue check covers this",
    ),
    Rule(
        "initial-owner-differs",
        Level.RISK,
        "InitialOwner is the same on all instances",
        "two instances may deliver the same message, because AMPS requires equal values but does not check them",
    ),
    Rule(
        "queue-settings-differ",
        Level.RISK,
        "Semantics and domain of a queue are the same on both ends",
        "consumers see different behaviour on the two ends",
    ),
    Rule(
        "queue-filtered",
        Level.NOTE,
        "Queues are replicated without a filter",
        "the queue holds different messages on each side",
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
        "Every message reaches all instances that the links lead to",
        "messages stop on the way, because PassThrough does not name the group that they come from",
    ),
    Rule(
        "passthrough-anchoring",
        Level.NOTE,
        "PassThrough matches the whole name of a group or does not match the name",
        "AMPS does not document if it matches a part of a name, so this is assumed (passthrough_match)",
    ),
    Rule(
        "failover-async",
        Level.RISK,
        "Links between instances that clients fail over between are sync",
        "an acknowledged message may be missing after the fail-over, and AMPS may later drop it as a duplicate",
    ),
    Rule(
        "failover-unconnected",
        Level.RISK,
        "Instances that clients fail over between are connected by sync links both ways",
        "messages are missing after the fail-over",
    ),
    Rule(
        "bootstrap-deadlock",
        Level.RISK,
        "Instances do not bootstrap only from each other",
        "if all their transaction logs are empty, the instances wait for each other for ever",
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
        "it is unknown whether the Bootstrap fetches SOW, log or both",
    ),
    Rule(
        "bootstrap-unstored",
        Level.RISK,
        "An instance that bootstraps a SOW topic also defines this topic",
        "the records are not restored, because AMPS keeps records only of topics that are defined in the SOW",
    ),
    Rule(
        "bootstrap-incomplete",
        Level.RISK,
        "A Bootstrap restores all data that the instance shares with its source",
        "replication does not restore the missing data, so the instance is not a fail-over target for it",
    ),
    Rule(
        "bootstrap-source-closed",
        Level.ERROR,
        "A bootstrap source has a replication transport",
        "the instance waits for another source, and waits for ever if there is no other source",
    ),
    Rule(
        "bootstrap-source-unknown",
        Level.UNDECIDED,
        "The configuration of the bootstrap source is given",
        "it is unknown whether the source has the topics",
    ),
    Rule(
        "bootstrap-source-lacks",
        Level.RISK,
        "A bootstrap source has the topics that the Bootstrap asks for",
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
