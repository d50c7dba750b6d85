"""Exports of the messages of sites: read from devices, resumed, compared."""
