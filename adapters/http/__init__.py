"""Sessions over HTTP, shared by families: the client, the lab's server, and XML bodies. The only home of httpx."""
