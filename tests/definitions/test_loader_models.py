"""From plain values to models: what is wrong with a runbook or an inventory, at which line, and what was meant.

In the texts below, ``# <-`` marks the line that must be reported.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from adapters.solace.offers.decisions import XaDecisions
from orchestrator.documents.loader import load_inventory, load_runbook, read_inventory, read_runbook
from orchestrator.documents.source_map import PATTERNS, Lines, quoted, show
from orchestrator.errors import DefinitionError
from orchestrator.model.findings import Level
from orchestrator.model.inventory import Inventory
from orchestrator.model.runbook import Runbook
from orchestrator.suggestions import closest
from tests.definitions.declared import Write

RUNBOOK = """\
runbook: test/sample
summary: s
steps:
  - id: look
    title: t
    require:
      - on: source
        reading: replication
        where: {role: active}
  - id: change
    title: t
    do:
      on: source
      action: set_role
      role: standby
    expect:
      - {on: source, reading: replication, where: {role: standby}}
"""

INVENTORY = """\
sites:
  ny:
    adapter: mock
    devices:
      - {name: ny1}
    login:
      username: admin
      password: {env: NY}
  nj:
    adapter: mock
    devices:
      - {name: nj1}
pairs:
  - name: trading
    sites: [ny, nj]
    services: [Trading_VPN]
"""


def _marked(text: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if "# <-" in line)


def _edit(text: str, old: str, new: str) -> str:
    assert text.count(old) >= 1, old
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "sentence", "hint"),
    [
        ("summary: s", "sumary: s # <-", "unknown key sumary in the file", "did you mean summary?"),
        ("summary: s\n", "", "the file lacks the key summary", ""),
        ("test/sample", "Test/sample # <-", "runbook 'Test/sample' is not allowed", "family/kind"),
        ("id: look", "id: look; # <-", "steps[0].id 'look;' is not allowed", "use lower-case letters"),
        ("id: look", 'id: "look\\n" # <-', "steps[0].id 'look\\n' is not allowed", "use lower-case letters"),
        ("id: change", "id: look # <-", "two steps are called look", ""),
        ("    title: t\n    do", "    titel: t # <-\n    do", "unknown key titel in steps[1]", "did you mean title?"),
        ("  - id: change\n    title: t\n", "  - id: change # <-\n", "steps[1] lacks the key title", ""),
        (
            "      on: source\n      action",
            "      on: sorce # <-\n      action",
            "steps[1].do.on is 'sorce', which is not",
            "did you mean source?",
        ),
        (
            "      on: source\n      action",
            "      on: yes # <-\n      action",
            "steps[1].do.on is 'yes', which is not",
            "allowed: source, target",
        ),
        (
            "      action: set_role",
            "      acton: set_role",
            "steps[1].do lacks the key action",
            "did you write acton instead?",
        ),
        ("      role: standby", "      role: 5 # <-", "steps[1].do.role must be a text, not a number", "in quotes"),
        ("      role: standby", "      role: true # <-", "steps[1].do.role must be a text, not true or", "in quotes"),
        (
            "      role: standby",
            "      role: # <-",
            "steps[1].do.role must be a text, not nothing",
            "after the colon",
        ),
        ("      role: standby", "      role: [a] # <-", "steps[1].do.role must be a text, not a list", ""),
        ("    expect:", "    within: 15 # <-\n    expect:", "steps[1].within: a duration must be a number with", ""),
        (
            "    expect:",
            "    within: 15 s s # <-\n    expect:",
            "steps[1].within: a duration must be a number with",
            "",
        ),
        ("    expect:", "    within: 367d # <-\n    expect:", "steps[1].within: a duration must be at most 366d", ""),
        ("    expect:", "    attempts: 0 # <-\n    expect:", "steps[1].attempts: must be at least 1", ""),
        ("    expect:", "    attempts: 21 # <-\n    expect:", "steps[1].attempts: must be at most 20", ""),
        (
            "    expect:",
            "    attempts: '3' # <-\n    expect:",
            "attempts must be a whole number, not a text",
            "quotes",
        ),
        ("    expect:", "    attempts: 1.5 # <-\n    expect:", "attempts must be a whole number, not a number", ""),
        (
            "    expect:",
            "    point_of_no_return: yes # <-\n    expect:",
            "steps[1].point_of_no_return must be true or false, not a text",
            "without quotes",
        ),
        ("    expect:", "    require: # <-\n    expect:", "steps[1].require must be a list, not nothing", ""),
        (
            "    expect:",
            "    require: {on: a} # <-\n    expect:",
            "steps[1].require must be a list, not keys",
            "dash",
        ),
        ("    expect:", "    until: [] \n    guard: [] \n    decide: 5 # <-\n    expect:", "must be keys with", ""),
        ("{role: active}", "{} # <-", "steps[0].require[0].where: at least 1 entry must be given", ""),
        ("{role: active}", "{role: } # <-", "where.role: a value under `where` must be true, false, a number,", ""),
        (
            "{role: active}",
            "{role: [a, []]} # <-",
            "where.role: a value under `where` must be true, false, a number,",
            "",
        ),
        (
            "{role: active}",
            "{m: {at_leest: 1}} # <-",
            "unknown key at_leest in steps[0].require[0].where.m",
            "at_least",
        ),
        ("{role: active}", "{m: {at_least: x}} # <-", "where.m.at_least must be a number, not a text", "quotes"),
    ],
)
def test_mistakes_in_a_runbook(write: Write, old: str, new: str, sentence: str, hint: str) -> None:
    """Law: each mistake is one sentence at the line of the deepest key that the file has, with what was meant."""
    text = _edit(RUNBOOK, old, new)
    path = write(text)
    findings = read_runbook(path).findings
    assert findings
    line = _marked(text) if "# <-" in text else None
    mine = [found for found in findings if sentence in found.message and hint in found.hint]
    assert mine, [str(found) for found in findings]
    assert line is None or line in [found.line for found in mine], [str(found) for found in findings]
    assert all(found.file == str(path) and found.level is Level.ERROR for found in findings)
    with pytest.raises(DefinitionError) as caught:
        load_runbook(path)
    assert str(caught.value) == f"{path}:{findings[0].line}: {findings[0].message}"


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ("{id: a, title: t}", "a step needs at least one of require, do, until, ask, compare, foresee"),
        ("{id: a, title: t, until: [CHECK], do: DO}", "a step that waits (until) cannot have do or for_each"),
        ("{id: a, title: t, require: [CHECK], for_each: EACH}", "a step with for_each needs a do"),
        ("{id: a, title: t, do: DO, decide: {gate: g, choices: [commit]}}", "a step with decide needs a for_each"),
        (
            "{id: a, title: t, until: [CHECK], guard: [CHECK]}",
            "a step with guard or reconfirm needs when_guard_breaks, and only such a step can have it",
        ),
        (
            "{id: a, title: t, until: [CHECK], when_stalled: STALL}",
            "a step with when_stalled needs progress, the number that must fall",
        ),
    ],
)
def test_shapes_of_a_step(write: Write, step: str, sentence: str) -> None:
    """Law: a step that is of no shape is refused at its own line."""
    check = "{on: source, reading: health, where: {serving: true}}"
    step = step.replace("CHECK", check).replace("DO", "{on: source, action: x}")
    step = step.replace("STALL", "{after: 1s, gate: g, choices: [stop], unattended: stop}")
    step = step.replace("EACH", "{on: source, reading: transactions, where: {state: complete}}")
    path = write(f"runbook: a/b\nsummary: s\nsteps:\n  - {step}\n")
    with pytest.raises(
        DefinitionError, match=rf":4: steps\[0\]: {sentence.replace('(', '[(]').replace(')', '[)]')}$"
    ):
        load_runbook(path)


@pytest.mark.parametrize(
    ("old", "new", "sentence", "hint"),
    [
        ("  ny:", "  n y: # <-", "the name 'n y' is not allowed", "1 to 63 letters"),
        ("    adapter: mock", "    adaptor: mock # <-", "unknown key adaptor in sites.ny", "did you mean adapter?"),
        ("[ny, nj]", "[ny, nyc] # <-", "pair trading names site nyc, which is not listed under sites", ""),
        ("[ny, nj]", "[ny, ny] # <-", "pairs[0].sites: a pair needs two different sites, but has ny twice", ""),
        ("[ny, nj]", "[ny] # <-", "pairs[0].sites: entry 2 is missing", ""),
        ("[ny, nj]", "[ny, nj, ny] # <-", "pairs[0].sites: at most 2 entries may be given", ""),
        ("[Trading_VPN]", "[] # <-", "pairs[0].services: at least 1 entry must be given", ""),
        ("[Trading_VPN]", "[A, A] # <-", "A is listed twice, by pair trading and by pair trading", ""),
        ("[Trading_VPN]", "[7] # <-", "pairs[0].services[0] must be a text, not a number", "put the value in quotes"),
        ("[Trading_VPN]", "['a;b'] # <-", "pairs[0].services[0] 'a;b' is not allowed", "use 1 to 32 characters"),
        ("[Trading_VPN]", '["it\'s"] # <-', 'pairs[0].services[0] "it\'s" is not allowed', "use 1 to 32 characters"),
        ("[Trading_VPN]", "['a\"b'] # <-", "pairs[0].services[0] 'a\"b' is not allowed", "use 1 to 32 characters"),
        ("[Trading_VPN]", '["a\\nb"] # <-', "pairs[0].services[0] 'a\\nb' is not allowed", "use 1 to 32 characters"),
        ("[Trading_VPN]", '["a\\n"] # <-', "pairs[0].services[0] 'a\\n' is not allowed", "use 1 to 32 characters"),
        ("[Trading_VPN]", "['a`b'] # <-", "is not allowed", "use 1 to 32 characters"),
        ("[Trading_VPN]", "['a?'] # <-", "is not allowed", "use 1 to 32 characters"),
        ("[Trading_VPN]", "[' a'] # <-", "is not allowed", "use 1 to 32 characters"),
        ("[Trading_VPN]", "[''] # <-", "is not allowed", "use 1 to 32 characters"),
        ("[Trading_VPN]", f"[{'x' * 33}] # <-", "is not allowed", "1 to 32 characters"),
        ("name: trading", "name: 'a b' # <-", "pairs[0].name 'a b' is not allowed", "1 to 63"),
        ("{name: ny1}", "{name: ny1, port: 0} # <-", "sites.ny.devices[0].port: must be at least 1", ""),
        ("{name: ny1}", "{name: ny1, port: 65536} # <-", "devices[0].port: must be at most 65535", ""),
        ("{name: ny1}", "{name: ny1, port: '22'} # <-", "port must be a whole number, not a text", "without quotes"),
        ("      - {name: ny1}", "      []", "sites.ny.devices: at least 1 entry must be given", ""),
        (
            "    adapter: mock",
            "    adapter: mock\n    name: boston # <-",
            "site ny has `name` 'boston', but its key is its name",
            "",
        ),
        ("    adapter: mock", "    command_timeout: 0 # <-", "command_timeout: must be more than 0", ""),
        ("    adapter: mock", "    command_timeout: 15s # <-", "must be a number, not a text", "without a unit"),
        ("    adapter: mock", "    command_timeout: inf # <-", "must be a number, not a text", ""),
        ("    adapter: mock", "    connect_timeout: 3e9 # <-", "connect_timeout: must be at most 3600", ""),
        ("    adapter: mock", "    options: [] # <-", "sites.ny.options must be keys with values, not a list", ""),
    ],
)
def test_mistakes_in_an_inventory(write: Write, old: str, new: str, sentence: str, hint: str) -> None:
    """Law: as for a runbook; a name that could change a command is refused where it is written."""
    text = _edit(INVENTORY, old, new)
    findings = read_inventory(write(text)).findings
    mine = [found for found in findings if sentence in found.message and hint in found.hint]
    assert mine, [str(found) for found in findings]
    assert "# <-" not in text or [found.line for found in mine] == [_marked(text)]


def test_the_second_of_two_is_where_the_mistake_is(write: Write) -> None:
    """Law: a rule of the whole document is reported at the place that breaks it."""
    text = INVENTORY + "  - {name: other, sites: [ny, nj], services: [B, Trading_VPN]} # <-\n"
    (found,) = read_inventory(write(text)).findings
    assert (found.line, found.message) == (
        _marked(text),
        "Trading_VPN is listed twice, by pair trading and by pair other",
    )


def test_two_devices_of_one_name(write: Write) -> None:
    """Law: two devices of one site have different names."""
    text = _edit(INVENTORY, "      - {name: ny1}", "      - {name: ny1}\n      - {name: ny1}")
    (found,) = read_inventory(write(text)).findings
    assert (found.line, found.message) == (4, "sites.ny.devices: two devices of one site have the same name")


SECRET = "Hunter2-is-here"


@pytest.mark.parametrize(
    "password",
    [
        SECRET,
        f"'{SECRET}'",
        f"[{SECRET}]",
        f"{{{SECRET}}}",
        f"{{{SECRET}: 1, {SECRET}: 2}}",
        f"{{{{ {SECRET} }}}}",
        f"{{inline: *{SECRET}}}",
        f"{{inline: !{SECRET} x}}",
        f"{{inline: &{SECRET} x, env: &{SECRET} y}}",
        f"{{inline: @{SECRET}}}",
        f"{{inline: %{SECRET}}}",
        f"{{inline: '{SECRET}}}",
        f"{{inline: [{SECRET}]}}",
        f"{{inline: {SECRET}, env: {SECRET}}}",
        f"{{inlin: {SECRET}}}",
        f"{{prompt: {SECRET}}}",
        f"{{prompt: {SECRET}, {SECRET}: x}}",
        f'"\\q{SECRET}"',
    ],
)
def test_no_secret_is_repeated_in_an_error(write: Write, password: str) -> None:
    """Law: whatever is wrong around a password, no sentence and no hint shows it."""
    path = write(_edit(INVENTORY, "{env: NY}", password))
    findings = read_inventory(path).findings
    assert any(found.level is Level.ERROR for found in findings)
    assert SECRET not in "".join(found.model_dump_json() for found in findings)
    with pytest.raises(DefinitionError) as caught:
        load_inventory(path)
    assert SECRET not in f"{caught.value} {caught.value.hint} {caught.value!r} {caught.value.__context__!r}"


def test_an_inline_password_prints_as_stars(write: Write) -> None:
    """Law: even a usable inline password shows in no representation of the inventory."""
    inventory, findings = load_inventory(write(_edit(INVENTORY, "{env: NY}", f"{{inline: {SECRET}}}")))
    assert SECRET not in f"{inventory!r} {inventory} {findings} {inventory.model_dump_json()}"
    warnings = [(found.code, found.line) for found in findings if found.level is Level.WARNING]
    assert warnings == [("inline-secret", 8)]


def test_a_loaded_runbook_can_be_stored_and_read_again(write: Write) -> None:
    """Law: the stored copy of a runbook is the runbook."""
    runbook = load_runbook(write(RUNBOOK))
    assert Runbook.model_validate_json(runbook.model_dump_json()) == runbook


def test_every_pattern_has_its_words() -> None:
    """Law: no person is shown a regular expression."""

    def patterns(node: object) -> set[str]:
        if isinstance(node, dict):
            own = {node["pattern"]} if isinstance(node.get("pattern"), str) else set()
            own |= set(node.get("patternProperties", {}))
            return own.union(*(patterns(child) for child in node.values()))
        return set().union(*(patterns(child) for child in node)) if isinstance(node, list) else set()

    models: list[type[BaseModel]] = [Runbook, Inventory, XaDecisions]
    used = set().union(*(patterns(json.loads(json.dumps(model.model_json_schema()))) for model in models))
    assert used == {*PATTERNS, *XaDecisions.patterns}


def test_lines_are_those_of_the_deepest_known_place() -> None:
    """Law: a path that leads out of the file is answered with the last line that is in it."""
    lines = Lines({(): 1, ("steps",): 3, ("steps", 0): 4, ("steps", 0, "do"): 6, ("steps", 0, "do", "role"): 7})
    assert lines.at(("steps", 0, "do", "args", "role")) == 7
    assert lines.at(("steps", 0, "title")) == 4
    assert lines.at(("steps", 5)) == 3
    assert lines.at(()) == 1
    assert Lines().at(("steps",)) is None


def test_words_of_findings() -> None:
    """Law: paths, suggestions and quotations are short and of one line."""
    assert show(("steps", 2, "do", "role")) == "steps[2].do.role"
    assert closest("ROLE", ["role", "rule"]) == "role"
    assert closest("xyz", ["role"]) is None
    assert quoted("a\nb" * 50).count("\n") == 0
    assert len(quoted("a" * 500)) < 70
    assert quoted(True) == "'true'"


def test_a_file_may_be_given_as_text_or_path(write: Write) -> None:
    """Law: a text that is no name of a shipped runbook is the name of a file."""
    path: Path = write(RUNBOOK)
    assert load_runbook(str(path)) == load_runbook(path)
