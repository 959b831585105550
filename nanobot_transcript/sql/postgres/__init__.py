"""PostgreSQL: one database for processes on many machines. The only room that knows its driver."""
