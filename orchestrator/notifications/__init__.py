"""Hooks: deliver the events of a run to receivers, in order, each event at least once.

The journal is the outbox. Each hook gets every recorded event that it wants, until it has taken the event. Threads that
read the record deliver the events. Delivery must never delay, stop or change a run, and must never write to its record.
"""
