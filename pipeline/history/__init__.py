"""What earlier runs tell: how long each phase took, how fast queues drained, which actions were tried again."""
