"""One database: the record of runs, its hash chain and signatures, leases, and what hooks are owed."""
