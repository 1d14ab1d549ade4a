-- What the first of two sends within a few seconds has answered, and where its link leads: the second one is answered alike.
ALTER TABLE codes ADD COLUMN user_created BOOL NOT NULL DEFAULT FALSE;
ALTER TABLE magic_links ADD COLUMN user_created BOOL NOT NULL DEFAULT FALSE;
ALTER TABLE magic_links ADD COLUMN landing TEXT;
