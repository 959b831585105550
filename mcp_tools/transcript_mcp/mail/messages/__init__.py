"""Messages between agents: sending, reading, receipts, images, summaries."""
