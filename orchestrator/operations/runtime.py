"""Connects the parts: state directory, journal, secrets, inventory, adapters, fleet. It makes no decision."""

from __future__ import annotations

import getpass
import os
import pwd
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.characters import STEERING, spelled_out
from orchestrator.clock import Clock
from orchestrator.errors import AdapterError, DefinitionError, JournalUnavailable, NotStarted, Unreachable
from orchestrator.family.contract import Adapter, AdapterContext, Permit
from orchestrator.family.reachability import REACHABILITY
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.exchanges import Witness
from orchestrator.model.inventory import Inventory
from orchestrator.model.runbook import Side, Step
from orchestrator.operations.declared_families import FOLDER, offer_families
from orchestrator.operations.free_texts import scrub_free_texts
from orchestrator.operations.journal_location import JOURNAL_VARIABLE as JOURNAL_VARIABLE
from orchestrator.operations.journal_location import PROVE_IT, make_private, passwords_of, safe_url
from orchestrator.operations.secret_references import asks_somebody

if TYPE_CHECKING:
    from orchestrator.engine.approvers import Approvers
    from orchestrator.engine.dispatch import Fleet, Prompter
    from orchestrator.journal.journal import Journal
    from orchestrator.journal.signing import Signer
    from orchestrator.model.plan import Plan, Who

STATE_VARIABLE = "FAILOVER_STATE"
INVENTORY_VARIABLE = "FAILOVER_INVENTORY"
USER_VARIABLE = "FAILOVER_USER"
SIGNING_VARIABLE = "FAILOVER_SIGNING_KEY"
# The name of the signing key in the state directory, used if no other key is named.
SIGNING_KEY = "signing.key"

FleetMaker = Callable[[Mapping[Side, Adapter], Permit, Clock, "Prompter | None"], "Fleet"]


@dataclass(frozen=True, slots=True)
class Tools:
    """The resources of every command that uses runs or devices.

    ``fleet`` None: a thread for each site. ``is_rehearsal``: the record is private to this process, whatever the
    environment says. ``keeps_records``: the record stays when the process ends. ``account`` and ``uid``: the owner of
    this process, as the system knows it. ``policy_file``: the approval policy that another program, such as a test,
    gives; None: the one file of root, which no option and no variable changes. ``tell``: is called with notices about a
    document. ``witness``: receives the exchanges with devices.
    """

    state: Path
    clock: Clock
    secrets: SecretStore
    registry: Registry
    fleet: FleetMaker | None = None
    is_rehearsal: bool = False
    keeps_records: bool = True
    account: str = field(default_factory=lambda: account_name())
    uid: int = field(default_factory=os.getuid)
    policy_file: Path | None = None
    tell: Callable[[str], object] = field(default=lambda text: None)
    witness: Witness | None = None

    def __post_init__(self) -> None:
        offer_families()

    def journal(self) -> Journal:
        """The journal: SQLite in the state directory, or the database that ``FAILOVER_JOURNAL`` names by URL."""
        from orchestrator.journal.database.embedded_files import refuse_network
        from orchestrator.journal.journal import Journal

        scrub = scrub_free_texts(self.secrets.redactor.scrub)
        url = self._journal_url
        if not url:
            refuse_network(self._journal_file)
            make_private(self._journal_file)
            return Journal.at(self._journal_file, scrub=scrub, signer=self.signer())
        for password in passwords_of(url):
            self.secrets.redactor.learn(password)
        opened = safe_url(url, os.environ)
        try:
            return Journal(opened, scrub=scrub, signer=self.signer(), heads=self.state / "heads")
        except JournalUnavailable as error:
            raise (error if opened == url else JournalUnavailable(str(error), hint=PROVE_IT)) from error
        except ImportError as error:
            raise DefinitionError(
                f"{JOURNAL_VARIABLE} names a database whose driver is not installed: {error.name}",
                hint="for PostgreSQL, use postgresql+psycopg://… and install failover[postgresql]",
            ) from error

    def who(self) -> Who:
        """The person who acts, for the record: the chosen name, and the owner of this process."""
        from orchestrator.model.plan import Who

        return Who(user_name(), self.account, self.uid)

    @property
    def has_journal(self) -> bool:
        """Is there a journal, or would ``journal`` create one?"""
        return bool(self._journal_url) or os.path.lexists(self._journal_file)

    @property
    def _journal_url(self) -> str | None:
        return None if self.is_rehearsal else os.environ.get(JOURNAL_VARIABLE)

    @property
    def _journal_file(self) -> Path:
        return self.state / "journal.sqlite"

    def signer(self) -> Signer | None:
        """The signer of this process's records: the key that ``FAILOVER_SIGNING_KEY`` names, or the key of the state
        directory; None if there is neither. A named key is never ignored."""
        named = None if self.is_rehearsal else os.environ.get(SIGNING_VARIABLE)
        path = Path(named).expanduser() if named else self.state / SIGNING_KEY
        if not named and (self.is_rehearsal or not os.path.lexists(path)):
            return None
        from orchestrator.journal.signing import Signer

        return Signer(path)

    def approvers(self) -> Approvers:
        """The approval policy of this machine, with the approvers whose signatures count. Raises
        ``DefinitionError``."""
        from orchestrator.engine.approvers import POLICY_FILE, Approvers, load_policy

        if self.policy_file is None:
            return Approvers(load_policy(POLICY_FILE))
        return Approvers(load_policy(self.policy_file, owner=os.getuid()))

    def inventory(self, path: Path | None) -> Inventory:
        """The inventory from ``path``, from ``FAILOVER_INVENTORY``, or the embedded simulated pair."""
        named = path or (Path(os.environ[INVENTORY_VARIABLE]) if os.environ.get(INVENTORY_VARIABLE) else None)
        if named is None:
            from simulator.embedded import embedded_inventory, embedded_world

            embedded_world(self.world_file, self.clock).close()
            return embedded_inventory(self.world_file)
        from orchestrator.documents.loader import load_inventory

        offer_families([named.parent / FOLDER])
        inventory, findings = load_inventory(named)
        for finding in findings:
            if finding.level != "note":
                self.tell(str(finding))
        return inventory

    @property
    def world_file(self) -> Path:
        """The file that keeps the state of the embedded simulated pair between commands."""
        return self.state / "world.json"

    def folder(self, name: str) -> Path:
        """A folder in the state directory. Raises ``JournalUnavailable``, also for a link, because links are not
        followed."""
        path = self.state / name
        if path.is_symlink():
            raise JournalUnavailable(f"{path} is a link, but links are not followed", hint="remove the link")
        try:
            path.mkdir(mode=0o700, exist_ok=True)
        except FileExistsError as error:
            raise JournalUnavailable(f"{path} is not a directory", hint="move it away") from error
        except OSError as error:
            raise JournalUnavailable(
                f"{path} cannot be created: {error.strerror}",
                hint=f"fix the cause, or set {STATE_VARIABLE} to another state directory",
            ) from error
        return path

    def is_simulated(self, inventory: Inventory) -> bool:
        """Is every site of the inventory simulated? One real site makes the whole inventory real."""
        return all(self.registry.is_simulated(site) for site in inventory.sites.values())

    @property
    def to_read(self) -> AdapterContext:
        """The context of adapters that only read."""
        return AdapterContext(self.clock, self.secrets, read_only=True, witness=self.witness)

    @contextmanager
    def adapters(self, plan: Plan, *, read_only: bool = False) -> Iterator[Mapping[Side, Adapter]]:
        """The open adapters of both sides of ``plan``. They are closed afterwards.

        Raises ``NotStarted`` if a session cannot be opened: at this point the caller has changed nothing yet.
        """
        made = self.make_adapters(plan, read_only=read_only)
        spoken_to = _spoken_to(plan)
        try:
            try:
                for side, adapter in made.items():
                    if side not in spoken_to:
                        continue  # this site may be down
                    with suppress(*((Unreachable,) if side in _may_be_silent(plan) else ())):
                        adapter.open()
            except AdapterError as error:
                first = "wait until the site answers" if isinstance(error, Unreachable) else "fix the problem above"
                hint = error.hint or f"{first} (`failover status`), then run the command again"
                raise NotStarted(f"{error}; nothing was changed", hint=hint) from error
            yield made
        finally:
            for adapter in made.values():
                adapter.close()

    def make_adapters(self, plan: Plan, *, read_only: bool = False) -> dict[Side, Adapter]:
        """The adapters of both sides of ``plan``, not yet open."""
        context = AdapterContext(self.clock, self.secrets, read_only=read_only, witness=self.witness)
        sites = plan.inventory.sites
        return {
            "source": self.registry.adapter_for(sites[plan.source], context),
            "target": self.registry.adapter_for(sites[plan.target], context),
        }

    def ask_secrets(self, plan: Plan) -> None:
        """Ask now for the secrets that a person must type, before the display starts."""
        if any(asks_somebody(site) for site in plan.inventory.sites.values()):
            # A run continues without an unreachable device, but not without a password that must be typed.
            with suppress(NotStarted), self.adapters(plan):
                pass

    def make_fleet(self, plan: Plan, permit: Permit, prompter: Prompter | None) -> Fleet:
        """The fleet that sends commands to the devices of ``plan``."""
        from orchestrator.engine.dispatch_threaded import ThreadedFleet

        adapters = self.make_adapters(plan)
        if self.fleet is not None:
            return self.fleet(adapters, permit, self.clock, prompter)
        return ThreadedFleet(adapters, permit, self.clock, prompter=prompter)


def _spoken_to(plan: Plan) -> set[Side]:
    """Sides that the runbook reads or changes."""
    return {side for step in plan.runbook.steps for side in _sides_of(step)}


def _sides_of(step: Step) -> Iterator[Side]:
    for check in step.checks:
        yield check.on
    if step.do is not None:
        yield step.do.on
    if step.undo is not None:
        yield from (step.undo.do.on, *(check.on for check in (*step.undo.require, *step.undo.expect)))
    if step.for_each is not None:
        yield step.for_each.on
    if step.progress is not None:
        yield step.progress.on
    if step.compare is not None:
        yield from ("source", "target")


def _may_be_silent(plan: Plan) -> set[Side]:
    """Sides for which the runbook itself checks whether they answer."""
    checks = (check for step in plan.runbook.steps for check in (*step.require, *step.until, *step.never))
    return {check.on for check in checks if check.reading == REACHABILITY}


def account_name() -> str:
    """The owner of this process, as the system knows it. No variable of the environment can change it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # an account without a name, as containers have
        return f"uid {os.getuid()}"


def user_name() -> str:
    """The name of the person who acts, for the record."""
    named = os.environ.get(USER_VARIABLE)
    if named:
        return checked_text(named, USER_VARIABLE)
    try:
        return checked_text(getpass.getuser(), "the name of the account")
    except (KeyError, OSError):  # an account without a name, as containers have
        return f"uid {os.getuid()}"


# The number of characters shown before and after a refused character.
_AROUND = 40


def checked_text(text: str, what: str) -> str:
    """``text`` as it was typed, for the record. Raises ``DefinitionError`` if it is not valid text, or has characters
    that would make it look like a different text."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise DefinitionError(f"{what} is not valid UTF-8 text") from None
    found = STEERING.search(text)
    if found is not None:
        around = spelled_out(text[max(0, found.start() - _AROUND) : found.end() + _AROUND])
        raise DefinitionError(
            f"{what} has a character that controls a terminal, or hides or reverses text: {around}",
            hint="type the text on one line instead of pasting it",
        )
    return text
