"""The meaning of a redirect as the answer to a change. A redirect is never followed: the password would be sent along.

RFC 9110, section 15.4: "further action needs to be taken by the user agent in order to fulfill the request". So the
change was not carried out here, with two exceptions. 303 is "an indirect response to the original request" (15.4.4).
301 and 302 mean the same if the method may become GET (15.4.2, 15.4.3), as after a POST.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from adapters.http.exchange import Reply
from orchestrator.characters import printable
from orchestrator.errors import CommandRejected

AS_IT_IS = frozenset({307, 308})
"""The request has to be sent elsewhere as it is (15.4.8, 15.4.9): whatever the method, it had no effect."""

ELSEWHERE = frozenset({301, 302}) | AS_IT_IS
"""The resource is elsewhere: for a method that stays as it is, such as PATCH and PUT, the same."""


def not_carried_out(reply: Reply, device: str, statuses: frozenset[int]) -> CommandRejected | None:
    """The refusal for a redirect with one of ``statuses``; None for any other answer."""
    if reply.status not in statuses:
        return None
    return CommandRejected(
        f"{device} did not carry out the request: it redirects to {target_of(reply)} (HTTP {reply.status}); "
        "redirects are not followed",
        device=device,
        hint="a proxy or a login page may answer in place of the device; give the inventory the address of the device's "
        "management",
    )


def target_of(reply: Reply) -> str:
    """The target of the redirect, without account, query and fragment, which may be secret; else ``an unknown
    place``."""
    try:
        parts = urlsplit(reply.headers.get("location", ""))
        host = f"{parts.hostname}" + (f":{parts.port}" if parts.port else "") if parts.hostname else ""
    except ValueError:
        return "an unknown place"
    place = f"{parts.scheme}://{host}{parts.path}" if host and parts.scheme else f"{host}{parts.path}"
    return printable(place, 200) or "an unknown place"
