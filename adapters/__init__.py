"""Device families. Each folder speaks to one kind of device; none of them decides anything."""
