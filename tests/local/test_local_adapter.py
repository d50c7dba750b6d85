"""Commands of the operator's own: what their ends mean, when they run, and what they are given."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from orchestrator.errors import AuthenticationFailed, CommandRejected, Forbidden
from orchestrator.family.contract import Call
from orchestrator.family.secrets import SecretStore
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.readings import ExternalFence
from tests.contract.laws import NO_NAMES
from tests.local.conftest import Bench

pytestmark = pytest.mark.realtime


# --- how a command ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "effect", "detail"),
    [
        ("exit 0", Effect.ACCEPTED, "it ended well"),
        ("echo done; echo and out", Effect.ACCEPTED, "it ended well: done / and out"),
        ("echo no route to switch >&2; exit 3", Effect.REJECTED, "it ended with exit code 3: no route to switch"),
        ("kill -KILL $$", Effect.DOUBTFUL, "it was ended by SIGKILL"),
        ("echo begun; sleep 60", Effect.DOUBTFUL, "it did not end within 300ms, so it was ended: begun"),
    ],
)
def test_what_its_end_means(bench: Bench, line: str, effect: Effect, detail: str) -> None:
    """Law: 0 is done, another code is no, a signal or the end of its time is a doubt; its words are kept."""
    bench.command("it", line, words=("x y",), timeout="300ms")
    result = bench.one("it")
    assert (result.effect, result.detail, result.device) == (effect, detail, "this machine")
    assert result.sent == (f"{bench.folder}/it 'x y'",)
    assert bench.diary == ["it x y"]


def test_what_cannot_be_started_was_not_sent(bench: Bench) -> None:
    """Law: a program that the system does not start did nothing; it may be tried again."""
    bench.command("it", "exit 0")
    (bench.folder / "it").write_text("\x7fELF no program", encoding="utf-8")
    result = bench.one("it")
    assert (result.effect, result.sent) == (Effect.NOT_SENT, ())
    assert result.detail.startswith("it cannot be started: ")


def test_the_permit_has_the_last_word(bench: Bench) -> None:
    """Law (promise 5): whoever lost the lease runs nothing more; the refusal speaks for all that is left."""
    bench.command("it", "exit 0")
    bench.permits.allowed = 0
    with pytest.raises(Forbidden, match="the lease is no longer ours"):
        bench.one("it")
    assert bench.diary == []


def test_a_session_that_only_reads_runs_no_command(bench: Bench) -> None:
    """Law (promise 6): read-only, nothing is run, not even when the results are never looked at."""
    bench.command("it", "exit 0")
    with pytest.raises(Forbidden, match="read-only"):
        bench.adapter(read_only=True).apply("run", [Call("A", {"command": "it"})], bench.permits)
    assert bench.diary == []


def test_a_word_that_is_unknown_is_a_mistake_of_the_program(bench: Bench) -> None:
    """Law: what was never declared is not asked for."""
    bench.command("it", "exit 0")
    with pytest.raises(ValueError, match="local has no action boil"):
        bench.adapter().apply("boil", [], bench.permits)
    with pytest.raises(ValueError, match="local has no reading health"):
        bench.adapter().probe("health", ["A"])


@pytest.mark.parametrize(
    ("args", "action", "detail"),
    [
        ({"command": "that"}, "run", "ny has no command named 'that'"),
        ({}, "run", "ny has no command named ''"),
        ({"command": "it"}, "ensure", "the command it must not be run twice, so the action ensure cannot run it"),
        ({"state": "closed"}, "set_external_fence", "the fence plan of ny has no command"),
    ],
)
def test_what_the_site_does_not_have_is_refused(
    bench: Bench, args: Mapping[str, str], action: str, detail: str
) -> None:
    """Law: a stored runbook that asks for what is not there gets a no, and nothing is run."""
    bench.command("it", "exit 0")
    [result] = bench.adapter().apply(action, [Call("A", args)], bench.permits)
    assert (result.effect, result.detail, bench.diary) == (Effect.REJECTED, detail, [])


# --- once for the site, or for each service -------------------------------------------------------------------------


def test_what_is_done_for_the_site_is_done_once(bench: Bench) -> None:
    """Law: calls that come together share one attempt and its end; each gets it as its own."""
    bench.command("it", "exit 4")
    results = bench.run("it", "A", "B", "C")
    assert [result.call.service for result in results] == ["A", "B", "C"]
    assert {result.effect for result in results} == {Effect.REJECTED}
    assert (bench.diary, bench.permits.checks) == (["it"], 1)


def test_what_is_done_for_a_service_is_done_for_each(bench: Bench) -> None:
    """Law: per service, each call is an attempt of its own, with its own name in word and environment."""
    bench.command("it", 'test "$FAILOVER_SERVICE" = "$1" && test "$1" != B', words=("{service}",), per="service")
    results = bench.run("it", "A", "B", "C D")
    assert [result.effect for result in results] == [Effect.ACCEPTED, Effect.REJECTED, Effect.ACCEPTED]
    assert bench.diary == ["it A", "it B", "it C D"]
    assert results[2].sent == (f"{bench.folder}/it 'C D'",)


def test_a_name_that_is_none_is_not_handed_on(bench: Bench) -> None:
    """Law: a name that could do harm stops its own call, and no other."""
    bench.command("it", "exit 0", words=("{service}",), per="service")
    results = bench.run("it", "--all", "A", "B; reboot")
    assert [result.effect for result in results] == [Effect.NOT_SENT, Effect.ACCEPTED, Effect.NOT_SENT]
    assert bench.diary == ["it A"]


def test_its_environment_is_ours_to_give(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: a command sees a fixed PATH, HOME, the names of site and service, and nothing else of ours."""
    monkeypatch.setenv("CANARY", "sings")
    monkeypatch.setenv("HOME", "/somewhere")
    bench.command("it", "env | sort", per="service")
    shown = bench.one("it").detail.removeprefix("it ended well: ").split(" / ")
    names = {line.partition("=")[0]: line.partition("=")[2] for line in shown}
    assert set(names) - {"PWD", "_", "OLDPWD", "SHLVL"} == {
        "FAILOVER_SERVICE",
        "FAILOVER_SITE",
        "HOME",
        "LANG",
        "PATH",
    }
    assert (names["FAILOVER_SITE"], names["FAILOVER_SERVICE"]) == ("ny", "Trading_VPN")
    assert (names["HOME"], names["LANG"]) == ("/somewhere", "C.UTF-8")


def test_a_command_for_the_site_is_told_no_service(bench: Bench) -> None:
    """Law: what is shared by services is not done in the name of one."""
    bench.command("it", 'echo "for ${FAILOVER_SERVICE:-nobody} at $1"', words=("{site}",))
    assert bench.one("it").detail == "it ended well: for nobody at ny"


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_is_no_name_reaches_no_command(bench: Bench, name: str) -> None:
    """Law: quotes, line ends, separators, markup, wildcards: nothing is run, and nothing is read."""
    check = [bench.program("look", "exit 1"), "{service}"]
    bench.command("cut", "exit 0", words=("{service}",), check=check, undo="open", per="service")
    bench.command("open", "exit 0", words=("{service}",), per="service")
    bench.fence = "cut"
    results = [*bench.run("cut", name), *bench.set_fence("closed", name), *bench.set_fence("open", name)]
    assert {result.effect for result in results} == {Effect.NOT_SENT}
    assert isinstance(bench.fence_of(name)[name], Failure)
    assert bench.diary == []


def test_what_was_sent_is_what_was_declared(bench: Bench) -> None:
    """Law: a plan shows exactly the command that is run then."""
    bench.with_switch(per="service", words=("{service}", "{site}"))
    adapter = bench.adapter()
    for action, args in (("set_external_fence", {"state": "closed"}), ("run", {"command": "open"})):
        call = Call("A B", args)
        [result] = adapter.apply(action, [call], bench.permits)
        assert (result.effect, list(result.sent)) == (Effect.ACCEPTED, adapter.actions[action].commands(call))


def test_nobody_asked_nothing_answered(bench: Bench) -> None:
    """Law: no call, no result; a service asked for twice has one answer; closing is never an error."""
    bench.with_switch()
    adapter = bench.adapter()
    adapter.close()
    assert [list(adapter.apply(action, [], bench.permits)) for action in adapter.actions] == [[]] * len(
        adapter.actions
    )
    assert set(adapter.probe("external_fence", ["A", "A"])) == {"A"}
    adapter.close()


# --- its check ------------------------------------------------------------------------------------------------------


def test_what_is_done_is_not_done_again(bench: Bench) -> None:
    """Law: a check that says yes beforehand is taken at its word; nothing is run, and nothing counts as sent."""
    bench.with_switch()
    assert bench.one("cut").effect is Effect.ACCEPTED
    result = bench.one("cut")
    assert (result.effect, result.sent, result.detail) == (
        Effect.ACCEPTED,
        (),
        "cut was not run, because its check reports that it is already done",
    )
    assert [line for line in bench.diary if line != "look"] == ["cut"]


@pytest.mark.parametrize(
    ("check", "effect", "why"),
    [
        ("exit 1", Effect.DOUBTFUL, "the check reports that it is not done"),
        ("echo still up; exit 1", Effect.DOUBTFUL, "the check reports that it is not done: still up"),
        ("exit 2", Effect.DOUBTFUL, "the check of it ended with exit code 2; only 0 (yes) and 1 (no) are answers"),
        ("sleep 60", Effect.DOUBTFUL, "the check of it did not end within 300ms, so it was ended"),
    ],
)
def test_the_check_has_the_last_word(bench: Bench, check: str, effect: Effect, why: str) -> None:
    """Law: a command that ended well is done only if its check agrees; otherwise it is in doubt."""
    bench.command("it", "exit 0", check=[bench.program("look", check)], timeout="300ms")
    result = bench.one("it")
    assert (result.effect, result.detail) == (effect, f"it ended well; {why}")
    assert result.sent


def test_one_that_may_be_run_twice_needs_no_other_proof(bench: Bench) -> None:
    """Law: ``ensure`` is ``run`` for a command that is idempotent: that is how a check of one's own stops a run."""
    bench.command("may-go-on", "echo the desk is trading; exit 1", idempotent=True)
    result = bench.one("may-go-on", action="ensure")
    assert (result.effect, result.detail) == (
        Effect.REJECTED,
        "may-go-on ended with exit code 1: the desk is trading",
    )


# --- the fence ------------------------------------------------------------------------------------------------------


def test_closing_and_opening_a_fence(bench: Bench) -> None:
    """Law: the plan's command closes the fence, its undo opens it, and its check tells which it is."""
    bench.with_switch()
    assert bench.fence_of() == {"Trading_VPN": ExternalFence(closed=False)}
    assert [one.effect for one in bench.set_fence("closed", "A", "B")] == [Effect.ACCEPTED, Effect.ACCEPTED]
    assert bench.fence_of("A", "B") == dict.fromkeys(("A", "B"), ExternalFence(closed=True))
    assert bench.set_fence("closed")[0].sent == ()
    [opened] = bench.set_fence("open")
    assert (opened.effect, opened.sent) == (Effect.ACCEPTED, (f"{bench.folder}/open",))
    assert bench.set_fence("open")[0].detail == "open was not run, because its check reports that it is already done"
    assert bench.fence_of() == {"Trading_VPN": ExternalFence(closed=False)}
    assert [line for line in bench.diary if line != "look"] == ["cut", "open"]


def test_a_fence_takes_its_time(bench: Bench) -> None:
    """Law: the reading proves a fence, as often as it is asked; the command's own end is not doubted before."""
    bench.command("cut", "exit 0", check=[bench.program("look", "exit 1")])
    bench.fence = "cut"
    assert bench.set_fence("closed")[0].effect is Effect.ACCEPTED
    assert bench.fence_of() == {"Trading_VPN": ExternalFence(closed=False)}


@pytest.mark.parametrize("state", ["clsoed", "", "closed\nend", "OPEN"])
def test_a_slip_opens_no_fence(bench: Bench, state: str) -> None:
    """Law (promise 8): what is neither word is refused, and nothing is run."""
    bench.with_switch()
    [result] = bench.set_fence(state)
    assert (result.effect, bench.diary) == (Effect.REJECTED, [])


def test_a_fence_without_an_undo_is_a_persons_to_open(bench: Bench) -> None:
    """Law (promise 8): the program opens no fence by a way that nobody named."""
    bench.command("cut", "exit 0", check=["true"])
    bench.fence = "cut"
    [result] = bench.set_fence("open")
    assert (result.effect, result.detail) == (
        Effect.REJECTED,
        "the command cut has no undo; an operator must let clients in again at ny",
    )


def test_a_fence_for_each_service(bench: Bench) -> None:
    """Law: per service, a fence is closed, opened and read for each on its own."""
    mark = f"{bench.folder}/is-cut-$1"
    more = {"words": ("{service}",), "per": "service"}
    check = [bench.program("look", f"test -e {mark}"), "{service}"]
    bench.command("cut", f"touch {mark}", check=check, undo="open", **more)
    bench.command("open", f"rm {mark}", **more)
    bench.fence = "cut"
    bench.set_fence("closed", "A")
    fences = bench.fence_of("A", "B", "--all")
    assert (fences["A"], fences["B"]) == (ExternalFence(closed=True), ExternalFence(closed=False))
    assert isinstance(fences["--all"], Failure)
    assert fences["--all"].kind == "Forbidden"


@pytest.mark.parametrize(
    ("check", "kind", "text"),
    [
        ("echo no such switch; exit 2", "UnreadableReply", "only 0 (yes) and 1 (no) are answers: no such switch"),
        ("kill -TERM $$", "UnreadableReply", "the check of cut was ended by SIGTERM"),
        ("sleep 60", "CommandTimedOut", "the check of cut did not end within 300ms"),
    ],
)
def test_a_check_that_does_not_know_is_not_a_no(bench: Bench, check: str, kind: str, text: str) -> None:
    """Law: a fence that cannot be read is unknown, with the reason; that is neither open nor closed."""
    bench.command("cut", "exit 0", check=[bench.program("look", check)], timeout="300ms")
    bench.fence = "cut"
    found = bench.fence_of()["Trading_VPN"]
    assert isinstance(found, Failure)
    assert (found.kind, text in found.text, found.definite) == (kind, True, False)


def test_one_check_serves_all_services_of_the_site(bench: Bench) -> None:
    """Law: what concerns the site is asked once, however many services want to know; for none, it is not asked."""
    bench.with_switch()
    assert len(bench.fence_of(*(f"V{number}" for number in range(50)))) == 50
    assert bench.diary == ["look"]
    assert bench.adapter().probe("external_fence", []) == {}
    assert bench.diary == ["look"]


def test_a_plan_without_a_command_has_no_such_fence(bench: Bench) -> None:
    """Law: what is not there is a definite answer."""
    bench.command("it", "exit 0")
    [found] = bench.fence_of().values()
    assert isinstance(found, Failure)
    assert (found.kind, found.definite) == ("NoSuchService", True)


# --- opening, and secrets -------------------------------------------------------------------------------------------


def test_opening_sees_that_programs_are_there(bench: Bench) -> None:
    """Law: a missing program is known before a run begins, and nothing is run to find out."""
    bench.command("it", "exit 0", check=["true"])
    bench.adapter().open()
    assert bench.diary == []
    bench.commands["that"] = {"argv": ["true"], "check": ["/no/such/check"]}
    with pytest.raises(CommandRejected, match="that of ny runs /no/such/check, but this machine has no such program"):
        bench.adapter().open()


CANARY = "hunter2-canary"


def test_a_secret_reaches_the_command_and_nothing_else(bench: Bench) -> None:
    """Law (promise 10): a command has its secret in its environment; no word, no result and no reading has it."""
    bench.secrets = SecretStore(environment={"SWITCH": CANARY})
    show = f'test "$TOKEN" = {CANARY} && echo "token is $TOKEN"'
    check = [bench.program("look", show)]
    bench.command("cut", show, check=check, secrets={"TOKEN": {"env": "SWITCH"}})
    bench.command("open", show, secrets={"TOKEN": {"env": "SWITCH"}})
    bench.fence = "cut"
    result, reading = bench.one("open"), bench.fence_of()["Trading_VPN"]
    assert (result.effect, result.detail) == (Effect.ACCEPTED, "open ended well: token is [redacted]")
    assert reading == ExternalFence(closed=True, output="token is [redacted]")
    assert CANARY not in json.dumps([repr(result), repr(bench.adapter()), bench.site.model_dump_json()])


def test_no_secret_is_cut_in_half(bench: Bench) -> None:
    """Law (promise 10): output is cut after secrets have gone, so that no half of one is left."""
    bench.secrets = SecretStore(environment={"SWITCH": CANARY})
    lines = 'i=0; while [ $i -lt 400 ]; do printf "%s" "$TOKEN$TOKEN "; i=$((i+1)); done'
    bench.command("it", lines, secrets={"TOKEN": {"env": "SWITCH"}})
    detail = bench.one("it").detail
    assert "[…]" in detail
    assert len(detail) < 2_100
    assert not any(CANARY[:length] in detail for length in range(3, len(CANARY) + 1))


def test_a_secret_that_is_not_to_be_had(bench: Bench) -> None:
    """Law: that is known when the session is opened; and where it was lost later, nothing is run."""
    bench.secrets = SecretStore(environment={})
    bench.command("it", "exit 0", secrets={"TOKEN": {"env": "SWITCH"}})
    with pytest.raises(AuthenticationFailed, match="TOKEN for the command it of ny is expected in the environment"):
        bench.adapter().open()
    result = bench.one("it")
    assert (result.effect, bench.diary) == (Effect.NOT_SENT, [])


def test_a_secret_that_no_environment_can_hold(bench: Bench) -> None:
    """Law: a byte of 0 ends a variable's value; nothing is run with half a secret, and nothing falls over."""
    token = bench.folder / "token"
    token.write_bytes(b"half\x00half")
    token.chmod(0o600)
    bench.command("it", "exit 0", secrets={"TOKEN": {"file": str(token)}})
    with pytest.raises(AuthenticationFailed, match="TOKEN for the command it of ny has a NUL character"):
        bench.adapter().open()
    result = bench.one("it")
    assert (result.effect, bench.diary) == (Effect.NOT_SENT, [])


def test_output_that_is_no_text_is_kept_as_far_as_it_goes(bench: Bench) -> None:
    """Law: whatever a program prints becomes one line of text."""
    bench.command("it", "printf 'a\\377b\\r\\n\\n\\tc'")
    assert bench.one("it").detail == "it ended well: a\ufffdb / c"
