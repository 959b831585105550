"""Letters between agents: written, kept, read, and what is in them."""
