"""A small runbook to break, cut into the parts that a test takes out or puts elsewhere."""

from __future__ import annotations

SMALL = """
runbook: tests/switch
summary: A planned move, reduced to what the promises are about.
steps:
  - id: not-suspended
    title: t
    until: [{on: source, reading: replication_queue, where: {messages: {at_least: 0}}}]
    never: [{on: source, reading: replication_queue, where: {rejects_on_discard: false}}]
    timeout: 1m
  - id: demote
    title: t
    require: [{on: target, reading: replication, where: {role: standby}}]
    do: {on: source, action: set_role, role: standby}
    expect: [{on: source, reading: replication, where: {role: standby}}]
    undo:
      require: [{on: target, reading: replication, where: {role: standby}}]
      do: {on: source, action: set_role, role: active}
      expect: [{on: source, reading: replication, where: {role: active}}]
  - id: drain
    title: t
    until: [{on: source, reading: replication_queue, where: {drained: true}}]
    guard: [{on: target, reading: replication, where: {bridge: bound}}]
    when_guard_breaks: {grace: 60s, gate: lost, choices: [revert, escalate], unattended: revert}
    progress: {on: source, reading: replication_queue, field: messages}
    when_stalled: {after: 2m, gate: stalled, choices: [wait, stop], unattended: stop}
  - id: activate
    title: t
    point_of_no_return: true
    require:
      - {on: source, reading: replication, where: {role: standby}}
      - {on: target, reading: replication, where: {role: standby}}
    reconfirm:
      - {on: source, reading: replication_queue, where: {drained: true}}
      - {on: target, reading: replication, where: {bridge: bound}}
    when_guard_breaks: {grace: 60s, gate: lost, choices: [revert, escalate], unattended: revert}
    progress: {on: source, reading: replication_queue, field: messages}
    do: {on: target, action: set_role, role: active}
    expect: [{on: target, reading: replication, where: {role: active}}]
"""
RECONFIRM = SMALL[SMALL.index("    reconfirm:") : SMALL.index("    do: {on: target, action: set_role, role: active}")]
# What the drain has proven is not read again.
BARE = SMALL.replace(RECONFIRM, "")
DEMOTE = SMALL[SMALL.index("  - id: demote") : SMALL.index("  - id: drain")]
UNDO = DEMOTE[DEMOTE.index("    undo:") :]
DRAIN = SMALL[SMALL.index("  - id: drain") : SMALL.index("  - id: activate")]
GUARD = DRAIN[DRAIN.index("    guard:") : DRAIN.index("    progress:")]
STALL = DRAIN[DRAIN.index("    progress:") :]
ACTIVATE = SMALL[SMALL.index("  - id: activate") :]
REQUIRED = "      - {on: source, reading: replication, where: {role: standby}}\n"
ITEMS = """  - id: transactions
    title: t
    for_each: {on: source, reading: transactions, where: {state: prepared}}
    decide: {gate: xa, choices: [commit, rollback]}
    do: {on: source, action: complete_transaction}
"""
CLOSE = """  - id: close
    title: t
    do: {on: source, action: set_external_fence, state: closed}
"""
