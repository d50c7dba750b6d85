"""The models of a family that is declared in one file: its parts, its requests and its sessions."""
