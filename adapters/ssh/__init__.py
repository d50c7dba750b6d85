"""Sessions over SSH, shared by families. Only this package uses paramiko."""
