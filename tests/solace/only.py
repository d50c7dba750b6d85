"""Every line that may ever change something on a Solace node: nothing else is sent, whatever is asked of an adapter.

A message VPN's ``enabled`` and its own services are not among them: config-sync copies these to the other site, so a
site fenced by them would take its mate down (docs/sources/solace.md, 0.8 and 0.9).
"""

from __future__ import annotations

import re

_XID = r"[0-9A-Fa-f]+-[0-9A-Fa-f]*-[0-9A-Fa-f]*"
_CLI = (
    r"replication state (active|standby)",
    rf"(commit|rollback|delete)-transaction xid {_XID}",
    r"(no )?reject-msg-to-sender-on-discard",
    r"(no )?service msg-backbone shutdown",
    r"interface 1/1/lag1 \| (no )?shutdown",
)
_SEMP = (
    r'PATCH /SEMP/v2/config/msgVpns/[^/ ]+ \{"replicationRole":"(active|standby)"\}',
    rf"PUT /SEMP/v2/action/msgVpns/[^/ ]+/transactions/{_XID}/(commit|rollback|delete) \{{\}}",
    r'PATCH /SEMP/v2/config/msgVpns/[^/ ]+ \{"replicationQueueRejectMsgToSenderOnDiscardEnabled":(true|false)\}',
    r'PATCH /SEMP/v2/config/ \{"serviceMsgBackboneEnabled":(true|false)\}',
    r"POST /SEMP <rpc><interface><phy-interface>1/1/lag1</phy-interface>(<no>)?<shutdown />(</no>)?</interface></rpc>",
)
_ALLOWED = tuple(re.compile(pattern) for pattern in (*_CLI, *_SEMP))


def may_change(line: str) -> bool:
    """Is this one of the few lines that may change something? One that means something only in its mode is given with
    the line that leads there: ``interface 1/1/lag1 | shutdown``."""
    return any(pattern.fullmatch(line) for pattern in _ALLOWED)
