"""60East AMPS: the configuration model, the replication fabric, and the checks AMPS makes on each link."""
