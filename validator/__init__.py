"""The validator of AMPS replication configurations: the fabric, the nine checks, rules, rolling plans and SARIF."""
