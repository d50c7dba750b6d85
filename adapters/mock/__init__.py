"""The adapters of the simulated sites: they answer the contract in process. The sites are in ``simulator``."""
