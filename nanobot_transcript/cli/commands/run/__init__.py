"""The command run."""
