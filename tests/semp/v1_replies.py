"""SEMP v1 replies as brokers lay them out: requests by their text, replies with the parts that somebody reads."""

from __future__ import annotations

SHOW_REDUNDANCY = "<rpc><show><redundancy /></show></rpc>"
SHOW_SPOOL = "<rpc><show><message-spool /></show></rpc>"
SHOW_REPLICATION = "<rpc><show><replication /></show></rpc>"


def reply(inside: str, result: str = '<execute-result code="ok"/>') -> str:
    """A whole reply around what ``show`` holds."""
    return f'<rpc-reply semp-version="soltr/10_25"><rpc><show>{inside}</show></rpc>{result}</rpc-reply>'


def failed(reason: str, code: str = "431") -> str:
    """A refusal, with HTTP 200 as all of them."""
    result = f'<execute-result code="fail" reason="{reason}" reasonCode="{code}"/>'
    return f'<rpc-reply semp-version="soltr/10_25">{result}</rpc-reply>'


def redundancy(
    primary: str = "Local Active",
    backup: str = "Shutdown",
    *,
    role: str = "Primary",
    config: str = "Enabled",
    status: str = "Up",
    link: str = "true",
) -> str:
    """``show redundancy`` of one member of a pair."""
    return reply(
        f"<redundancy><config-status>{config}</config-status><redundancy-status>{status}</redundancy-status>"
        f"<redundancy-mode>Active/Standby</redundancy-mode><active-standby-role>{role}</active-standby-role>"
        "<mate-router-name>mate</mate-router-name>"
        f"<oper-status><adb-link-up>{link}</adb-link-up><adb-hello-up>{link}</adb-hello-up></oper-status>"
        "<virtual-routers>"
        f"<primary><config/><status><activity>{primary}</activity></status></primary>"
        f"<backup><config/><status><activity>{backup}</activity></status></backup>"
        "</virtual-routers></redundancy>"
    )


def spool(status: str) -> str:
    """``show message-spool``."""
    return reply(
        "<message-spool><message-spool-info><config-status>Enabled (Primary)</config-status>"
        f"<operational-status>{status}</operational-status><datapath-up>true</datapath-up>"
        "</message-spool-info></message-spool>"
    )


STANDALONE = redundancy(config="Shutdown", status="Down", link="false")
SERVING = redundancy()
BACKUP_SERVES = redundancy("Shutdown", "Local Active", role="Backup")
STANDING_BY = redundancy("Shutdown", "Mate Active", role="Backup")
PRIMARY_STANDS_BY = redundancy("Mate Active", "Shutdown")
RELEASED = redundancy("Shutdown", "Local Active", role="Backup", status="Down")
