"""References to secrets in an inventory: in the logins of a site's adapters, and in their options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.model.inventory import Also, Login, SecretRef, Site

_ASKED_FOR = SecretRef(prompt=True)


def asks_somebody(site: Site) -> bool:
    """Does a secret of ``site`` have to be typed by a person?"""
    logins = (part.login for part in site.parts)
    passwords = (login.password for login in logins if login is not None)
    return any(one is not None and one.prompt for one in passwords) or any(
        mapping.get("prompt") is True for part in site.parts for mapping in _mappings(part.options)
    )


def without_inline(site: Site) -> Site:
    """``site`` as it may be recorded: a secret in the inventory itself is replaced by a prompt."""
    also = tuple(
        one.model_copy(update={"login": _login(one.login), "options": _options(one.options)}) for one in site.also
    )
    changed: dict[str, Login | Mapping[str, Any] | tuple[Also, ...] | None] = {
        "login": _login(site.login),
        "options": _options(site.options),
        "also": also,
    }
    return site.model_copy(update=changed)


def _login(login: Login | None) -> Login | None:
    if login is None or login.password is None or login.password.inline is None:
        return login
    return login.model_copy(update={"password": _ASKED_FOR})


def _options(value: Any) -> Any:
    """Options belong to the adapter. A value that looks like a reference with an inline secret is treated as one."""
    if isinstance(value, Mapping):
        if set(value) == {"inline"}:
            return {"prompt": True}
        return {key: _options(inner) for key, inner in value.items()}
    return [_options(one) for one in value] if isinstance(value, list | tuple) else value


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        for inner in value.values():
            yield from _mappings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _mappings(inner)
