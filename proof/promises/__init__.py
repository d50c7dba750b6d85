"""The judge: every promise, checked from events and the world's account as plain data. Imports nothing it judges.

What it is fed:

- A *plan* and an *event* are the JSON objects of the record (``kind``, ``step``, ``intent``, …).
- An *order* is a change on its way to a site: ``service``, ``on`` (source or target), ``site``, ``action``, ``args``,
  ``epoch`` (of the lease it is sent under) and ``at`` (the clock of the process that sends it).
- A *world* is what is true at that moment, whatever anybody reads::

      {"moment": 12.5,
       "sites": {"ny": {"serves": True, "doors": [True, True]}},
       "services": {"A": {"roles": {"ny": "active", "nj": "standby"},
                          "queued": {"ny": 17, "nj": 0},
                          "changes": [[0.0, "ny", "active", "command"]],   # of roles; the last word: command, somebody
                          "both_active": [[3.0, 4.5]],               # intervals in which both sites serve
                          "effects": [["ny", "set_role", {"role": "standby"}, 1]],
                          "transactions": {"ny": {"1-a-b": "PREPARED"}},
                          "manager_due": False,                      # has its transaction manager yet to act?
                          "lost": 0}}}                               # only where it was counted

  What is not known is left out; a rule that needs it then says nothing.
"""

from proof.promises.facts import Broken as Broken
from proof.promises.judge import Judge as Judge
