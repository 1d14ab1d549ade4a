-- The clock of an App's test environment, a JSON document; it is swapped as a whole.
ALTER TABLE apps ADD COLUMN test_clock TEXT NOT NULL DEFAULT '{"revision":0,"set_at":0,"mode":"machine"}';
