"""Following a pair for as long as an operator wants: rounds of readings, samples, and the suspension of replication."""
