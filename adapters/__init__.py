"""Device families. Each folder controls one kind of device; none of them decides anything."""
