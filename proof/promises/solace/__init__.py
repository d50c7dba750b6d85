"""The promises for a message VPN: roles, queue and bridge, doors, transactions."""

from proof.promises.rules import Rules
from proof.promises.solace.facts import MEANING, NOT_IDEMPOTENT
from proof.promises.solace.on_claim import judge_claim
from proof.promises.solace.on_order import gives_up, judge_order, noted
from proof.promises.solace.on_record import judge_record
from proof.promises.solace.on_world import counts, judge_end, judge_lasting, judge_world

SOLACE = Rules(
    meaning=MEANING,
    order=judge_order,
    record=judge_record,
    world=judge_world,
    end=judge_end,
    counts=counts,
    lasting=judge_lasting,
    claim=judge_claim,
    gives_up=gives_up,
    noted=noted,
    not_idempotent=NOT_IDEMPOTENT,
    shared=frozenset({"set_backbone", "set_external_fence"}),
    outside=frozenset({"set_external_fence", "ensure"}),
)
