"""AMPS's administration interface over HTTP: readings, three actions, and the configuration an instance serves."""
