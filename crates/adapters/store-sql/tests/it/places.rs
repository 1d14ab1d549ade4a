//! Databases for a single test each, removed when it ends.

use std::sync::Arc;

use diesel::connection::SimpleConnection;
use tempfile::TempDir;
use vestry_ports::store::Store;
use vestry_store_sql::{Database, Settings, SqlStore};
use vestry_testkit::postgres::{Throwaway, execute};

use crate::plans;

/// A database location: how to reach it, and how to remove it.
pub(crate) struct Place {
    pub(crate) settings: Settings,
    pub(crate) ground: Ground,
}

/// What a location is based on.
pub(crate) enum Ground {
    Directory(TempDir),
    Server(Throwaway),
}

impl Drop for Place {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            plans::check();
        }
    }
}

impl Place {
    /// Opens another pool on the same database, as another process would.
    pub(crate) async fn connect(&self) -> SqlStore {
        SqlStore::connect(&self.settings).await.unwrap()
    }

    /// Runs SQL that Postgres may refuse.
    pub(crate) async fn try_execute(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        match &self.ground {
            Ground::Server(server) => execute(&server.direct_url(), sql).await,
            Ground::Directory(_) => panic!("this is not Postgres"),
        }
    }

    /// Runs SQL that bypasses the store.
    pub(crate) async fn execute(&self, sql: &str) {
        match &self.ground {
            Ground::Server(server) => execute(&server.direct_url(), sql).await.unwrap(),
            Ground::Directory(_) => {
                let Database::Sqlite(path) = &self.settings.database else {
                    panic!("the directory contains a file");
                };
                plans::unwatched(path).batch_execute(sql).unwrap();
            }
        }
    }
}

/// Returns an empty file in its own directory.
pub(crate) async fn sqlite() -> Option<Place> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vestry.db");
    Some(Place {
        settings: Settings::new(Database::Sqlite(path)),
        ground: Ground::Directory(directory),
    })
}

/// The same with all migrations applied.
pub(crate) async fn migrated_sqlite() -> Option<Place> {
    let place = sqlite().await?;
    if let Database::Sqlite(path) = &place.settings.database {
        vestry_testkit::sqlite::migrated(path).await;
        plans::look().await;
    }
    Some(place)
}

/// Returns an empty Postgres database.
pub(crate) async fn postgres() -> Option<Place> {
    Throwaway::empty().await.map(place)
}

/// The same with all migrations applied.
pub(crate) async fn migrated_postgres() -> Option<Place> {
    Throwaway::migrated().await.map(place)
}

fn place(server: Throwaway) -> Place {
    Place {
        settings: Settings::new(server.url().parse().unwrap()),
        ground: Ground::Server(server),
    }
}

/// Opens a store for a contract suite, together with what must outlive it.
pub(crate) async fn store(place: Option<Place>) -> Option<(Arc<dyn Store>, Place)> {
    let place = place?;
    let store: Arc<dyn Store> = Arc::new(place.connect().await);
    Some((store, place))
}

/// Defines each named function as a test on both backends. The functions take a [`Place`].
macro_rules! on_both {
    ($build_sqlite:ident, $build_postgres:ident: $($name:ident)*) => {
        mod on_sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    if let Some(place) = $crate::places::$build_sqlite().await {
                        super::$name(&place).await;
                    }
                }
            )*
        }
        mod on_postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    if let Some(place) = $crate::places::$build_postgres().await {
                        super::$name(&place).await;
                    }
                }
            )*
        }
    };
}
pub(crate) use on_both;
