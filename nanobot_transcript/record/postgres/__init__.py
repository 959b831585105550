"""A record in a PostgreSQL database: every part of it, for processes on many machines."""
