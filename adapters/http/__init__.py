"""Sessions over HTTP, shared by families: the client, and XML bodies. Only this package uses httpx."""
