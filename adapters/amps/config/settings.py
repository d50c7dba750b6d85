"""The settings of a validation: the options of one run, and every assumption about undocumented behaviour of AMPS.

An assumption is a named setting with a default. The report lists the assumptions in force, so that an inference is not
taken for a fact. Nothing here reads files or the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Assumptions(_Strict):
    """Behaviour that 60East does not document. Each field is one assumption; its description says what is assumed."""

    overlapping_entries: Literal["union", "first"] = Field(
        default="union",
        description="if several Topic entries of one Destination match a topic: an exclusion in any of them counts "
        "(union), or only the first entry counts (first)",
    )
    passthrough_match: Literal["search", "fullmatch"] = Field(
        default="search",
        description="PassThrough may match anywhere in the group's name (search), or must match all of it "
        "(fullmatch)",
    )
    key_order_matters: bool = Field(
        default=True, description="the order of Key elements is a part of the key definition"
    )
    way_back: Literal["instance", "group"] = Field(
        default="instance",
        description="a destination is a way back to this instance if it leads to this instance (instance), or to any "
        "instance of its group (group)",
    )
    cascade_counts_way_back: bool = Field(
        default=True,
        description="the cascade check also covers the downstream instance's way back to this instance",
    )
    queue_underlying_needs_queue: bool = Field(
        default=True,
        description="the check queue_underlying also fails if the downstream instance does not have the queue",
    )
    queue_needs_same_kind: bool = Field(
        default=False, description="the queue check requires the same kind on both sides: Queue or GroupLocalQueue"
    )
    only_logged_topics: bool = Field(
        default=True,
        description="a regular expression in a Destination means only topics that the source logs; "
        "a topic that is written as a name is always validated",
    )
    topic_without_name: Literal["every-topic", "none"] = Field(
        default="every-topic",
        description="a Destination Topic without a Name means every topic of its message type, or no topic (none)",
    )
    dotted_names: bool = Field(
        default=True,
        description="an expression whose only special character is the dot, such as orders.v1, is read as a name",
    )
    host_names_instance: bool = Field(
        default=True,
        description="an address leads to an instance if its host, or the first label of its host, is the instance's name",
    )
    unique_port: bool = Field(
        default=True,
        description="an address leads to an instance if no other given instance has a replication transport on its port",
    )
    include_base: Literal["including-file", "main-file", "working-directory"] = Field(
        default="including-file", description="the place from which a relative path in an Include starts"
    )


class TopicName(_Strict):
    """A topic that exists although no configuration writes it out."""

    name: str
    message_type: str


class ValidateOptions(_Strict):
    """One validation.

    ``variables`` are the values of ``${NAME}`` (AMPS: ``-DNAME=value`` or the environment; the caller decides which
    of them to pass). ``topics`` are further topics that exist; with ``topics_complete`` there are no others, and
    nothing is left undecided for topics that are not written down. ``hosts`` says under which host names an instance is
    reached. ``failover_sets`` lists instances that clients fail over between, beyond those of one group.
    """

    variables: Mapping[str, str] = Field(default_factory=dict)
    topics: tuple[TopicName, ...] = ()
    topics_complete: bool = False
    hosts: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    failover_sets: tuple[tuple[str, ...], ...] = ()
    extra_rules: bool = True
    suggest_exclusions: bool = False
    intended: tuple[str, ...] = Field(
        default=(),
        description="for suggest_exclusions: the instances whose asymmetry is intended; if empty, any instance",
    )
    rolling_from: tuple[str, ...] = Field(
        default=(),
        description="files of the current configuration; the plan is the change from these files to the given files",
    )
    assumptions: Assumptions = Assumptions()
