"""The pure core: from events to state, from state to the next decision."""
