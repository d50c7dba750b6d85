"""Who carries an algorithm out: Spark, on this machine or a cluster, or DuckDB in this process.

An algorithm is text (``pipeline/sql``), said once for both. What a separate engine has to say is in its dialect, and
nowhere else.
"""
