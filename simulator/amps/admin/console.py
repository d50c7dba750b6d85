"""The administration of one simulated AMPS instance, for the lab and for the in-process adapter. Use it only within a
``request`` of the world.

Sources: docs/sources/amps.md, 6.1 and 6.2. Statistics come from the last sample. Actions take effect at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simulator.amps import clients
from simulator.amps.admin.figures import Sample
from simulator.amps.admin.statistics import flag, statistics_of, transport_id
from simulator.amps.instance import Instance
from simulator.amps.layout import InstanceLayout
from simulator.amps.queue import Queue
from simulator.solace.appliance import NoSuchObject, Refused

if TYPE_CHECKING:
    from simulator.amps.world import AmpsWorld

# The kinds of collections, and the actions on a member of each.
ACTIONS: Mapping[str, frozenset[str]] = {
    "replication": frozenset({"downgrade", "upgrade", "reconnect"}),
    "transports": frozenset({"enable", "disable"}),
    "clients": frozenset({"disconnect"}),
    "queues": frozenset({"enable_proxied_transfer", "disable_proxied_transfer"}),
    "journals": frozenset({"compress", "archive", "remove"}),
    "sow": frozenset({"compact"}),
}
_DETAILS_MAX = 1_000
# The state of an instance after each action.
_MADE: Mapping[str, str] = {
    "enable": "open",
    "disable": "closed",
    "upgrade": "sync",
    "downgrade": "async",
    "enable_proxied_transfer": "proxied",
    "disable_proxied_transfer": "unproxied",
}


class Console:
    """One instance's administration."""

    def __init__(self, world: AmpsWorld, layout: InstanceLayout) -> None:
        self._world = world
        self.layout = layout

    @property
    def name(self) -> str:
        """The name of the instance."""
        return self.layout.name

    @property
    def instance(self) -> Instance:
        """The state of the instance."""
        return self._world.fabric.instances[self.name]

    @property
    def answers(self) -> bool:
        """Does the administration answer now?"""
        instance = self.instance
        if instance.phase == "down" or self._world.fabric.now < instance.silent_until:
            return False
        return instance.phase != "bootstrapping" or self._world.layout.assume.admin_while_bootstrapping

    @property
    def samples(self) -> Sequence[Sample]:
        """The kept samples, oldest first. The administration shows the last one."""
        return self.instance.samples

    @property
    def tree(self) -> Mapping[str, Any]:
        """The statistics of the last sample, as texts. Empty before the first sample."""
        return self.tree_of(self.samples[-1]) if self.samples else {}

    def tree_of(self, sample: Sample) -> Mapping[str, Any]:
        """The statistics of a sample, as texts."""
        return statistics_of(self._world.layout, self.layout, sample, self._world.epoch)

    def details(self, queue_id: str) -> Mapping[str, Any]:
        """``queues/<id>/details``: live, not sampled. Raises ``NoSuchObject``."""
        name, queue = self._queue(queue_id)
        messages: list[dict[str, str]] = []
        for publisher, numbers in queue.held.items():
            owned = queue.owned.get(publisher)
            for start, stop in numbers:
                for number in range(start, min(stop, start + _DETAILS_MAX - len(messages))):
                    is_own = owned is not None and bool(owned.within(number, number + 1))
                    messages.append({"bookmark": f"{publisher}|{number}|", "locally_owned": flag(is_own)})
        return {
            "id": queue_id,
            "topic": name,
            "depth": str(queue.depth),
            "insert_count": str(queue.inserts),
            "delete_count": str(queue.deletes),
            "locally_owned": str(sum(numbers.count for numbers in queue.owned.values())),
            "messages": messages,
        }

    def obey(self, action: str, target: str, *, by: str = "command") -> None:
        """Run an action at once, for example ``disable`` on ``transports/1``. Raises ``NoSuchObject`` or ``Refused``."""
        kind, _, id_ = target.partition("/")
        if action not in ACTIONS.get(kind, frozenset()):
            raise NoSuchObject(f"there is no action {action} of {kind}")
        effect = self._effects[kind](id_, action)
        effect()
        fabric = self._world.fabric
        if by == "command":  # actions of another administrator do not count as commands
            self.instance.touched_at = fabric.now
            fabric.ledger.commands.append((self.name, action, target))
        if action in _MADE:
            fabric.ledger.changes.append((fabric.now, self.name, _MADE[action], by))
            fabric.note_open()
        self._world.remember()

    def obey_somebody(self, verb: str) -> None:
        """Another administrator runs ``verb`` on all client transports, all links or all queues of the instance."""
        layout = self.layout
        targets = {
            "transports": [transport_id(layout, one.name) for one in layout.transports if not one.is_replication],
            "replication": [one.name for one in layout.destinations],
            "queues": [one.id for one in layout.queues],
        }
        for kind, ids in targets.items():
            for id_ in ids if verb in ACTIONS[kind] else ():
                self.obey(verb, f"{kind}/{id_}", by="somebody")

    def check(self, action: str, target: str) -> None:
        """Check that the action and its target exist, without running the action. Raises ``NoSuchObject``."""
        kind, _, id_ = target.partition("/")
        if action not in ACTIONS.get(kind, frozenset()):
            raise NoSuchObject(f"there is no action {action} of {kind}")
        self._effects[kind](id_, action)

    @property
    def _effects(self) -> Mapping[str, Callable[[str, str], Callable[[], None]]]:
        return {
            "replication": self._on_link,
            "transports": self._on_transport,
            "clients": self._on_client,
            "queues": self._on_queue,
            "journals": self._on_journal,
            "sow": self._on_sow,
        }

    def _on_link(self, id_: str, action: str) -> Callable[[], None]:
        described = next((one for one in self.layout.destinations if one.name == id_), None)
        if described is None or id_ not in self.instance.links:
            raise NoSuchObject(f"there is no replication destination {id_}")
        link, now = self.instance.links[id_], self._world.fabric.now

        def effect() -> None:
            if action == "reconnect":
                link.stop(now, try_at=now)
            elif described.sync:  # no effect on a link configured as async (docs/sources/amps.md, 7)
                word = "downgraded from sync to async" if action == "downgrade" else "upgraded from async to sync"
                if link.downgraded is not (action == "downgrade"):
                    self.instance.note(now, "info", "", f"AMPS replication destination {id_} {word}")
                link.downgraded = action == "downgrade"

        return effect

    def _on_transport(self, id_: str, action: str) -> Callable[[], None]:
        found = next((one for one in self.layout.transports if transport_id(self.layout, one.name) == id_), None)
        if found is None:
            raise NoSuchObject(f"there is no transport {id_}")
        instance, fabric = self.instance, self._world.fabric

        def effect() -> None:
            if action == "disable" and instance.transports.get(found.name):
                instance.note(fabric.now, "info", "07-0047", f"AMPS transport {found.name} is being disabled")
            instance.transports[found.name] = action == "enable"
            if action == "disable" and not found.is_replication and not fabric.takes_clients(self.name):
                for who, client in fabric.clients_at(self.name):
                    clients.disconnect(fabric, client, who)

        return effect

    def _on_client(self, id_: str, action: str) -> Callable[[], None]:
        fabric = self._world.fabric
        found = next(((who, one) for who, one in fabric.clients_at(self.name) if str(one.id) == id_), None)
        if found is None:
            raise NoSuchObject(f"there is no client {id_}")
        who, client = found
        return lambda: clients.disconnect(fabric, client, who)

    def _on_queue(self, id_: str, action: str) -> Callable[[], None]:
        _, queue = self._queue(id_)

        def effect() -> None:
            queue.proxied = action == "enable_proxied_transfer"

        return effect

    def _on_journal(self, id_: str, action: str) -> Callable[[], None]:
        """The action applies to that journal and all older ones. Assumption: the request to remove is refused for the
        journal being written, or one that some destination has not acknowledged (docs/sources/amps.md, 7: removal
        waits)."""
        journal, instance = self.instance.journal, self.instance
        upto = next((at for at, file in enumerate(journal.files) if str(file.number) == id_), None)
        if upto is None:
            raise NoSuchObject(f"there is no journal {id_}")
        free = min((link.acked for link in instance.links.values()), default=journal.next)

        def effect() -> None:
            if action == "remove":
                if journal.removable(free) <= upto:
                    raise Refused(f"journal {id_} is still needed")
                journal.remove(upto + 1)
                return
            for file in journal.files[: upto + 1]:
                file.archived = file.archived or action == "archive"
                file.compressed = file.compressed or action == "compress"

        return effect

    def _on_sow(self, id_: str, action: str) -> Callable[[], None]:
        if all(one.id != id_ or not one.keys for one in self.layout.topics):
            raise NoSuchObject(f"there is no SOW {id_}")
        return lambda: None  # only the file on disk gets smaller

    def _queue(self, queue_id: str) -> tuple[str, Queue]:
        found = next((one for one in self.layout.queues if one.id == queue_id), None)
        if found is None:
            raise NoSuchObject(f"there is no queue {queue_id}")
        return found.name, self.instance.queues[found.name]
