"""The judge: every promise, checked from events and the world's account as plain data. Imports nothing it judges.

Its input:

- A *plan* and an *event* are the JSON objects of the record (``kind``, ``step``, ``intent``, …).
- An *order* is a change on its way to a site: ``service``, ``on`` (source or target), ``site``, ``action``, ``args``,
  ``epoch`` (of the lease it is sent under) and ``at`` (the clock of the process that sends it).
- A *world* is the true state at that moment, independent of any reading::

      {"moment": 12.5,
       "lags": 0.0,                                    # seconds by which a reading may be behind
       "sites": {"ny": {"serves": True}},
       "services": {"A": {"changes": [[0.0, "ny", "active", "command"]],     # moment, site, new state, cause
                          "effects": [["ny", "set_role", {"role": "standby"}, 1]],
                          "lost": 0}}}                                       # only where it was counted

  A site of Solace also has its ``doors`` (``[True, True]``: open), and a service of Solace has::

      {"replicated": True,
       "roles": {"ny": "active", "nj": "standby"},
       "queued": {"ny": 17, "nj": 0},
       "both_active": [[3.0, 4.5]],                    # intervals in which both sites serve
       "transactions": {"ny": {"1-a-b": "PREPARED"}},  # only where the outcome of messages was counted
       "manager_due": False}                           # true: the transaction manager has not acted yet

  A service of AMPS has the intervals in which both instances take clients (``both_open``), and for each instance::

      {"instances": {"ny": {"phase": "running", "doors": [True], "takes_clients": True, "clients": 3,
                            "connected": True, "cut_since": None, "configured_sync": True, "sync": True,
                            "empty": False, "proxied": False, "owned": 2,
                            "ahead": 17,               # messages that its mate lacks
                            "sampled_at": 11.0}}}      # the last moment that its statistics cover

  An unknown value is left out. A rule that needs the value then yields nothing.
"""

from proof.promises.facts import Broken as Broken
from proof.promises.judge import Judge as Judge
