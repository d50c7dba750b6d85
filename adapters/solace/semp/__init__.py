"""Solace PubSub+ message VPNs over SEMP: v2 for all it offers, v1 for the rest."""
