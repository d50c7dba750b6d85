"""Questions that checking a screen cannot answer: did we lose anything, is it safe to go back, why do the sites differ.

It reads exports of both sites and kept readings, never a run in flight and never a device. It is the only home of
PySpark, DuckDB and PyArrow; the modules that a reader of its reports needs (``evidence``, ``manifest``, ``verdict``)
import none of them. An algorithm is text (``sql/``), which an engine carries out (``engines/``). Of the product it sees
the nouns, the arithmetic and the reports; of the rest, only the command line sees it.
"""
