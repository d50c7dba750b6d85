"""Checks names once more, at the place where they are put into a command.

The inventory and the engine have checked them already. Here a mistake would become part of a command, so every name is
checked again.
"""

from __future__ import annotations

import re

from orchestrator.errors import Forbidden
from orchestrator.model.inventory import SERVICE_NAME

# docs/sources/solace.md, 1.8: <formatId>-<gtrid>-<bqual> in hexadecimal, at most 266 characters. Other letters are
# allowed, in case a version writes local transactions in another way. Characters that could end a word are not allowed.
_XID = re.compile(r"[0-9A-Za-z][0-9A-Za-z.:_-]{0,265}")
_SERVICE = re.compile(SERVICE_NAME)


def checked_service(name: str) -> str:
    """Return ``name``. Raises ``Forbidden`` if it cannot name a message VPN; nothing has been sent then."""
    if _SERVICE.fullmatch(name) is None or not name.isprintable() or name != name.strip():
        raise Forbidden(f"{name!r} is not a valid name of a message VPN, so no command was sent")
    return name


def checked_xid(xid: str) -> str:
    """Return ``xid``. Raises ``Forbidden`` if it cannot be an XID; nothing has been sent then."""
    if _XID.fullmatch(xid) is None:
        raise Forbidden(f"{xid!r} is not a valid XID, so no command was sent")
    return xid


def quoted(name: str) -> str:
    """``name`` as a word of the CLI: in double quotes when it has blanks (docs/sources/solace.md, 3.3)."""
    return f'"{name}"' if " " in name else name


def router_name(name: str) -> str:
    """A router's own name, without the prefix of a virtual router: ``v:NAME`` (docs/sources/solace-cli.md, 4)."""
    return name.strip().removeprefix("v:")


def checked_endpoint(name: str) -> str:
    """Return the ``name`` of a queue or topic endpoint. Raises ``Forbidden`` if it is not one word of the CLI: a name
    with a quote cannot be quoted, and ``*`` and ``?`` match other names too."""
    if not name.isprintable() or name != name.strip() or any(letter in name for letter in '"*?'):
        raise Forbidden(f"{name!r} cannot be written in a CLI command, so no command was sent")
    return name
