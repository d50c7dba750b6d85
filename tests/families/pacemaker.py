"""A stand-in for ssh and crm_mon: what Pacemaker 2 prints as XML, and a program that answers so."""

from __future__ import annotations

from pathlib import Path


def crm_mon(*resources: str, maintenance: bool = False) -> str:
    """What Pacemaker 2 prints."""
    word = "true" if maintenance else "false"
    return f"""<pacemaker-result api-version="2.25" request="crm_mon --output-as=xml">
  <summary><cluster_options maintenance-mode="{word}" stop-all-resources="false"/></summary>
  <resources>
    <clone id="all" multi_state="true" maintenance="{word}" managed="{"false" if maintenance else "true"}" failed="false">
      {"".join(resources)}
    </clone>
  </resources>
  <status code="0" message="OK"/>
</pacemaker-result>"""


def resource(agent: str, managed: str, role: str = "Started") -> str:
    """One that the cluster knows."""
    return (
        f'<resource id="one" resource_agent="{agent}" role="{role}" active="true" orphaned="false" blocked="false" '
        f'maintenance="false" managed="{managed}" failed="false" nodes_running_on="1"/>'
    )


def stand_in(folder: Path, shown: str) -> None:
    """A program ``ssh`` in ``folder`` that answers for the host ``host``, and reaches no other one."""
    program = folder / "ssh"
    program.write_text(
        '#!/bin/sh\n[ "${*#*-- }" = "host crm_mon --output-as=xml" ] || '
        '{ echo "ssh: connect to host ${*#*-- } port 22: Connection timed out"; exit 255; }\n'
        f"cat <<END\n{shown}\nEND\n"
    )
    program.chmod(0o755)
