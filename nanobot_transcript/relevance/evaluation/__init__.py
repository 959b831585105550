"""Measures the gate on labelled logs, next to simple rules, in plain Python."""
