"""The rules of lint, each broken alone in a runbook that is clean otherwise.

``# <-`` marks the line that must be reported.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator.documents.lint.runbook import lint
from orchestrator.documents.loader import read_runbook
from orchestrator.model.findings import Finding, Level, worst
from orchestrator.model.runbook import Runbook
from tests.definitions.declared import ACTION_SPECS, READING_SPECS, Write
from tests.seam import told

CLEAN = """\
runbook: test/switch
summary: s
steps:
  - id: ready
    title: t
    require:
      - on: target
        reading: replication
        where: {role: standby, bridge: [bound, unbound]}
  - id: foresee
    title: t
    foresee: transactions
  - id: demote
    title: t
    require: [{on: target, reading: replication, where: {role: standby}}]
    do: {on: source, action: set_role, role: standby}
    expect: [{on: source, reading: replication, where: {role: standby}}]
    undo:
      do: {on: source, action: set_role, role: active}
      expect: [{on: source, reading: replication, where: {role: active}}]
  - id: drain
    title: t
    until: [{on: source, reading: replication_queue, where: {drained: true}}]
    guard: [{on: target, reading: replication, where: {bridge: bound}}]
    when_guard_breaks: {grace: 1m, gate: lost, choices: [wait, revert], unattended: revert}
    progress: {on: source, reading: replication_queue, field: messages}
    when_stalled: {after: 1m, gate: stalled, choices: [wait, escalate], unattended: stop}
  - id: transactions
    title: t
    for_each: {on: source, reading: transactions, where: {state: prepared}}
    decide: {gate: xa, choices: [commit, rollback]}
    do: {on: source, action: complete_transaction}
  - id: activate
    title: t
    point_of_no_return: true
    require: [{on: target, reading: replication, where: {role: standby}}]
    reconfirm:
      - {on: source, reading: replication_queue, where: {drained: true}}
      - {on: target, reading: replication, where: {bridge: bound}}
    when_guard_breaks: {grace: 2m, gate: lost, choices: [wait, revert], unattended: revert}
    do: {on: target, action: set_role, role: active}
    expect: [{on: target, reading: replication, where: {role: active}}]
  - id: delete
    title: t
    delay: 1s
    for_each: {on: source, reading: transactions, where: {state: complete}, decided_in: transactions}
    do: {on: source, action: delete_transaction}
"""
UNDO = CLEAN[CLEAN.index("    undo:") : CLEAN.index("  - id: drain")]
DEMOTE = "do: {on: source, action: set_role, role: standby}"
STALL = CLEAN[CLEAN.index("    progress:") : CLEAN.index("  - id: transactions")]
WHERE = "where: {role: standby, bridge: [bound, unbound]}"
LOST = "gate: lost, choices: [wait, revert], unattended: revert}"
STALLED = "gate: stalled, choices: [wait, escalate], unattended: stop}"
TIMEOUT = "    when_guard_breaks:"
PROMOTE = "do: {on: target, action: set_role, role: active}"
PROMOTED = "    expect: [{on: target, reading: replication, where: {role: active}}]\n"
TAKE_BACK = "    undo:\n      do: {on: source, action: set_role, role: active}"
GOAL = "{on: source, reading: replication_queue, where: {drained: true}}]"
GUARD = "guard: [{on: target, reading: replication, where: {bridge: bound}}]"
HEALTH = "    expect: [{on: source, reading: health, where: {serving: true}}] # <-\n"
UNKNOWN_READING = {"on": "source", "reading": "weather", "where": {"sun": True}}
STANDS_ON = "    require: [{on: target, reading: replication, where: {role: standby}}]\n"
RECONFIRM = CLEAN[CLEAN.index("    reconfirm:") : CLEAN.rindex("    when_guard_breaks:")]
POINT = "    point_of_no_return: true\n"


Found = Callable[[str], list[Finding]]


@pytest.fixture
def found(write: Write) -> Found:
    """Lints a text and returns what it finds but for the one note that the clean runbook has."""

    def check(text: str) -> list[Finding]:
        definition = read_runbook(write(text))
        assert definition.value is not None, [str(finding) for finding in definition.findings]
        findings = lint(definition.value, READING_SPECS, ACTION_SPECS, file="x.yaml", lines=definition.lines)
        assert all(finding.file == "x.yaml" for finding in findings)
        return [finding for finding in findings if (finding.code, finding.level) != ("no-inverse", Level.NOTE)]

    return check


def test_the_clean_runbook_has_one_note(write: Write) -> None:
    """Law: committing a transaction has no inverse; that it cannot be taken back is noted, not forbidden."""
    definition = read_runbook(write(CLEAN))
    assert definition.value is not None
    (note,) = lint(definition.value, READING_SPECS, ACTION_SPECS, lines=definition.lines)
    assert (note.level, note.code, note.line) == (Level.NOTE, "no-inverse", 28)
    assert "transactions comes before the point of no return" in note.message


def test_without_lines_the_findings_are_the_same() -> None:
    """Law: lint needs no file; then nothing claims to know a line."""
    step = {"id": "a", "title": "t", "require": [UNKNOWN_READING]}
    runbook = Runbook.model_validate({"runbook": "a/b", "summary": "s", "steps": [step]})
    (finding,) = lint(runbook, READING_SPECS, ACTION_SPECS)
    assert (finding.file, finding.line, finding.code) == (None, None, "unknown-reading")


def test_the_shipped_controlled_runbook_is_clean() -> None:
    """Law: a shipped runbook has no error and no warning."""
    definition = read_runbook("solace/controlled")
    assert definition.value is not None
    findings = lint(definition.value, READING_SPECS, ACTION_SPECS, file=definition.file, lines=definition.lines)
    assert worst(findings) is Level.NOTE, [str(finding) for finding in findings]


WORDS = [
    ("reading: replication\n", "reading: replicaton # <-\n", "unknown-reading", "did you mean replication?"),
    (WHERE, "where: {rolle: standby} # <-", "unknown-field", "did you mean role?"),
    (WHERE, "where: {kind: replication} # <-", "unknown-field", ""),
    (WHERE, "where: {role: acitve} # <-", "wrong-where-value", "did you mean active?"),
    (WHERE, "where: {role: [active, acitve]} # <-", "wrong-where-value", "did you mean active?"),
    (WHERE, "where: {role: true} # <-", "wrong-where-value", "allowed: active, standby"),
    (WHERE, "where: {role: 1} # <-", "wrong-where-value", ""),
    (WHERE, "where: {transaction_mode: asynch} # <-", "wrong-where-value", "did you mean async?"),
    (WHERE, "where: {enabled: 'true'} # <-", "wrong-where-value", ""),
    (WHERE, "where: {enabled: True, queue_bound: yes} # <-", "wrong-where-value", ""),
    (WHERE, "where: {enabled: 1} # <-", "wrong-where-value", ""),
    (WHERE, "where: {enabled: {at_least: 1}} # <-", "wrong-where-value", ""),
    (WHERE, "where: {role: []} # <-", "never-true", ""),
    ("where: {drained: true}}]", "where: {messages: true}}] # <-", "wrong-where-value", ""),
    ("where: {drained: true}}]", "where: {messages: '0'}}] # <-", "wrong-where-value", ""),
    ("where: {drained: true}}]", "where: {messages: 0.5}}] # <-", "wrong-where-value", ""),
    ("where: {drained: true}}]", "where: {usage_mb: x}}] # <-", "wrong-where-value", ""),
    ("where: {drained: true}}]", "where: {messages: {}}}] # <-", "no-bounds", "give at_least or at_most"),
    ("where: {drained: true}}]", "where: {messages: {at_least: 2, at_most: 1}}}] # <-", "never-true", ""),
    ("where: {drained: true}}]", "where: {drained: 0}}] # <-", "wrong-where-value", ""),
    (
        "field: messages}",
        "field: messages, up_to: {on: source, reading: replication_queue, field: messages}} # <-",
        "own-side",
        "",
    ),
    (
        "field: messages}",
        "field: messages, up_to: {on: target, reading: replication_queue, field: depth}} # <-",
        "unknown-field",
        "",
    ),
    (
        "where: {drained: true}}]",
        "where: {messages: {reaches: {on: target, reading: queue, field: messages}}}}] # <-",
        "unknown-reading",
        "",
    ),
    (
        "where: {drained: true}}]",
        "where: {messages: {reaches: {on: target, reading: replication_queue, field: depth}}}}] # <-",
        "unknown-field",
        "",
    ),
    (
        "where: {drained: true}}]",
        "where: {messages: {reaches: {on: source, reading: replication_queue, field: messages}}}}] # <-",
        "own-side",
        "",
    ),
    (
        "where: {drained: true}}]",
        "where: {messages: {same_as: {on: source, reading: replication_queue, field: messages}}}}] # <-",
        "own-side",
        "",
    ),
    ("field: messages}", "field: mesages} # <-", "unknown-field", "did you mean messages?"),
    ("field: messages}", "field: drained} # <-", "progress-not-a-number", "known: messages"),
    ("replication_queue, field", "replication_queu, field", "unknown-reading", "did you mean replication_queue?"),
    ("transactions, where: {state: prepared}}", "replication, where: {role: active}} # <-", "no-items", ""),
    ("transactions, where: {state: prepared}}", "transaction, where: {state: prepared}} # <-", "unknown-reading", ""),
    ("{state: prepared}}", "{stat: prepared}} # <-", "unknown-field", "did you mean state?"),
    ("{state: prepared}}", "{state: PREPARED}} # <-", "wrong-where-value", "did you mean prepared?"),
    ("{state: prepared}}", "{xid: 7}} # <-", "wrong-where-value", ""),
    ("{state: prepared}}", "{key: x}} # <-", "unknown-field", ""),
    (GOAL, "{on: source, reading: transactions, where: {items: x}}] # <-", "wrong-where-value", ""),
    (DEMOTE, "do: {on: source, action: set_rolle, role: standby} # <-", "unknown-action", "did you mean set_role?"),
    (DEMOTE, "do: {on: source, action: set_role, rolle: standby, role: standby} # <-", "unknown-argument", "role?"),
    (DEMOTE, "do: {on: source, action: set_role} # <-", "missing-argument", "choices: active, standby"),
    (DEMOTE, "do: {on: source, action: set_role, role: stanby} # <-", "wrong-argument", "did you mean standby?"),
    (TAKE_BACK, "    undo:\n      do: {on: source, action: set_role} # <-", "missing-argument", ""),
    ("action: complete_transaction}", "action: complete_transaction, xid: 1-2-3} # <-", "filled-argument", "leave"),
    ("action: complete_transaction}", "action: complete_transaction, outcome: commit} # <-", "filled-argument", ""),
    (PROMOTE, "do: {on: target, action: delete_transaction} # <-", "needs-for-each", ""),
    ("    decide: {gate: xa, choices: [commit, rollback]}\n    do:", "    do: # <-\n     ", "needs-decide", ""),
    ("choices: [commit, rollback]}", "choices: [commit, revert]} # <-", "wrong-choice", "choices: commit, rollback"),
    ("action: complete_transaction}", "action: delete_transaction}", "decision-not-used", ""),
    ("action: delete_transaction}", "action: say, text: x}", "item-not-used", ""),
]
SHAPES = [
    (UNDO, "", "missing-undo", "the inverse of its action is set_role"),
    ("    undo:\n      do: {on: source", "    undo: # <-\n      do: {on: target", "undo-elsewhere", ""),
    (TAKE_BACK, f"    undo: # <-\n      {DEMOTE}", "undo-repeats-do", ""),
    (TAKE_BACK, "    undo: # <-\n      do: {on: source, action: say, text: x}", "undo-not-inverse", ""),
    (POINT, POINT + UNDO.replace("undo:", "undo: # <-"), "undo-after-point-of-no-return", "move the point"),
    (POINT, UNDO, "no-point-of-no-return", "to the step that lets the target serve"),
    ("    delay: 1s", "    delay: 1s\n    point_of_no_return: true # <-", "second-point-of-no-return", ""),
    (f"    {PROMOTE}", f"    unless_escalated: true # <-\n    {PROMOTE}", "left-out-too-early", ""),
    ("    until:", "    point_of_no_return: true # <-\n    until:", "idle-point-of-no-return", ""),
    (
        f"{PROMOTE}\n{PROMOTED}",
        "do: {on: target, action: flush}\n",
        "needs-expect",
        "with the reading that shows the change",
    ),
    (STALL, "", "waits-for-ever", "when_stalled (with progress) or a timeout"),
    (TIMEOUT, "    poll: {min: 2s, max: 1s} # <-\n" + TIMEOUT, "poll-bounds", ""),
    (TIMEOUT, "    timeout: 1m # <-\n" + TIMEOUT, "timeout-before-stall", ""),
    (GUARD, f"guard: [{GOAL} # <-", "guard-repeats-until", ""),
    (
        LOST,
        LOST.replace("unattended: revert", "unattended: escalate") + " # <-",
        "unattended-not-a-choice",
        "revert, stop, wait",
    ),
    (
        LOST,
        LOST.replace("[wait, revert], unattended: revert", "[retry, revert], unattended: retry") + " # <-",
        "unattended-retry",
        "wait_at_most",
    ),
    (LOST, LOST.replace("[wait, revert]", "[wait, revert, commit]") + " # <-", "wrong-choice", "choices of a wait"),
    (LOST, LOST.replace("[wait, revert]", "[wait, revert, wait]") + " # <-", "choice-twice", ""),
    (LOST, LOST.replace("lost", "stalled"), "gate-differs", ""),
    (LOST, LOST.replace("lost", "step-failed") + " # <-", "reserved-gate", "choose another name"),
    (
        STALLED,
        STALLED.replace("[wait, escalate], unattended: stop", "[retry, escalate], unattended: retry") + " # <-",
        "unattended-retry",
        "wait_at_most",
    ),
    ("decided_in: transactions}", "decided_in: transaction} # <-", "decided-in-unknown", "mean transactions?"),
    ("decided_in: transactions}", "decided_in: ready} # <-", "decided-in-unknown", "such steps: transactions"),
    ("{state: prepared}}", "{state: prepared}, decided_in: transactions} # <-", "decided-in-unknown", ""),
    ("    require:", f"{HEALTH}    require:", "no-effect", "no do"),
    ("    require:", "    attempts: 5 # <-\n    require:", "no-effect", "no do"),
    ("    require:", "    timeout: 5s # <-\n    require:", "no-effect", "no until"),
    ("    require:", "    delay: 5s # <-\n    require:", "no-effect", "no for_each"),
    ("    delay: 1s\n", HEALTH, "no-effect", "lists its items again"),
    ("    require:", "    max_age: 5s # <-\n    require:", "no-effect", "no do"),
    ("    undo:\n", "    leaves: the role # <-\n    undo:\n", "no-effect", ""),
    (STANDS_ON, "", "stands-on-nothing", "right before"),
    (
        RECONFIRM,
        "    reconfirm: [{on: target, reading: replication, where: {bridge: bound}}]\n",
        "not-reconfirmed",
        "what step drain proved: source replication_queue: drained",
    ),
    (
        RECONFIRM,
        "    reconfirm: [{on: source, reading: replication_queue, where: {drained: true}}]\n",
        "not-reconfirmed",
        "what step drain proved: target replication: bridge bound",
    ),
    (
        "  - id: foresee\n    title: t\n    foresee: transactions\n",
        "",
        "unforeseen-decisions",
        "foresee: transactions",
    ),
    ("foresee: transactions", "foresee: transaction # <-", "foresee-unknown", "did you mean transactions?"),
    (DEMOTE, "do: {on: source, action: shut, door: closed} # <-", "unclaimed-site", "claim: hold"),
    (
        DEMOTE,
        "claim: release\n    timeout: 1m\n    do: {on: source, action: shut, door: closed} # <-",
        "unclaimed-site",
        "claim: hold",
    ),
    (DEMOTE, "claim: hold\n    do: {on: source, action: shut, door: open} # <-", "unclaimed-site", "claim: release"),
    (DEMOTE, "claim: release\n    do: {on: source, action: shut, door: open}", "waits-for-ever", "timeout"),
    (
        UNDO,
        "    undo:\n      do: {on: source, action: shut, door: closed}\n",
        "unclaimed-site",
        "releases no claim",
    ),
    (
        UNDO,
        "    undo:\n      do: {on: source, action: flush}\n",
        "needs-expect",
        "with the reading that shows the undo",
    ),
]


@pytest.mark.parametrize(("old", "new", "code", "words"), WORDS + SHAPES)
def test_each_rule(found: Found, old: str, new: str, code: str, words: str) -> None:
    """Law: one broken rule gives its own code, at the line where it is broken, and what was meant."""
    assert old in CLEAN
    text = CLEAN.replace(old, new, 1)
    mine = [finding for finding in found(text) if finding.code == code]
    assert mine
    assert any(words in f"{finding.message} {finding.hint}" for finding in mine), [str(finding) for finding in mine]
    along = ALONG.get((old, code), set()) | ALONG.get((old, ""), set())
    assert {finding.code for finding in found(text)} - {code} <= along
    if "# <-" in text:
        line = next(number for number, line in enumerate(text.splitlines(), 1) if "# <-" in line)
        assert [finding.line for finding in mine] == [line]


# One mistake may break another rule as well: these go along with it.
ALONG = {
    (POINT, "undo-after-point-of-no-return"): {"undo-elsewhere"},
    (POINT, "no-point-of-no-return"): {"undo-elsewhere"},
    ("    until:", "idle-point-of-no-return"): {
        "second-point-of-no-return",
        "no-effect",
        "revert-after-point-of-no-return",
    },
    ("where: {drained: true}}]", ""): {"not-reconfirmed"},
    (GOAL, ""): {"not-reconfirmed"},
    (LOST, ""): {"gate-differs"},
    (DEMOTE, "unclaimed-site"): {"undo-not-inverse"},
    (DEMOTE, "waits-for-ever"): {"undo-not-inverse"},
    (UNDO, ""): {"undo-not-inverse"},
    ("foresee: transactions", ""): {"unforeseen-decisions"},
    ("transactions, where: {state: prepared}}", "no-items"): {"decided-in-unknown"},
    ("transactions, where: {state: prepared}}", "unknown-reading"): {"decided-in-unknown"},
    ("    decide: {gate: xa, choices: [commit, rollback]}\n    do:", "needs-decide"): {
        "decided-in-unknown",
        "foresee-unknown",
    },
}


@pytest.mark.parametrize("choice", ["wait", "revert"])
def test_revert_after_the_point_of_no_return(found: Found, choice: str) -> None:
    """Law: after the point of no return no gate offers the way back, nor takes it unattended."""
    activated = CLEAN[CLEAN.index("  - id: activate") :]
    moved = CLEAN.replace(activated, "").replace(f"    title: t\n{STANDS_ON}", f"    title: t\n{POINT}{STANDS_ON}", 1)
    text = moved.replace(UNDO, "")
    text = text.replace("choices: [wait, revert], unattended: revert", f"choices: [{choice}], unattended: revert")
    assert "revert-after-point-of-no-return" in {finding.code for finding in found(text)}


def test_stop_and_wait_are_always_legal_unattended(found: Found) -> None:
    """Law: nobody has to offer stopping or waiting for it to hold unattended."""
    assert found(CLEAN.replace(LOST, "gate: lost, choices: [revert], unattended: stop}")) == []


def test_what_stays_changed_may_be_left_by_name(found: Found) -> None:
    """Law: a step before the point of no return needs no undo whose author says what stays changed; but then no gate may
    revert unattended, since that rollback could not end. Where nothing is left, it can."""
    [finding] = found(CLEAN.replace(UNDO, "    leaves: the role\n"))
    assert (finding.code, finding.level) == ("stuck-unattended", "warning")
    assert "leaves the role" in finding.message
    stopping = CLEAN.replace(UNDO, "    leaves: the role\n").replace("unattended: revert", "unattended: stop")
    assert found(stopping) == []
    assert found(CLEAN.replace(UNDO, "    leaves: nothing\n")) == []


def test_a_timeout_alone_ends_a_wait(found: Found) -> None:
    """Law: a wait needs one of when_stalled and timeout."""
    assert found(CLEAN.replace(STALL, "    timeout: 1h\n")) == []


def test_a_runbook_for_one_side_needs_no_point_of_no_return(found: Found) -> None:
    """Law: only a runbook that changes both sites must mark the step after which there is no way back."""
    text = CLEAN[: CLEAN.index("  - id: activate")]
    assert found(text) == []


def test_a_stored_runbook_has_the_same_findings(write: Write) -> None:
    """Law: defaults that are written out do not count as keys without effect."""
    definition = read_runbook(write(CLEAN))
    assert definition.value is not None
    stored = Runbook.model_validate_json(definition.value.model_dump_json())
    assert {finding.code for finding in lint(stored, READING_SPECS, ACTION_SPECS)} == {"no-inverse"}


def test_arguments_given_under_args_are_found_too(found: Found) -> None:
    """Law: the stored spelling of arguments is linted at its own line."""
    text = CLEAN.replace(DEMOTE, "do:\n      on: source\n      action: set_role\n      args:\n        role: x # <-")
    (finding,) = [one for one in found(text) if one.code == "wrong-argument"]
    assert "# <-" in text.splitlines()[told(int, finding.line) - 1]


def test_a_comparison_that_cannot_be_read_is_said() -> None:
    """Law: lint knows what a comparison reads, of each side; without it the gate is left to people, with a warning."""
    definition = read_runbook("solace/failback")
    without = {name: spec for name, spec in READING_SPECS.items() if name != "endpoints"}
    found = [one for one in lint(definition.result(), without, ACTION_SPECS) if one.code == "comparison-unread"]
    assert [one.level for one in found] == [Level.WARNING, Level.WARNING]
    assert "--attest" in found[0].hint
    whole = lint(definition.result(), {**READING_SPECS, "endpoints": READING_SPECS["replication"]}, ACTION_SPECS)
    assert not [one for one in whole if one.code == "comparison-unread"]


def test_a_comparison_that_no_family_brings_is_an_error() -> None:
    """Law: a rule is known by the families that are installed; another name is an error, once, with the nearest one."""
    definition = read_runbook("solace/failback").result()
    steps = tuple(
        step.model_copy(update={"compare": "failback-saf"}) if step.compare else step for step in definition.steps
    )
    (found,) = [
        one
        for one in lint(definition.model_copy(update={"steps": steps}), READING_SPECS, ACTION_SPECS)
        if one.code == "unknown-comparison"
    ]
    assert found.level is Level.ERROR
    assert "did you mean failback-safe?" in found.hint
