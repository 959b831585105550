"""Claims of files, and the guard hook in the agents' repositories."""
