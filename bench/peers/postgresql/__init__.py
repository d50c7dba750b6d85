"""The planned switch of a PostgreSQL pair under load."""
