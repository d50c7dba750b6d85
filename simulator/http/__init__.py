"""An HTTP server for simulated devices, and the certificates of a lab."""
