-- A keyed hash over each sink's progress, so that an edited row is not believed. Existing rows get one that never matches.
ALTER TABLE checkpoint_sinks ADD COLUMN mac_key_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoint_sinks ADD COLUMN mac BLOB NOT NULL DEFAULT x'';
