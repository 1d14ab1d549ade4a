-- For the sweep of failures in a row that are long over.
CREATE INDEX guards_failed_at_idx ON guards (failed_at);
