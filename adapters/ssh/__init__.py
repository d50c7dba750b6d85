"""Sessions over SSH, shared by families. The only home of paramiko."""
