-- The store tells SQLite what its tables look like whenever migrations are applied: with this one, for the first time.
SELECT 1;
