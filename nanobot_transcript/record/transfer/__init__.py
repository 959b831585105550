"""Moving a record from a folder into a database and back, while bots write."""
