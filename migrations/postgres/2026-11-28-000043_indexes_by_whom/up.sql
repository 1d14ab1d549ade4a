-- Who is deleted loses the challenges of his wallets too, and a test that waits for a message asks for those to its address alone.
CREATE INDEX wallet_challenges_app_id_environment_user_id_idx ON wallet_challenges (app_id, environment, user_id);
CREATE INDEX captured_messages_recipient_idx ON captured_messages (app_id, environment, recipient, created_at, position);
