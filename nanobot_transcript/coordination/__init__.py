"""What processes need in order to agree: leases, budgets, marks, signals, and which of them are alive. One folder for
each backend.
"""
