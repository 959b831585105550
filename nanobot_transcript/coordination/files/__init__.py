"""Coordination through files on one machine."""
