"""Agents, their names, and the projects they belong to."""
