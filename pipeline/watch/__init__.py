"""Follows kept readings as they arrive (``failover pipeline watch``): courses of queues, and alerts as events.

A plain loop records which files were read. If one machine cannot read them all, Spark's Structured Streaming does it.
A fold in plain Python over the readings of one service computes the result, so the batches do not change the result.
"""
