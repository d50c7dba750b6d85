"""Follows kept readings as they come (``failover pipeline watch``): courses of queues, and alerts as events.

Spark's Structured Streaming keeps account of which files were read, orders and divides their lines; what follows from
them is a fold in plain Python over the readings of one service, so that it is the same however they come in batches.
"""
