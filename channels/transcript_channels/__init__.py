"""Chat platforms and hosts for nanobot-transcript."""
