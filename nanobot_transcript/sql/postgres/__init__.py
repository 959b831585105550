"""PostgreSQL: one database for the processes of many machines. The only room that knows its driver."""
