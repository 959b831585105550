"""The one seam to SQL: statements, transactions, migrations and typed errors. No room sees a driver."""
