-- The users that were there before. Rust folds more than lower() does: names beyond ASCII, and addresses with such a domain, are
-- found once their user is next updated. Metadata, which SQL cannot read, likewise.
UPDATE users SET folded_name = lower(trim(first_name || ' ' || trim(middle_name || ' ' || last_name)));
UPDATE user_emails SET folded = identity;

INSERT INTO user_counts (app_id, environment, status, shard, users)
    SELECT app_id, environment, status, 0, count(*) FROM users GROUP BY app_id, environment, status;
