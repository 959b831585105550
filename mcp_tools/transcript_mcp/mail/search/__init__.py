"""Full-text search in messages."""
