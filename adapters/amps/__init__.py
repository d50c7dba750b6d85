"""60East AMPS over its administration interface: readings, three actions, and the configuration it serves."""
