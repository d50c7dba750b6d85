"""The options of the adapter ``local``: which commands are commands, and where a name may go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from adapters.local.adapter import LocalAdapter
from adapters.local.declared import line_of
from adapters.local.options import LocalCommand, check_service, filled, options_of
from orchestrator.errors import DefinitionError, Forbidden
from orchestrator.family.contract import Call
from orchestrator.model.inventory import Site

CUT: Mapping[str, Any] = {"argv": ["/bin/cut"], "check": ["/bin/is-cut"]}


def a_site(commands: object, *, fence: str | None = None, **options: Any) -> Site:
    plan = [] if fence is None else [{"command": fence}]
    return Site.model_validate(
        {
            "name": "ny",
            "adapter": "local",
            "devices": [{"name": "ny1"}],
            "options": {"commands": commands, **options},
            "fence": plan,
        }
    )


def test_what_is_not_said() -> None:
    """Law: a command is done once for the site, in 30 seconds, and may not be run twice, unless it says otherwise."""
    command = options_of(a_site({"cut": {"argv": ["cut"]}})).commands["cut"]
    assert command == LocalCommand(
        argv=("cut",), check=None, undo=None, per="site", timeout="30s", idempotent=False, secrets={}
    )


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ({}, "commands.cut.argv: Field required"),
        ({"argv": []}, "commands.cut.argv: "),
        ({"argv": "rm -rf /"}, "commands.cut.argv: "),
        ({"argv": ["cut"], "shell": True}, "commands.cut.shell: Extra inputs are not permitted"),
        ({"argv": ["cut"], "timeout": 30}, "a duration must be a number with a unit"),
        ({"argv": ["cut"], "timeout": "0s"}, "the timeout must be longer than 0 seconds"),
        ({"argv": ["cut"], "idempotent": "yes"}, "commands.cut.idempotent: "),
        ({"argv": ["./cut"]}, "the program must be an absolute path, or a name without a slash"),
        ({"argv": [""]}, "the program must be an absolute path, or a name without a slash"),
        ({"argv": ["{site}"]}, "the program must be an absolute path, or a name without a slash"),
        ({"argv": ["cut"], "check": ["bin/is-cut"]}, "commands.cut.check: "),
        ({"argv": ["cut", "--vpn={service}"], "per": "service"}, "each must be a whole word"),
        ({"argv": ["cut", "{servcie}"]}, "each must be a whole word"),
        ({"argv": ["cut", "{}"]}, "each must be a whole word"),
        ({"argv": ["cut", "a\x00b"]}, "a word must not contain a NUL character"),
        ({"argv": ["cut", "{service}"]}, "{service} is only for a command with `per: service`"),
        ({"argv": ["cut"], "check": ["is-cut", "{service}"]}, "{service} is only for a command with `per: service`"),
        ({"argv": ["cut"], "undo": "open"}, "the undo of cut must be another command of the site, not open"),
        ({"argv": ["cut"], "undo": "cut"}, "the undo of cut must be another command of the site, not cut"),
        ({"argv": ["cut"], "secrets": {"TOKEN": "hunter2"}}, "commands.cut.secrets.TOKEN: "),
        ({"argv": ["cut"], "secrets": {"PATH": {"env": "X"}}}, "the variable PATH must not hold a secret"),
        (
            {"argv": ["cut"], "secrets": {"LD_PRELOAD": {"env": "X"}}},
            "the variable LD_PRELOAD must not hold a secret",
        ),
        (
            {"argv": ["cut"], "secrets": {"FAILOVER_SITE": {"env": "X"}}},
            "the variable FAILOVER_SITE must not hold a secret",
        ),
        ({"argv": ["cut"], "secrets": {"a=b": {"env": "X"}}}, "commands.cut.secrets.a=b: "),
    ],
)
def test_what_cannot_be_meant_is_refused(command: Mapping[str, Any], sentence: str) -> None:
    """Law: a command that is none is found when the inventory is used, with its place, and without its values."""
    with pytest.raises(DefinitionError) as caught:
        options_of(a_site({"cut": command}))
    assert str(caught.value).startswith("options of site ny: ")
    assert sentence in str(caught.value)
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"
    assert caught.value.hint.startswith("local knows: commands, each with argv, check, undo")


@pytest.mark.parametrize("commands", [{}, {"cut; rm": CUT}, [CUT]])
def test_commands_have_names(commands: Any) -> None:
    """Law: there is at least one command, and a name is a name."""
    with pytest.raises(DefinitionError, match="options of site ny: commands"):
        options_of(a_site(commands))


def test_other_options_are_refused() -> None:
    """Law: a slip in a key is not passed over."""
    with pytest.raises(DefinitionError, match="command: Extra inputs are not permitted"):
        options_of(a_site({"cut": CUT}, command={}))


def test_an_undo_is_done_where_the_command_is() -> None:
    """Law: what is done for one service is not taken back for the whole site."""
    commands = {"cut": {**CUT, "per": "service", "undo": "open"}, "open": {"argv": ["open"]}}
    with pytest.raises(DefinitionError, match="cut is run per service, but its undo per site"):
        options_of(a_site(commands))


@pytest.mark.parametrize(
    ("commands", "sentence"),
    [
        ({"saw": CUT}, "the fence plan of site ny names cut, but the site has no such command"),
        ({"cut": {"argv": ["cut"]}}, "the command cut is in the fence plan of site ny, so it needs a check"),
    ],
)
def test_a_fence_plan_needs_a_command_that_is_proven(commands: Mapping[str, Any], sentence: str) -> None:
    """Law (promise 8): a fence is proven by a reading, or attested by name; there is no third way."""
    with pytest.raises(DefinitionError, match=sentence):
        LocalAdapter.fitted(a_site(commands, fence="cut"))


# --- names on their way into a command ------------------------------------------------------------------------------


@pytest.mark.parametrize("service", ["A B", "$(reboot)", "{site}", "../../etc", "ä", "a,b"])
def test_a_name_is_one_word_whatever_is_in_it(service: str) -> None:
    """Law: a placeholder is replaced as a whole and once; a name can become neither two words nor another name."""
    assert filled(["cut", "{service}", "--at", "{site}", "x{y"], "ny", service) == [
        "cut",
        service,
        "--at",
        "ny",
        "x{y",
    ]


PER_SERVICE = LocalCommand(argv=("cut", "{service}"), per="service")


@pytest.mark.parametrize("service", ["a\nb", "a;b", "a`b", "", " a", "a" * 33, "-rf", "--all", "a\x00", "a\u202eb"])
def test_a_name_that_is_none_reaches_no_command(service: str) -> None:
    """Law: what cannot be the name of a service, or would pass for an option, is not handed on."""
    with pytest.raises(Forbidden, match="no command was run"):
        check_service(PER_SERVICE, service)


def test_a_name_that_looks_like_an_option_may_be_in_the_environment() -> None:
    """Law: only as a word of a command could a name be taken for an option."""
    check_service(LocalCommand(argv=("cut",), per="service"), "-rf")


def test_a_command_is_shown_as_it_would_be_typed() -> None:
    """Law: a plan shows each word as it is, quoted where a shell would need it."""
    site = a_site({"cut": CUT})
    assert line_of(["cut", "{service}", "it's"], site, "A B") == """cut 'A B' 'it'"'"'s'"""


def test_what_a_site_declares_is_rendered_from_its_options() -> None:
    """Law: a plan shows the literal command of each action and reading, and where it runs; nothing is run for that."""
    commands = {
        "cut": {**CUT, "argv": ["/bin/cut", "{service}"], "per": "service", "undo": "open"},
        "open": {"argv": ["/bin/open", "{service}"], "per": "service"},
    }
    declared = LocalAdapter.fitted(a_site(commands, fence="cut"))
    run, fence = declared.actions["run"], declared.actions["set_external_fence"]
    assert run.commands(Call("A", {"command": "cut"})) == ["/bin/cut A"]
    assert fence.commands(Call("A", {"state": "closed"})) == ["/bin/cut A"]
    assert fence.commands(Call("A", {"state": "open"})) == ["/bin/open A"]
    assert declared.readings["external_fence"].commands(["A", "B"]) == ["/bin/is-cut", "/bin/is-cut"]
    assert {run.place, fence.place, declared.readings["external_fence"].place} == {"this machine"}
    assert (run.idempotent, fence.idempotent, fence.inverse) == (False, False, "set_external_fence")
    assert "ensure" not in declared.actions


def test_what_is_missing_is_shown_in_its_place() -> None:
    """Law: a plan never hides that an action would be refused."""
    declared = LocalAdapter.fitted(a_site({"cut": CUT}, fence="cut"))
    [line] = declared.actions["set_external_fence"].commands(Call("A", {"state": "open"}))
    assert line == "<the command cut has no undo; an operator must let clients in again at ny>"
    [line] = declared.actions["run"].commands(Call("A"))
    assert line == "<ny has no command named ''>"


def test_any_site_may_have_any_command() -> None:
    """Law: unfitted, the adapter declares what a runbook may say of some site, and names no command."""
    assert set(LocalAdapter.actions) == {"run", "ensure", "set_external_fence"}
    assert LocalAdapter.actions["run"].arguments["command"].choices == ()
    assert LocalAdapter.actions["ensure"].idempotent
    assert LocalAdapter.actions["run"].commands(Call("A", {"command": "x"})) == ["<the command x>"]
    for state in ("closed", "open"):
        assert "fence plan" in LocalAdapter.actions["set_external_fence"].commands(Call("A", {"state": state}))[0]
    assert LocalAdapter.readings["external_fence"].commands(["A"]) == ["<the check of the fence plan's command>"]
