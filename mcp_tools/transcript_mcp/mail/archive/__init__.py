"""The archive in git: writing it, comparing it with the database, and restoring from it."""
