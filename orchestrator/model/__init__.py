"""The data models: inventory, runbook, plan, events, readings. Data only, no input or output."""
