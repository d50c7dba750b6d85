"""Posts events to a webhook as signed CloudEvents. The poster sends the bytes.

This module must never put the address of a webhook into a text, because for many services the address itself is the
password.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

from orchestrator.clock import Clock
from orchestrator.errors import AdapterError, DefinitionError, HookFailed
from orchestrator.family.contract import Secrets
from orchestrator.model.inventory import Hook, Webhook
from orchestrator.notifications.message import CONTENT_TYPE, SIGNATURE_HEADER, Message, signature

_SUCCESS = range(200, 300)


class Poster(Protocol):
    """Sends requests over HTTP. Several threads use one poster."""

    def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, timeout_s: float, ca_file: str | None
    ) -> int:
        """POST ``body`` once, follow no redirect, and return the status of the answer.

        Raises ``AdapterError`` if there is no answer within ``timeout_s`` seconds, and ``DefinitionError`` for a bad
        ``ca_file``. The text of both errors has only the host of the URL.
        """
        ...


class WebhookSender:
    """Sends events to a webhook."""

    def __init__(self, hook: Hook, webhook: Webhook, *, poster: Poster, secrets: Secrets, clock: Clock) -> None:
        self._hook = hook
        self._webhook = webhook
        self._poster = poster
        self._secrets = secrets
        self._clock = clock

    def __call__(self, message: Message) -> None:
        """Post the message once, with a new signature. Raises ``HookFailed`` unless the answer is a success (2xx)."""
        body = message.cloud_event()
        try:
            secret = self._secrets.reveal(self._webhook.secret.reference, what=f"secret of hook {self._hook.name}")
            headers = {
                "Content-Type": CONTENT_TYPE,
                SIGNATURE_HEADER: signature(secret, body, self._clock.now()),
            }
            status = self._poster.post(
                self._webhook.url,
                body,
                headers,
                timeout_s=self._hook.timeout,
                ca_file=self._webhook.ca_file,
            )
        except (AdapterError, DefinitionError) as error:
            raise HookFailed(str(error), cause=type(error).__name__, hint=error.hint) from error
        if status not in _SUCCESS:
            host = urlsplit(self._webhook.url).hostname
            raise HookFailed(f"{host} answered with status {status}", cause=f"status {status}")
