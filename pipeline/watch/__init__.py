"""Follows kept readings as they come (``failover pipeline watch``): courses of queues, and alerts as events.

A plain loop keeps account of which files were read, or Spark's Structured Streaming where one machine cannot read them;
what follows from them is a fold in plain Python over the readings of one service, so that it is the same however they
come in batches.
"""
