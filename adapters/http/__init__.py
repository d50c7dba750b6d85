"""Sessions over HTTP, shared by families: the client, and XML bodies. The only home of httpx."""
