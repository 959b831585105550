"""What processes need in order to agree: who may do something now, and how often. One folder for each backend."""
