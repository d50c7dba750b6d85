"""Answers three questions: did we lose anything, is it safe to fail back, why do the sites differ.

This package reads exports of both sites and kept readings. It never reads a running run or a device. Only this package
imports PySpark, DuckDB and PyArrow. The modules that a reader of its reports needs (``evidence``, ``manifest``,
``verdict``) import none of them. The algorithms are SQL text (``sql/``), which an engine runs (``engines/``). The package
imports the nouns, the arithmetic and the reports of the product. Outside, only the command line imports this package.
"""
