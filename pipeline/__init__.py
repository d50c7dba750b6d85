"""Questions that looking at a screen cannot answer: did we lose anything, is it safe to go back, why do the sites differ.

It reads exports of both sites and kept readings, never a run in flight and never a device. It is the only home of
PySpark and PyArrow; the modules that a reader of its reports needs (``evidence``, ``manifest``, ``verdict``) import
neither. Of the product it sees the nouns, the arithmetic and the reports; of the rest, only the command line sees it.
"""
