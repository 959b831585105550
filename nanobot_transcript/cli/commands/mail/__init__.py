"""The commands of Agent Mail."""
