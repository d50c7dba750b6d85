"""AMPS: compares the dumps of two instances.

Sources: the layouts of ``amps_journal_dump`` and ``amps_sow_dump -v`` (60East's server documentation 5.3, chapter
"Utilities"); docs/sources/amps.md, 9.8 on when replicated SOW topics are in sync; the rules on duplicates and order
in docs/sources/amps.md, 8.1 and 9. Facts that are not in these sources are unknown here too.
"""
