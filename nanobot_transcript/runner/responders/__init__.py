"""What stands for an agent's mind: a model endpoint, a command, or a script."""
