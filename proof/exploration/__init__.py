"""Explores every way a runbook can go, up to a bound: real decisions over a small model of a pair. Never touches a
device.

``family`` is the protocol of a family of services, and ``solace``, ``amps`` and ``generic`` implement it: the model of a
pair, and its promises. ``rounds`` lists the possible readings. ``lanes`` runs the real ``decide`` and fold, with time
abstracted. ``judge`` and ``rules`` state what must never happen. ``ways`` lists what can happen next. ``search`` is the
walk. ``story`` describes a counter-example in words.
"""
