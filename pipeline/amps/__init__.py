"""AMPS: what the dumps of two instances say of each other.

Sources: the layouts of ``amps_journal_dump`` and ``amps_sow_dump -v`` (60East's server documentation 5.3, chapter
"Utilities"); docs/sources/amps.md, 9.8 on when replicated SOW topics are in sync; the rules on duplicates and order
in docs/sources/amps.md, 8.1 and 9. What these do not say is unknown here too.
"""
