"""The laws of the seam to devices (``orchestrator.family.contract``), for any adapter: the conformance suite.

An adapter is held to them by a test class of its own, which a third party writes just the same::

    class TestMyAdapter(Laws):
        @pytest.fixture
        def bench(self, tmp_path):
            with MyBench(tmp_path) as bench:
                yield bench

``Bench`` says what the laws need to know of the site behind the adapter. A bench never asks the adapter: what
arrived is the device's own account.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar, Literal, Protocol

import pytest

from orchestrator.errors import AdapterError, Forbidden, NotObeyed, Unreachable
from orchestrator.family.contract import ActionSpec, Adapter, Call, Permit, Result
from orchestrator.family.reachability import probe
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import known_readings
from orchestrator.operations.conformance import actions_fit, readings_fit

Spoil = Literal["lose reply", "lose request", "garbage reply", "refuse"]
FILLED = frozenset({"runbook", "item", "decision"})
# None of these may be a name, and each would be a command, a path or markup of its own if it got through whole.
NO_NAMES = (
    'Trading_VPN"\nreplication state standby',
    "Trading_VPN\r\nend\r\nconfigure",
    "Trading_VPN; reload",
    "Trading_VPN`reboot`",
    "Trading_VPN | reboot",
    "Trading_VPN\x03",
    'x" replication state standby "',
    "<vpn-name>*</vpn-name>",
    "*",
    "?",
    "",
    "x" * 4_000,
)


class Bench(Protocol):
    """A site, the adapter that speaks for it, and what the site itself knows of what it was asked.

    ``services`` it has, at least two; one that it has not is ``missing``, empty where any name may be one.
    ``by_service``: readings that differ by service. ``calls``: for each action, calls that take effect when they are
    applied in order. ``odd``: services whose names are legal and look like something else. ``secret``: what the
    adapter logs in with, or nothing.
    """

    services: Sequence[str]
    missing: str
    by_service: frozenset[str]
    calls: Mapping[str, Sequence[Call]]
    odd: Sequence[str]
    secret: str

    def adapter(self, *, read_only: bool = False) -> Adapter:
        """A new adapter of the site; the bench closes it in the end."""
        ...

    def arrived(self) -> int:
        """How many changing commands the site has received so far, obeyed or not."""
        ...

    def state(self) -> object:
        """Everything a changing command could change, by the site's own account; compared, never looked into."""
        ...

    def spoil(self, how: Spoil) -> None:
        """Let this become of the first of ``calls`` and its answer, when it comes."""
        ...

    def go_away(self) -> None:
        """Nobody can reach the site any more; its sessions break."""
        ...

    def come_back(self) -> None:
        """The site can be reached again."""
        ...


class Counting:
    """A permit that lets ``allowed`` changes leave. ``arrived_at``: what had arrived when it was asked."""

    def __init__(self, bench: Bench, allowed: int = 1_000_000) -> None:
        self._bench = bench
        self._allowed = allowed
        self.arrived_at: list[int] = []

    def check(self) -> None:
        self.arrived_at.append(self._bench.arrived())
        if len(self.arrived_at) > self._allowed:
            raise Forbidden("the lease is no longer ours")


def results_of(adapter: Adapter, action: str, calls: Sequence[Call], permit: Permit) -> list[Result]:
    """One result for each call, as the fleet makes them: an error speaks for those not yet answered."""
    results: list[Result] = []
    try:
        results.extend(_each(adapter.apply(action, calls, permit), results))
    except AdapterError as error:
        effect = Effect.NOT_SENT if isinstance(error, NotObeyed) else Effect.DOUBTFUL
        results += [Result(call, effect, detail=str(error)) for call in calls[len(results) :]]
    return results


def _each(found: Iterator[Result], results: list[Result]) -> Iterator[Result]:
    # Kept one by one: what came before an error counts.
    for result in found:
        results.append(result)
    yield from ()


class Laws:
    """What every adapter keeps. Subclasses give the fixture ``bench``. ``away``: what opening a site that is away
    raises."""

    away: ClassVar[type[AdapterError]] = Unreachable

    # --- what it declares ----------------------------------------------------------------------------------------

    def test_declarations_fit_together(self, bench: Bench) -> None:
        """Readings have models; an inverse exists and takes the same arguments; choices are distinct."""
        kind = type(bench.adapter())
        assert [*readings_fit(kind), *actions_fit(kind)] == []

    def test_every_word_has_its_source(self, bench: Bench) -> None:
        """An argument is filled by the runbook, by an item, or by a decision."""
        for spec in bench.adapter().actions.values():
            assert {argument.filled_by for argument in spec.arguments.values()} <= FILLED

    def test_declared_commands_are_rendered_without_a_connection(self, bench: Bench) -> None:
        """A plan can show what would be sent though the site is away; and showing it sends nothing."""
        bench.go_away()
        adapter = bench.adapter()
        before = bench.arrived()
        for reading in adapter.readings.values():
            for services in (bench.services[:1], bench.services):
                assert all(isinstance(line, str) and line for line in reading.commands(services))
        for name, spec in adapter.actions.items():
            for call in bench.calls[name]:
                lines = list(spec.commands(call))
                assert lines
                assert all(isinstance(line, str) and _is_printable(line) for line in lines)
        bench.come_back()
        assert bench.arrived() == before

    def test_every_declared_action_is_on_the_bench(self, bench: Bench) -> None:
        """The laws below are about all actions that the adapter has."""
        adapter = bench.adapter()
        assert set(bench.calls) == set(adapter.actions)
        for name, calls in bench.calls.items():
            assert all(set(call.args) == set(adapter.actions[name].arguments) for call in calls)

    # --- reading --------------------------------------------------------------------------------------------------

    def test_a_reading_changes_nothing(self, bench: Bench) -> None:
        """Whatever is read, of whomever, in whichever session: the site is as it was, and heard of no change."""
        for read_only in (True, False):
            adapter = bench.adapter(read_only=read_only)
            before = (bench.arrived(), bench.state())
            for reading in adapter.readings:
                probe(adapter, reading, [*bench.services, bench.missing, *NO_NAMES])
            assert (bench.arrived(), bench.state()) == before

    def test_one_answer_for_each_service(self, bench: Bench) -> None:
        """Of one, of several, of one that is asked for twice; and of the type that the reading's name stands for."""
        adapter = bench.adapter()
        for reading in adapter.readings:
            for services in (bench.services[:1], bench.services, [bench.services[0], bench.services[0]]):
                answers = adapter.probe(reading, services)
                assert set(answers) == set(services)
                assert all(type(one) is known_readings()[reading] for one in answers.values()), (reading, answers)

    def test_nobody_asked_nothing_answered(self, bench: Bench) -> None:
        """No service, no answer; no call, no result."""
        adapter = bench.adapter()
        for reading in adapter.readings:
            assert adapter.probe(reading, []) == {}
        for action in adapter.actions:
            assert list(adapter.apply(action, [], Counting(bench))) == []

    def test_a_service_that_is_not_there(self, bench: Bench) -> None:
        """It is definitely absent, it alone; whoever else was asked about has an answer."""
        adapter = bench.adapter()
        for reading in bench.by_service & set(adapter.readings):
            for services in ([bench.missing], [bench.services[0], bench.missing, bench.services[1]]):
                answers = adapter.probe(reading, services)
                assert set(answers) == set(services)
                for service, answer in answers.items():
                    if service != bench.missing:
                        assert not isinstance(answer, Failure), (reading, answer)
                        continue
                    assert isinstance(answer, Failure), (reading, answer)
                    assert (answer.kind, answer.definite) == ("NoSuchService", True)

    def test_unknown_words_are_a_broken_program(self, bench: Bench) -> None:
        """A reading or action that is not declared is no failed device: it raises ``ValueError``."""
        adapter = bench.adapter()
        with pytest.raises(ValueError, match="weather"):
            adapter.probe("weather", bench.services)
        with pytest.raises(ValueError, match="explode"):
            list(adapter.apply("explode", [Call(bench.services[0])], Counting(bench)))

    # --- changing -------------------------------------------------------------------------------------------------

    def test_one_result_for_each_call_in_order(self, bench: Bench) -> None:
        """What was accepted took effect; what was sent is what is declared."""
        adapter = bench.adapter()
        for action, calls in bench.calls.items():
            before, arrived = bench.state(), bench.arrived()
            results = list(adapter.apply(action, calls, Counting(bench)))
            assert [result.call for result in results] == list(calls)
            assert [result.effect for result in results] == [Effect.ACCEPTED] * len(calls), results
            for result in results:
                assert _is_declared(adapter.actions[action], result), result
            assert bench.state() != before
            assert bench.arrived() > arrived

    def test_the_permit_is_asked_right_before_each_change(self, bench: Bench) -> None:
        """Once for each, after everything before it has arrived, and before it arrives itself."""
        adapter = bench.adapter()
        for action, calls in bench.calls.items():
            start, permit = bench.arrived(), Counting(bench)
            list(adapter.apply(action, calls, permit))
            assert permit.arrived_at == list(range(start, bench.arrived())), action

    def test_a_refusing_permit_keeps_everything_back(self, bench: Bench) -> None:
        """Nothing arrives, and it is said of every call that it was not sent."""
        adapter = bench.adapter()
        for action, calls in bench.calls.items():
            before = (bench.arrived(), bench.state())
            results = results_of(adapter, action, calls, Counting(bench, allowed=0))
            assert [result.effect for result in results] == [Effect.NOT_SENT] * len(calls)
            assert (bench.arrived(), bench.state()) == before

    def test_a_permit_that_ends_half_way(self, bench: Bench) -> None:
        """What left before it did, is done; nothing leaves after."""
        adapter = bench.adapter()
        for action, calls in bench.calls.items():
            if len(calls) < 2:
                continue
            start = bench.arrived()
            results = results_of(adapter, action, calls, Counting(bench, allowed=1))
            rest = [Effect.NOT_SENT] * (len(calls) - 1)
            assert [result.effect for result in results] == [Effect.ACCEPTED, *rest]
            assert bench.arrived() == start + 1

    def test_a_read_only_session_cannot_change(self, bench: Bench) -> None:
        """It raises ``Forbidden`` before anything is sent or the permit is asked; reading goes on."""
        adapter = bench.adapter(read_only=True)
        before, permit = (bench.arrived(), bench.state()), Counting(bench)
        for action, calls in bench.calls.items():
            with pytest.raises(Forbidden):
                list(adapter.apply(action, calls, permit))
        assert (bench.arrived(), bench.state(), permit.arrived_at) == (*before, [])
        for reading in adapter.readings:
            assert not isinstance(adapter.probe(reading, bench.services[:1])[bench.services[0]], Failure)

    def test_a_call_for_a_service_that_is_not_there(self, bench: Bench) -> None:
        """The site's no, of that call alone."""
        adapter = bench.adapter()
        for action, calls in bench.calls.items():
            if not (bench.missing and _is_of_services(bench, action)):
                continue
            stranger = Call(bench.missing, calls[0].args)
            results = results_of(adapter, action, [stranger, calls[0]], Counting(bench))
            assert [result.effect for result in results] == [Effect.REJECTED, Effect.ACCEPTED], results

    # --- what goes wrong ------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("how", ["lose reply", "lose request", "garbage reply"])
    def test_a_lost_answer_is_a_doubt(self, bench: Bench, how: Spoil) -> None:
        """The command left and nobody can say what became of it; it is not sent again by itself."""
        adapter = bench.adapter()
        adapter.open()
        action, calls = next(iter(bench.calls.items()))
        before, start = bench.state(), bench.arrived()
        bench.spoil(how)
        [result] = results_of(adapter, action, calls[:1], Counting(bench))
        assert result.effect is Effect.DOUBTFUL, result
        assert _is_declared(adapter.actions[action], result), result
        assert bench.arrived() - start == (0 if how == "lose request" else 1)
        assert (bench.state() == before) == (how == "lose request")

    def test_a_doubt_does_not_spoil_the_next_reading(self, bench: Bench) -> None:
        """After a broken session the next request makes a new one, and no late answer is taken for its own."""
        adapter = bench.adapter()
        action, calls = next(iter(bench.calls.items()))
        for how in ("lose reply", "garbage reply"):
            bench.spoil(how)
            results_of(adapter, action, calls[:1], Counting(bench))
            for reading in adapter.readings:
                answers = probe(adapter, reading, bench.services)
                assert all(type(one) is known_readings()[reading] for one in answers.values()), (how, answers)

    def test_a_no_is_a_no(self, bench: Bench) -> None:
        """The site refuses: it did not obey, and says why."""
        adapter = bench.adapter()
        action, calls = next(iter(bench.calls.items()))
        before = bench.state()
        bench.spoil("refuse")
        [result] = results_of(adapter, action, calls[:1], Counting(bench))
        assert (result.effect, bool(result.detail), bench.state()) == (Effect.REJECTED, True, before)

    def test_a_site_that_is_away(self, bench: Bench) -> None:
        """Nothing was sent, and nothing is read: unknown, never an empty answer."""
        adapter = bench.adapter()
        bench.go_away()
        with pytest.raises(self.away):
            adapter.open()
        for reading in adapter.readings:
            answers = probe(adapter, reading, bench.services)
            assert all(_is_unknown(reading, one) for one in answers.values()), (reading, answers)
        for action, calls in bench.calls.items():
            results = results_of(adapter, action, calls, Counting(bench))
            assert [result.effect for result in results] == [Effect.NOT_SENT] * len(calls), results

    def test_a_site_that_comes_back(self, bench: Bench) -> None:
        """A session that broke between two requests costs nobody anything once the site answers again."""
        adapter = bench.adapter()
        adapter.open()
        bench.go_away()
        probe(adapter, next(iter(adapter.readings)), bench.services)
        bench.come_back()
        for reading in adapter.readings:
            assert all(not isinstance(one, Failure) for one in probe(adapter, reading, bench.services).values())
        action, calls = next(iter(bench.calls.items()))
        assert results_of(adapter, action, calls[:1], Counting(bench))[0].effect is Effect.ACCEPTED

    # --- the session ----------------------------------------------------------------------------------------------

    def test_closing_twice_and_going_on(self, bench: Bench) -> None:
        """Closing is never an error, not even of what was never opened; and a closed adapter opens again by itself."""
        adapter = bench.adapter()
        adapter.close()
        adapter.open()
        adapter.close()
        adapter.close()
        reading = next(iter(adapter.readings))
        assert not isinstance(adapter.probe(reading, bench.services)[bench.services[0]], Failure)
        bench.go_away()
        adapter.close()
        adapter.close()

    def test_no_secret_is_shown(self, bench: Bench) -> None:
        """Neither by what it returns, nor by what it raises, nor by what it looks like."""
        if not bench.secret:
            return
        adapter = bench.adapter()
        shown = [repr(adapter), str(adapter)]
        adapter.open()
        shown += [repr(probe(adapter, reading, [*bench.services, bench.missing])) for reading in adapter.readings]
        for action, calls in bench.calls.items():
            shown += [repr(result) for result in results_of(adapter, action, calls, Counting(bench))]
        bench.go_away()
        shown += [repr(probe(adapter, reading, bench.services)) for reading in adapter.readings]
        with pytest.raises(AdapterError) as caught:
            bench.adapter().open()
        shown += [repr(caught.value), str(caught.value), str(caught.value.hint), str(caught.value.__cause__)]
        assert not [text for text in shown if bench.secret in text]

    def test_a_word_that_is_no_choice_is_not_sent(self, bench: Bench) -> None:
        """Where the declaration lists the words, no other is sent; a runbook with one was never let through."""
        adapter = bench.adapter()
        for action, calls in bench.calls.items():
            for name, spec in adapter.actions[action].arguments.items():
                if not spec.choices:
                    continue
                before = (bench.arrived(), bench.state())
                with suppress(ValueError):  # a broken program, as an undeclared word is
                    call = Call(calls[0].service, {**calls[0].args, name: f"{spec.choices[0]}\nend"})
                    [result] = results_of(adapter, action, [call], Counting(bench))
                    assert result.effect in (Effect.NOT_SENT, Effect.REJECTED)
                assert (bench.arrived(), bench.state()) == before

    # --- names ----------------------------------------------------------------------------------------------------

    def test_what_is_no_name_never_leaves(self, bench: Bench) -> None:
        """Quotes, line ends, separators, markup, wildcards: the call is not sent, and no other service is touched."""
        adapter = bench.adapter()
        for action, calls in bench.calls.items():
            hostile = [Call(name, calls[0].args) for name in NO_NAMES] if _is_of_services(bench, action) else []
            for name, spec in adapter.actions[action].arguments.items():
                texts = [f'{calls[0].args[name]}"\nend', "x; reload", "a b", "<xid/>", "../x", "x" * 4_000]
                hostile += [
                    Call(calls[0].service, {**calls[0].args, name: text}) for text in texts if not spec.choices
                ]
            for call in hostile:
                before = bench.state()
                [result] = results_of(adapter, action, [call], Counting(bench))
                assert result.effect in (Effect.NOT_SENT, Effect.REJECTED), (call, result)
                assert bench.state() == before, call

    def test_an_odd_name_is_that_service_alone(self, bench: Bench) -> None:
        """A legal name that looks like a path, an escape or an expansion means the service of that name."""
        adapter = bench.adapter()
        for reading in bench.by_service & set(adapter.readings):
            answers = adapter.probe(reading, bench.odd)
            assert all(type(one) is known_readings()[reading] for one in answers.values()), (reading, answers)
            for name in bench.odd:
                assert adapter.probe(reading, [name])[name] == answers[name], (reading, name)


def _is_declared(spec: ActionSpec, result: Result) -> bool:
    """Was exactly that sent which the plan showed? ``<words>`` in it stand for what only the device tells, such as an
    id; where they do, and where the action has a ``place`` of its own, it may be several of the same."""
    declared = tuple(spec.commands(result.call))
    is_many = bool(spec.place) or any(_UNTOLD.search(line) for line in declared)
    times = len(result.sent) // len(declared)
    fits = all(map(_is_line_of, declared * times, result.sent)) and len(result.sent) == len(declared) * times
    return fits and (times == 1 or (is_many and times > 1))


_UNTOLD = re.compile(r"<[^<>]+>")


def _is_line_of(declared: str, sent: str) -> bool:
    pattern = r"[^/\s]+".join(re.escape(part) for part in _UNTOLD.split(declared))
    return re.fullmatch(pattern, sent) is not None


_OF_THE_SITE = frozenset({"set_backbone", "set_fence", "set_external_fence"})


def _is_of_services(bench: Bench, action: str) -> bool:
    """Is it done to a service, and not to the whole site?"""
    return len({call.service for call in bench.calls[action]}) > 0 and action not in _OF_THE_SITE


def _is_printable(line: str) -> bool:
    return all((char in string.printable and char not in "\r\n\x0b\x0c") or ord(char) > 127 for char in line)


def _is_unknown(reading: str, answer: Reading | Failure) -> bool:
    """A failure; or, of a reading that is judged node by node, a value that says unknown."""
    return isinstance(answer, Failure) or (reading == "fence" and getattr(answer, "closed", True) is None)
