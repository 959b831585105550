"""Who writes to whom: agents, their names, and the projects they belong to."""
