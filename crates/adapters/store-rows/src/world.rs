//! Macros that restrict statements to a world.

/// The rows of a table that belong to a world. Every query of a world begins here; this is what isolates worlds from each other.
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

/// Rows whose key comes after this world and these further columns. Both databases start the index scan there; with the equivalent `OR`
/// they do not.
#[macro_export]
macro_rules! after {
    ($world:expr $(, $column:ident: $type:ty = $value:expr)*) => {
        diesel::dsl::sql::<diesel::sql_types::Bool>(
            concat!("(app_id, environment" $(, ", ", stringify!($column))*, ") > ("),
        )
        .bind::<diesel::sql_types::Text, _>($world.app_id.to_string())
        .sql(", ")
        .bind::<diesel::sql_types::Text, _>($world.environment.as_str())
        $(.sql(", ").bind::<$type, _>($value))*
        .sql(")")
    };
}

/// All rows of a table in the worlds of a sweep.
#[macro_export]
macro_rules! in_worlds {
    ($table:ident, $worlds:expr) => {{
        let worlds: &vestry_ports::store::SweptWorlds = $worlds;
        let rows = $table::table
            .filter($table::environment.eq(worlds.environment.as_str()))
            .into_boxed();
        match &worlds.apps {
            vestry_ports::store::SweptApps::AllBut(apps) if apps.is_empty() => rows,
            vestry_ports::store::SweptApps::AllBut(apps) => {
                let apps: Vec<String> = apps.iter().map(ToString::to_string).collect();
                rows.filter($table::app_id.ne_all(apps))
            }
            vestry_ports::store::SweptApps::Behind(app)
            | vestry_ports::store::SweptApps::Ahead(app) => {
                rows.filter($table::app_id.eq(app.to_string()))
            }
        }
    }};
}

/// The rows of a sweep in the order of the time index, unless reading that index would cross the rows of other Apps.
#[macro_export]
macro_rules! oldest_first {
    ($rows:expr, $worlds:expr, $time:expr) => {{
        let worlds: &vestry_ports::store::SweptWorlds = $worlds;
        match worlds.apps {
            vestry_ports::store::SweptApps::AllBut(_)
            | vestry_ports::store::SweptApps::Behind(_) => $rows.order($time),
            vestry_ports::store::SweptApps::Ahead(_) => $rows,
        }
    }};
}

/// The join condition of a wallet and its key.
#[macro_export]
macro_rules! its_key {
    () => {
        (wallet_keys::app_id.eq(wallets::app_id))
            .and(wallet_keys::environment.eq(wallets::environment))
            .and(wallet_keys::wallet_id.eq(wallets::id))
    };
}
