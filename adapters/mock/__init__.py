"""The adapters of the simulated sites: the contract, answered in process. The sites are in ``simulator``."""
