"""What processes need in order to agree: who may do something now and how often, how far somebody has come, what has
changed, and who lives. One folder for each backend."""
