"""What earlier runs tell: how long each phase took, how fast queues drained, who needed second attempts."""
