"""One database: the record of runs, its hash chain and signatures, leases, and the delivery state of hooks."""
