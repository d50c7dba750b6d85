"""What to do next after a run of AMPS. AMPS has no roles, only instances that let clients in."""

from __future__ import annotations

from orchestrator.family.next_steps import NextSteps, Stood

# Planned moves that leave the target's link downgraded, so that the source may be stopped.
_DOWNGRADE_THE_TARGET = frozenset({"controlled", "failback"})


class AmpsNextSteps:
    """See ``orchestrator.family.next_steps.NextSteps``."""

    def after_success(self, kind: str, source: str, target: str, named: str) -> str:
        """See ``NextSteps``."""
        if kind not in _DOWNGRADE_THE_TARGET:
            return ""
        return (
            f"{source} may be stopped now. The link to it is downgraded, so {target} has no fail-over target until "
            f"{source} is brought back: `failover restore {named} --site {source}` (with the same inventory)."
        )

    def after_refusal(self, kind: str, source: str, target: str, stood: Stood, named: str) -> str:
        """See ``NextSteps``."""
        is_move = kind.startswith(("controlled", "failback"))
        if not is_move or stood.lets_clients_in.get(source) is not False:
            return ""
        if stood.lets_clients_in.get(target) is False:
            return (
                "Nothing was changed. NEITHER INSTANCE LETS CLIENTS IN. If an earlier run stopped half-way "
                "(`failover runs list`), resume or abort it. Otherwise an operator must decide which instance serves, "
                "and must open it at the instance itself, because no command here does that."
            )
        restored = f"`failover restore {named} --site {source}`, then " * (kind in _DOWNGRADE_THE_TARGET)
        return (
            f"Nothing was changed. {source} lets no client in. If {target} lets clients in (`failover status`), "
            f"its clients move to {source} with: {restored}`failover failback {named} --site {source}` "
            "(with the same inventory)."
        )


NEXT_STEPS: NextSteps = AmpsNextSteps()
