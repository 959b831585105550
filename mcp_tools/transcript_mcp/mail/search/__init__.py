"""Finding letters by their words."""
