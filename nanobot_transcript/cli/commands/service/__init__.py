"""The commands of services."""
