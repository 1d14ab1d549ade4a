-- The last event that retention deleted: a reader that has come so far has missed nothing.
ALTER TABLE event_heads ADD COLUMN pruned_id TEXT;
