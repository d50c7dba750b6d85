"""Promise 10 at the hooks: the address of a webhook and its secret, however a delivery goes, at the level at which
libraries say most."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from adapters.http.webhook import WebhookPoster
from orchestrator.clock import SystemClock
from orchestrator.errors import HookFailed
from orchestrator.family.secrets import SecretStore
from orchestrator.notifications.webhook import WebhookSender
from tests.attack.canary import CANARY, ENVIRONMENT, leaks, said
from tests.hooks.hooking import a_webhook
from tests.hooks.receiving import serving
from tests.hooks.test_hook_command import a_message

pytestmark = pytest.mark.realtime
ADDRESS = "in/C4nary/+Tweet-5ongbird?key=C4nary/+Tweet-5ongbird"


def sender(url: str) -> WebhookSender:
    hook = a_webhook(url=url)
    assert hook.webhook is not None
    webhook = hook.webhook.model_copy(update={"secret": hook.webhook.secret.model_validate({"env": "CANARY"})})
    store = SecretStore(environment=ENVIRONMENT)
    return WebhookSender(hook, webhook, poster=WebhookPoster(SystemClock()), secrets=store, clock=SystemClock())


@pytest.mark.parametrize("where", ["here", "nowhere", "https"])
def test_a_delivery(where: str, logged: Callable[[], list[str]]) -> None:
    """Law: taken, refused or unreachable: neither the secret nor the address is in any text or log."""
    with serving() as endpoint:
        origin = endpoint.url.rsplit("/", 1)[0]
        url = {"here": f"{origin}/{ADDRESS}", "nowhere": f"http://127.0.0.1:1/{ADDRESS}"}.get(
            where, f"{origin.replace('http:', 'https:')}/{ADDRESS}"
        )
        telling = sender(url)
        things: list[object] = [telling]
        try:
            telling(a_message())
        except HookFailed as error:
            things.append(error)
    assert leaks([*said(*things), *logged()]) == []
    assert CANARY in ADDRESS


def test_control_libraries_are_listened_to(logged: Callable[[], list[str]]) -> None:
    """Negative control: what httpx would say of an address is looked through."""
    logging.getLogger("httpx").warning("POST %s", ADDRESS)
    assert leaks(logged())
