"""Hooks: telling others what happens in a run, in order, at least once each.

The journal is the outbox: whatever is recorded is owed to the hooks that want it, until they have taken it. Telling
is done by threads that read the record; it must never hold up, stop or change a run, nor write to its record.
"""
