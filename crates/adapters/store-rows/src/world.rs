//! How every statement begins.

/// The rows of a table that belong to a world. Every query of a world begins here: it is the wall between them.
#[macro_export]
macro_rules! in_world {
    ($table:ident, $world:expr) => {
        $table::table.filter(
            $table::app_id
                .eq($world.app_id.to_string())
                .and($table::environment.eq($world.environment.as_str())),
        )
    };
}

/// The condition of the join of a wallet with its key.
#[macro_export]
macro_rules! its_key {
    () => {
        (wallet_keys::app_id.eq(wallets::app_id))
            .and(wallet_keys::environment.eq(wallets::environment))
            .and(wallet_keys::wallet_id.eq(wallets::id))
    };
}
