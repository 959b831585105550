"""How the cost of a record grows with what is in it and with who uses it, in files and in PostgreSQL."""
