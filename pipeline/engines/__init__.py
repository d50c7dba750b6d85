"""The engines that run an algorithm: Spark, on this machine or a cluster, or DuckDB in this process.

An algorithm is SQL text (``pipeline/sql``), written once for both engines. Differences between the engines are only in
their dialects.
"""
