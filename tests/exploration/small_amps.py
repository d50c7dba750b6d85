"""Small runbooks for AMPS to break: a move, a return, and a proxied transfer, cut into their steps."""

from __future__ import annotations

MOVE = """
runbook: tests/move
summary: A planned move of clients across any link, reduced to what the promises are about.
steps:
  - id: paired
    title: t
    require:
      - {on: source, reading: transports, where: {open: true}}
      - {on: target, reading: transports, where: {closed: true}}
      - {on: target, reading: clients, where: {gone: true}}
      - {on: target, reading: links, where: {caught_up: true}}
      - {on: source, reading: queues, where: {unproxied: true}}
      - {on: target, reading: queues, where: {unproxied: true}}
  - id: close
    title: t
    require: [{on: target, reading: transports, where: {closed: true}}]
    do: {on: source, action: set_client_transports, state: disabled}
    expect: [{on: source, reading: transports, where: {closed: true}}]
    undo:
      require: [{on: target, reading: transports, where: {closed: true}}]
      do: {on: source, action: set_client_transports, state: enabled}
      expect: [{on: source, reading: transports, where: {open: true}}]
  - id: clients-gone
    title: t
    until: [{on: source, reading: clients, where: {gone: true}}]
    progress: {on: source, reading: clients, field: count}
    when_stalled: {after: 2m, gate: stay, choices: [wait, revert], unattended: revert}
  - id: caught-up
    title: t
    until: [{on: source, reading: links, where: {caught_up: true}}]
    guard: [{on: source, reading: clients, where: {gone: true}}]
    when_guard_breaks: {grace: 1m, gate: back, choices: [wait, revert, escalate], unattended: revert}
    timeout: 30m
  - id: open
    title: t
    point_of_no_return: true
    require:
      - {on: source, reading: transports, where: {closed: true}}
      - {on: source, reading: clients, where: {gone: true}}
    reconfirm: [{on: source, reading: links, where: {connected: true, caught_up: true}}]
    when_guard_breaks: {grace: 1m, gate: behind, choices: [wait, revert, escalate], unattended: revert}
    do: {on: target, action: set_client_transports, state: enabled}
    expect: [{on: target, reading: transports, where: {open: true}}]
  - id: queues
    title: t
    until: [{on: source, reading: queues, where: {owned: 0}}]
    progress: {on: source, reading: queues, field: owned}
    when_stalled: {after: 5m, gate: owned, choices: [wait, stop], unattended: stop}
  - id: serves
    title: t
    require: [{on: target, reading: transports, where: {open: true}}]
"""

RECONFIRM = MOVE[MOVE.index("    reconfirm:") : MOVE.index("    do: {on: target")]
# What the wait for the link has proven is not read again.
BARE = MOVE.replace(RECONFIRM, "")

RETURN = """
runbook: tests/return
summary: An instance comes back, reduced to what the promises are about.
steps:
  - id: acting
    title: t
    require:
      - {on: target, reading: transports, where: {open: true}}
      - {on: target, reading: links, where: {configured_sync: true}}
  - id: own-messages
    title: t
    only_if: [{on: source, reading: links, where: {keeping_up: false}}]
    ask: {gate: stale-tail, text: t, choices: [accept, stop], unattended: stop}
  - id: clients-out
    title: t
    point_of_no_return: true
    require: [{on: source, reading: links, where: {downgraded: false}}]
    do: {on: source, action: set_client_transports, state: disabled}
    expect: [{on: source, reading: transports, where: {closed: true}}]
  - id: recovered
    title: t
    until: [{on: source, reading: instance, where: {recovered: true}}]
    timeout: 1h
  - id: proxied-off
    title: t
    do: {on: target, action: set_proxied_transfer, state: disabled}
    expect: [{on: target, reading: queues, where: {unproxied: true}}]
  - id: upgrade
    title: t
    do: {on: target, action: set_link_mode, mode: sync}
    expect: [{on: target, reading: links, where: {sync: true}}]
  - id: in-step
    title: t
    until: [{on: target, reading: links, where: {sync: true, keeping_up: true}}]
    timeout: 1d
  - id: open
    title: t
    require:
      - {on: target, reading: links, where: {connected: true, sync: true}}
      - {on: source, reading: links, where: {connected: true, sync: true}}
    do: {on: source, action: set_client_transports, state: enabled}
    expect: [{on: source, reading: transports, where: {open: true}}]
"""

LOSS = """
runbook: tests/loss
summary: A source that is dark, reduced to what the promises are about.
steps:
  - id: dark
    title: t
    until: [{on: source, reading: reachability, where: {answers: false}}]
    timeout: 1m
  - id: unfenced
    title: t
    ask: {gate: unfenced, text: t, choices: [attest, stop], unattended: stop}
  - id: accepted
    title: t
    ask: {gate: data-loss, text: t, choices: [accept, stop], unattended: stop}
  - id: downgrade
    title: t
    point_of_no_return: true
    require: [{on: source, reading: reachability, where: {answers: false}}]
    do: {on: target, action: set_link_mode, mode: async}
    expect: [{on: target, reading: links, where: {sync: false}}]
  - id: open
    title: t
    require: [{on: source, reading: reachability, where: {answers: false}}]
    do: {on: target, action: set_client_transports, state: enabled}
    expect: [{on: target, reading: transports, where: {open: true}}]
  - id: serves
    title: t
    require:
      - {on: target, reading: transports, where: {open: true}}
      - {on: target, reading: links, where: {sync: false}}
"""

PROXY = """
runbook: tests/proxy
summary: The target delivers what a lost instance owned.
steps:
  - id: serves
    title: t
    require: [{on: target, reading: transports, where: {open: true}}]
  - id: approved
    title: t
    ask: {gate: proxied-transfer, text: t, choices: [accept, stop], unattended: stop}
  - id: proxied
    title: t
    require: [{on: source, reading: reachability, where: {answers: false}}]
    do: {on: target, action: set_proxied_transfer, state: enabled}
    expect: [{on: target, reading: queues, where: {proxied: true}}]
    undo:
      do: {on: target, action: set_proxied_transfer, state: disabled}
      expect: [{on: target, reading: queues, where: {unproxied: true}}]
  - id: still-serves
    title: t
    require: [{on: target, reading: transports, where: {open: true}}]
"""


FENCE = """  - id: fence
    title: t
    do: {on: source, action: set_external_fence, state: closed}
    expect: [{on: source, reading: external_fence, where: {closed: true}}]
    undo:
      do: {on: source, action: set_external_fence, state: open}
      expect: [{on: source, reading: external_fence, where: {closed: false}}]
"""


def step(text: str, name: str) -> str:
    """The part of a runbook that is one step."""
    begin = text.index(f"  - id: {name}\n")
    end = text.find("\n  - id: ", begin)
    return text[begin:] if end < 0 else text[begin : end + 1]


def without(text: str, *parts: str) -> str:
    """``text`` without these parts, each of which it has once."""
    for part in parts:
        assert text.count(part) == 1, part
        text = text.replace(part, "")
    return text
