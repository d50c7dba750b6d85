"""What Solace offers beyond facets: options, readiness, guard, watch, decisions (``orchestrator.family.offers``)."""
