"""How the Solace CLI talks: prompt, pager, question (docs/sources/solace.md, 3.1).

Assumption: paging is switched off by ``no paging``, for the session only. Where a version does not know the command,
the pager is answered page by page.
"""

from __future__ import annotations

import re

from adapters.ssh.terminal import Dialect

SOLACE = Dialect(
    prompt=re.compile(r"(?P<name>[^\s<>#()]+)(?:\((?P<mode>[^)]*)\))?(?P<sign>[>#]) ?"),
    pager=re.compile(r"---Press any key to continue, or .q. to quit---"),
    # Each run of blanks can match in one way only, so a line full of blanks is read in one pass.
    question=re.compile(r"\(y/n\)[ \t\r]*(?:\?[ \t\r]*)?\Z", re.IGNORECASE),
    setup=("no paging",),
)
