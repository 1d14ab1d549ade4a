-- Whether a code was asked for by a step that takes anybody in. Those that are under way are taken for such: the careful guess.
ALTER TABLE codes ADD COLUMN for_anybody INTEGER NOT NULL DEFAULT 1;
