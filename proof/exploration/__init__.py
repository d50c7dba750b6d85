"""Every way a runbook can go, up to a bound: the real decisions over a small model of a pair. Must never touch a device.

``pair`` is the model, ``looking`` what it answers, ``lanes`` the real ``decide`` and fold with time abstracted,
``judge`` what may never happen, ``ways`` what may, ``search`` the walk, ``story`` a counter-example in words.
"""
