"""Controls of the rules of AMPS."""

from __future__ import annotations

from typing import Any

from tests.proof.histories import SOURCE, TARGET, Controls, History, amps_world

AMPS = Controls("amps")
_DOORS = "set_client_transports"


def _run(runbook: str, *steps: dict[str, Any], sync: bool = True) -> History:
    return History(f"amps/{runbook}", amps_world(sync=sync), steps)


def _door(run: History, side: str, *, is_open: bool, by: str = "command", at: float = 10.0) -> None:
    """In the world an instance lets clients in, or none, from now on."""
    run.instance(side).update(doors=[is_open], takes_clients=is_open)
    site = SOURCE if side == "source" else TARGET
    run.service["changes"] = [*run.service["changes"], [at, site, "open" if is_open else "closed", by]]


def _silent(run: History) -> None:
    """The source was read as one that does not answer."""
    run.read(("source", "reachability", {"answers": False}))


def _close(run: History, *, is_read: bool = True) -> None:
    """The source is told to let no client in, obeys, and is read."""
    run.order(_DOORS, state="disabled")
    _door(run, "source", is_open=False)
    run.ended()
    if is_read:
        transport = {"name": "amps-tcp", "enabled": False, "replication": False}
        run.read(("source", "transports", {"items": [transport]}))


def _links(side: str, **more: Any) -> tuple[str, str, dict[str, Any]]:
    """What is read of the link to the mate: connected, sync, calm and with nothing behind."""
    mate = {"name": "mate", "connected": True, "sync": True, "behind_s": 0, "calm_s": 2.0, **more}
    return side, "links", {"mate": "mate", "interval_s": 1.0, "items": [mate]}


def _catch_up(run: History, *, clients: int = 0, **more: Any) -> None:
    """One round shows no client at the source, and a calm link."""
    run.read(_links("source", **more), ("source", "clients", {"count": clients}))


def _hand_over(run: History) -> None:
    """The source was read as owning no queue message."""
    run.read(("source", "queues", {"items": [{"owned": 0}]}))


@AMPS(1, "no operator attested it (unfenced)")
def _unfenced_without_a_word(harm: bool) -> History:
    run = _run("uncontrolled")
    _silent(run)
    if not harm:
        run.answered("unfenced", "attest")
    run.order("set_link_mode", "target", mode="async")
    return run


@AMPS(1, "no operator attested it (unfenced)")
def _unfenced_and_async_without_a_word(harm: bool) -> History:
    run = _run("uncontrolled-async", sync=False)
    _silent(run)
    run.answered("data-loss")
    if not harm:
        run.answered("unfenced", "attest")
    run.order("set_link_mode", "target", mode="async")
    return run


@AMPS(3, "no operator attested it (data-loss)")
def _loss_without_a_word(harm: bool) -> History:
    run = _run("uncontrolled-async", sync=False)
    _silent(run)
    run.answered("unfenced", "attest")
    if not harm:
        run.answered("data-loss")
    run.order("set_link_mode", "target", mode="async")
    return run


@AMPS(3, "no operator attested it (proxied-transfer)")
def _proxied_without_a_word(harm: bool) -> History:
    run = _run("proxied-transfer")
    _silent(run)
    if not harm:
        run.answered("proxied-transfer")
    run.order("set_proxied_transfer", "target", state="enabled")
    return run


@AMPS(9, "no operator attested it (bootstrap)")
def _bootstrap_without_a_word(harm: bool) -> History:
    run = _run("restore-bootstrap")
    if not harm:
        run.answered("bootstrap", "attest")
    run.order("set_link_mode", "target", mode="sync")
    return run


@AMPS(9, "no operator attested what it had not replicated")
def _restored_with_its_tail(harm: bool) -> History:
    run = _run("restore", sync=False)
    if not harm:
        run.answered("stale-tail")
    run.order("set_link_mode", "target", mode="sync")
    return run


@AMPS(3, "messages at ny are given up silently")
def _given_up_without_a_word(harm: bool) -> History:
    run = _run("uncontrolled", sync=False)
    _silent(run)
    run.answered("unfenced", "attest")
    run.instance("source")["ahead"] = 5 if harm else 0
    run.order("set_link_mode", "target", mode="async")
    return run


@AMPS(1, "ny was not read as lost")
def _stood_in_for_the_living(harm: bool) -> History:
    run = _run("uncontrolled")
    run.answered("unfenced", "attest")
    run.read(("source", "reachability", {"answers": harm}))
    run.order("set_link_mode", "target", mode="async")
    return run


@AMPS(8, "its links were not read as connected and sync")
def _let_in_before_its_links_are_sync(harm: bool) -> History:
    run = _run("restore")
    run.read(_links("source"), _links("target", sync=not harm))
    run.order(_DOORS, state="enabled")
    return run


@AMPS(1, "while ny lets clients in, and the link is async")
def _let_in_beside_the_mate(harm: bool) -> History:
    run = _run("guard", sync=not harm)
    run.order(_DOORS, "target", state="enabled")
    return run


@AMPS(1, "while ny lets clients in, and nothing passes between them")
def _let_in_across_a_cut(harm: bool) -> History:
    """Cut, and alone, long before the sample that could be read; or only just."""
    run = _run("guard")
    run.instance("source").update(sync=False, connected=False, cut_since=1.0 if harm else 8.0)
    run.order(_DOORS, "target", state="enabled")
    return run


@AMPS(2, "no reading had shown that nothing is left at ny")
def _opened_too_early(harm: bool) -> History:
    run = _run("controlled-async", sync=False)
    _catch_up(run)  # of before: it proves nothing
    _close(run)
    if not harm:
        _catch_up(run)
    run.order(_DOORS, "target", state="enabled")
    return run


@AMPS(2, "no reading had shown that nothing is left at ny")
def _caught_up_beside_a_client(harm: bool) -> History:
    run = _run("controlled-async", sync=False)
    _close(run)
    _catch_up(run, clients=int(harm))
    run.order(_DOORS, "target", state="enabled")
    return run


@AMPS(2, "no reading had shown that nothing is left at ny")
def _caught_up_behind_a_cut(harm: bool) -> History:
    run = _run("controlled-async", sync=False)
    _close(run)
    _catch_up(run, connected=not harm)
    run.order(_DOORS, "target", state="enabled")
    return run


@AMPS(2, "no reading had shown that nothing is left at ny")
def _caught_up_for_a_moment(harm: bool) -> History:
    run = _run("controlled-async", sync=False)
    _close(run)
    _catch_up(run, calm_s=1.9 if harm else 2.0)
    run.order(_DOORS, "target", state="enabled")
    return run


@AMPS(2, "nothing read since had shown that ny does not serve")
def _opened_beside_a_door_nobody_read(harm: bool) -> History:
    run = _run("controlled-async", sync=False)
    _close(run, is_read=not harm)
    _catch_up(run)
    run.order(_DOORS, "target", state="enabled")
    return run


@AMPS(2, "with 5 messages only at ny")
def _opened_although_messages_are_left(harm: bool) -> History:
    run = _run("failback-async", sync=False)
    _whole(run)
    _close(run)
    _catch_up(run)
    run.instance("source")["ahead"] = 5 if harm else 0
    run.order(_DOORS, "target", state="enabled")
    return run


def _free_the_source(run: History) -> None:
    """As far as publishers at the target do not wait for it any more."""
    _close(run)
    _catch_up(run)
    _door(run, "target", is_open=True)


@AMPS(3, "ny was not read as owning no queue message")
def _freed_unread(harm: bool) -> History:
    run = _run("controlled")
    _free_the_source(run)
    if not harm:
        _hand_over(run)
    run.order("set_link_mode", "target", mode="async")
    return run


@AMPS(3, "with 5 queue messages owned by ny")
def _freed_although_it_owns(harm: bool) -> History:
    run = _run("controlled")
    _free_the_source(run)
    _hand_over(run)
    run.instance("source")["owned"] = 5 if harm else 0
    run.order("set_link_mode", "target", mode="async")
    return run


def _whole(run: History, *, recovered: bool = True, empty: bool = False) -> None:
    """The instance that came back."""
    run.read(
        ("target", "instance", {"recovered": recovered}),
        ("target", "bootstrap", {"configured": True, "empty": empty}),
    )


@AMPS(9, "nj was not read as recovered")
def _returned_unrecovered(harm: bool) -> History:
    run = _run("failback")
    _whole(run, recovered=not harm)
    run.order(_DOORS, state="disabled")
    return run


@AMPS(9, "nj was not read as having its messages")
def _returned_empty(harm: bool) -> History:
    run = _run("failback")
    _whole(run, empty=harm)
    run.order(_DOORS, state="disabled")
    return run


def _step(action: str, on: str, undo: dict[str, Any] | None = None, **args: str) -> dict[str, Any]:
    step = {"id": "step", "do": {"on": on, "action": action, "args": args}, "expect": [{}]}
    return step if undo is None else {**step, "undo": undo}


@AMPS(1, "step is done, and ny is not closed")
def _closed_and_not_so(harm: bool) -> History:
    run = _run("controlled", _step(_DOORS, "source", state="disabled"))
    _door(run, "source", is_open=harm)
    run.tell("step.done", step="step", reversible=True)
    return run


@AMPS(4, "step is done, and nj is not async")
def _downgraded_and_not_so(harm: bool) -> History:
    run = _run("controlled", _step("set_link_mode", "target", mode="async"))
    run.instance("target")["sync"] = harm
    run.tell("step.done", step="step", reversible=False)
    return run


@AMPS(1, "step is done, and ny is not open")
def _reopened_and_not_so(harm: bool) -> History:
    undo = _step(_DOORS, "source", state="enabled")
    run = _run("controlled", _step(_DOORS, "source", undo, state="disabled"))
    _door(run, "source", is_open=False)
    run.tell("step.done", step="step", reversible=True)
    run.tell("revert.started", undo=["step"])
    _door(run, "source", is_open=not harm)
    run.tell("undo.done", step="step", skipped=False)
    return run


@AMPS(1, "letting clients in at nj made two instances that take them")
def _both_open(harm: bool) -> History:
    run = _run("guard", sync=False)
    run.world["moment"] = 13.0
    _door(run, "target", is_open=True, by="command" if harm else "somebody", at=12.0)
    run.service["both_open"] = [[12.0, 13.0]]
    run.judge.look(run.world)
    return run


def _moved(run: History) -> None:
    _door(run, "source", is_open=False)
    _door(run, "target", is_open=True)


@AMPS(4, "ended done, and nj is not open")
def _ended_elsewhere(harm: bool) -> History:
    run = _run("controlled")
    _door(run, "source", is_open=False)
    _door(run, "target", is_open=not harm)
    run.end("done")
    return run


@AMPS(4, "ended reverted, and ny is not open")
def _reverted_elsewhere(harm: bool) -> History:
    run = _run("controlled")
    _door(run, "source", is_open=not harm)
    run.end("reverted")
    return run


@AMPS(4, "ended done, and ny is not closed")
def _guarded_and_open(harm: bool) -> History:
    run = _run("guard")
    _door(run, "source", is_open=harm)
    run.end("done")
    return run


@AMPS(4, "ended done, and nj is not proxied")
def _unproxied_at_the_end(harm: bool) -> History:
    run = _run("proxied-transfer")
    run.instance("target")["proxied"] = not harm
    run.end("done")
    return run


@AMPS(4, "ended done, and ny is not open")
def _restored_and_closed(harm: bool) -> History:
    """Across sync links both serve after a restore; across async ones only its mate does."""
    run = _run("restore", sync=harm)
    _moved(run)
    run.end("done")
    return run


@AMPS(4, "refused, and set_link_mode took effect at ny")
def _refused_and_changed(harm: bool) -> History:
    run = _run("controlled")
    run.service["effects"] = [[SOURCE, "set_link_mode", {"mode": "async"}, 1]] if harm else []
    run.end("refused")
    return run


@AMPS(3, "done, and 3 messages were lost")
def _lost(harm: bool) -> History:
    run = _run("controlled-async", sync=False)
    _moved(run)
    run.service["lost"] = 3 if harm else 0
    run.end("done")
    return run


@AMPS(3, "reverted, and 3 messages were lost")
def _lost_on_the_way_back(harm: bool) -> History:
    """Who refused had no hand in it."""
    run = _run("controlled-async", sync=False)
    run.service["lost"] = 3
    run.end("reverted" if harm else "refused")
    return run


@AMPS(3, "reverted, and 3 messages were lost")
def _lost_beside_somebody(harm: bool) -> History:
    """Who lets clients in can strand what they publish; who turns proxied transfer on cannot."""
    run = _run("controlled-async", sync=False)
    run.service["changes"] = [[11.0, TARGET, "proxied" if harm else "open", "somebody"]]
    run.service["lost"] = 3
    run.end("reverted")
    return run


@AMPS(3, "done, and ny still owns 5 queue messages")
def _owned_at_the_end(harm: bool) -> History:
    run = _run("controlled-async", sync=False)
    _moved(run)
    run.instance("source")["owned"] = 5 if harm else 0
    run.end("done")
    return run
