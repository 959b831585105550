"""The JSONL backend: one file per chat, cut into segments, appended to by every process under ``flock``."""
