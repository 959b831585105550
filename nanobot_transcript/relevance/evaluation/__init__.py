"""Measures the gate on labelled logs, beside simple rules, in plain Python."""
