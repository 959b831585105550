"""The door: who may come in, and what becomes of the answers. The hub mounts it, the rooms ask it."""
