-- The address as written in the request, and whether the message went to this spelling, as it does until the address is verified. The
-- proof then writes it to the user's row.
ALTER TABLE codes ADD COLUMN asked_as TEXT;
ALTER TABLE codes ADD COLUMN sent_as_asked BOOL NOT NULL DEFAULT FALSE;
ALTER TABLE magic_links ADD COLUMN asked_as TEXT;
ALTER TABLE magic_links ADD COLUMN sent_as_asked BOOL NOT NULL DEFAULT FALSE;
