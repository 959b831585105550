"""What answers for an agent: a model endpoint, a command, or a script."""
