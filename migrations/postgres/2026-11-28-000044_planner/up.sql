-- Postgres finds out about its tables by itself; SQLite is told.
SELECT 1;
