-- Since when a wallet signs nothing.
ALTER TABLE wallets ADD COLUMN disabled_at INTEGER;
