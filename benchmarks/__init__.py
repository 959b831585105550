"""Speed of the transcript store, against named baselines measured in the same run: ``python -m benchmarks``."""
