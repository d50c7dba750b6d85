"""What AMPS offers beyond facets: options, readiness, guard, watch, advice (``orchestrator.family.offers``)."""
