"""Questions and reports of agents, their answers and storage, and messages that people write to agents unasked."""
