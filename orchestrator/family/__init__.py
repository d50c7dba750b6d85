"""What the author of an adapter needs: the contract, its registry, and tools for sessions."""
