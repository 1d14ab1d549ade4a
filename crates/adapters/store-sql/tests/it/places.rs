//! Databases for one test each, gone when it ends.

use std::sync::Arc;

use diesel::connection::SimpleConnection;
use tempfile::TempDir;
use vestry_ports::store::Store;
use vestry_store_sql::{Database, Settings, SqlStore};
use vestry_testkit::postgres::{Throwaway, execute};

use crate::plans;

/// A place for a database: how to reach it, and what removes it.
pub(crate) struct Place {
    pub(crate) settings: Settings,
    pub(crate) ground: Ground,
}

/// What a place stands on.
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
    /// Another pool on the same database, as another process would have it.
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

    /// Runs SQL behind the store's back.
    pub(crate) async fn execute(&self, sql: &str) {
        match &self.ground {
            Ground::Server(server) => execute(&server.direct_url(), sql).await.unwrap(),
            Ground::Directory(_) => {
                let Database::Sqlite(path) = &self.settings.database else {
                    panic!("a directory holds a file");
                };
                plans::unwatched(path).batch_execute(sql).unwrap();
            }
        }
    }
}

/// An empty file in a directory of its own.
pub(crate) async fn sqlite() -> Option<Place> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vestry.db");
    Some(Place {
        settings: Settings::new(Database::Sqlite(path)),
        ground: Ground::Directory(directory),
    })
}

/// The same with all migrations.
pub(crate) async fn migrated_sqlite() -> Option<Place> {
    let place = sqlite().await?;
    if let Database::Sqlite(path) = &place.settings.database {
        vestry_testkit::sqlite::migrated(path).await;
        plans::look().await;
    }
    Some(place)
}

/// An empty Postgres database.
pub(crate) async fn postgres() -> Option<Place> {
    Throwaway::empty().await.map(place)
}

/// The same with all migrations.
pub(crate) async fn migrated_postgres() -> Option<Place> {
    Throwaway::migrated().await.map(place)
}

fn place(server: Throwaway) -> Place {
    Place {
        settings: Settings::new(server.url().parse().unwrap()),
        ground: Ground::Server(server),
    }
}

/// A store for a suite of the contract, with what must outlive it.
pub(crate) async fn store(place: Option<Place>) -> Option<(Arc<dyn Store>, Place)> {
    let place = place?;
    let store: Arc<dyn Store> = Arc::new(place.connect().await);
    Some((store, place))
}

/// Each named function as a test on both backends. They take a [`Place`].
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
