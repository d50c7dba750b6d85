"""Every way a runbook can go, up to a bound: the real decisions over a small model of a pair. Must never touch a device.

``family`` is what a family of services has to tell, and ``solace`` and ``amps`` tell it: a pair that obeys, answers and
drifts, and its promises. ``rounds`` is what readings may become, ``lanes`` the real ``decide`` and fold with time
abstracted, ``judge`` and ``rules`` what may never happen, ``ways`` what may, ``search`` the walk, ``story`` a
counter-example in words.
"""
