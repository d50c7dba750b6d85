"""The modules for authors of adapters: the contract, its registry, and tools for sessions."""
