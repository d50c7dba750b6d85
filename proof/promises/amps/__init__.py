"""The promises for AMPS instances: which one lets clients in, which messages have crossed its link, which risk a person
accepted.

AMPS has no roles: an instance that lets clients in serves. Across a sync link two instances may serve, since a message
counts as safe only when both have it. Otherwise only one instance may serve at a time.
"""

from proof.promises.amps.facts import MEANING
from proof.promises.amps.on_order import gives_up, judge_order
from proof.promises.amps.on_record import judge_record
from proof.promises.amps.on_world import counts, judge_claim, judge_end, judge_lasting, judge_world
from proof.promises.rules import Rules

AMPS = Rules(
    meaning=MEANING,
    order=judge_order,
    record=judge_record,
    world=judge_world,
    end=judge_end,
    counts=counts,
    lasting=judge_lasting,
    claim=judge_claim,
    gives_up=gives_up,
)
