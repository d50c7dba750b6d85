"""Simulated sites with an account, whose devices repeat the password wherever a device can put a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import EntryPoint

from adapters.mock.adapter import MockAdapter
from orchestrator.errors import AuthenticationFailed
from orchestrator.family.contract import AdapterContext, Call, Permit, Result
from orchestrator.family.registry import GROUP
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading

ENTRY = EntryPoint("echoing", "tests.cli.echoing:EchoingAdapter", GROUP)


class EchoingAdapter(MockAdapter):
    """Its refusals, and if ``chatty`` its failures and answers too, repeat the password; ``wanted`` is its SHA-256."""

    def __init__(self, site: Site, setting: AdapterContext) -> None:
        plain = {key: value for key, value in site.options.items() if key == "world"}
        super().__init__(site.model_copy(update={"options": plain}), setting)
        self._login, self._wanted, self._chatty = site.login, site.options.get("wanted"), site.options.get("chatty")
        self._secrets = setting.secrets
        self._name = site.name
        self._asked = 0

    def _secret(self) -> str:
        assert self._login is not None
        assert self._login.password is not None
        return self._secrets.reveal(
            self._login.password, what=f"the password of {self._login.username} at {self._name}"
        )

    def open(self) -> None:
        secret = self._secret()
        if self._wanted not in (None, digest(secret)):
            raise AuthenticationFailed(f"{self._name}: login failed: password '{secret}' rejected", device=self._name)
        super().open()

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        self._asked += 1
        if self._chatty and self._asked == 1:
            text = f"% unknown command: {self._secret()}"
            return dict.fromkeys(services, Failure(kind="UnreadableReply", text=text, excerpt=text))
        return super().probe(reading, services)

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        for result in super().apply(action, calls, permit):
            note = f"motd: your password is {self._secret()}" if self._chatty else ""
            yield replace(result, detail=note, effect=Effect.DOUBTFUL if self._chatty else result.effect)


def digest(secret: str) -> str:
    """What an inventory may say of a password without saying it."""
    return sha256(secret.encode()).hexdigest()
