"""The commands of the gate."""
