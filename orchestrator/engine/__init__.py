"""The engine loop (decide, record, perform, record), its dispatch to sites, and the dry run."""
