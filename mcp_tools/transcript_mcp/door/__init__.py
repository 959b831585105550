"""The door: who may send requests, and whether answers arrive. The hub mounts it; the rooms use it."""
