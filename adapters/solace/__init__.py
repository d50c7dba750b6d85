"""Solace PubSub+ message VPNs: the CLI over SSH."""
