-- The accounts that were there before: founded is whose address, number, wallet or identity provider is proved.
UPDATE users SET founded = TRUE
WHERE EXISTS (
    SELECT 1 FROM user_emails AS proved
    WHERE proved.app_id = users.app_id AND proved.environment = users.environment AND proved.user_id = users.id
        AND proved.verified
) OR EXISTS (
    SELECT 1 FROM user_phones AS proved
    WHERE proved.app_id = users.app_id AND proved.environment = users.environment AND proved.user_id = users.id
        AND proved.verified
) OR EXISTS (
    SELECT 1 FROM wallets AS proved
    WHERE proved.app_id = users.app_id AND proved.environment = users.environment AND proved.user_id = users.id
        AND proved.verified AND proved.key_id IS NULL
) OR EXISTS (
    SELECT 1 FROM provider_links AS proved
    WHERE proved.app_id = users.app_id AND proved.environment = users.environment AND proved.user_id = users.id
);
