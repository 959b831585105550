"""Makes the weights of the relevance gate from labelled logs: ``python -m benchmarks.gate.train``."""
