//! One SELECT by primary key over a pool.

use deadpool::managed::{self, Metrics, RecycleResult};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl};

use crate::Failure;

/// The number of Postgres connections, the service's default.
const CONNECTIONS: usize = 10;
/// The number of readers of a SQLite file, the service's default.
const READERS: usize = 4;

diesel::table! {
    users (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        first_name -> Text,
        metadata -> Text,
        created_at -> BigInt,
    }
}

/// The primary key of some user.
type Key = (String, String, String);

/// A pool on one of the two stores, and the key of a row in the world that is read.
#[derive(Clone)]
pub(crate) enum Source {
    Postgres(managed::Pool<Postgres>, Key),
    Sqlite(managed::Pool<Sqlite>, Key),
}

pub(crate) struct Postgres(String);
pub(crate) struct Sqlite(String);

impl managed::Manager for Postgres {
    type Type = AsyncPgConnection;
    type Error = Failure;

    async fn create(&self) -> Result<Self::Type, Failure> {
        Ok(AsyncPgConnection::establish(&self.0).await?)
    }

    async fn recycle(&self, _: &mut Self::Type, _: &Metrics) -> RecycleResult<Failure> {
        Ok(())
    }
}

impl managed::Manager for Sqlite {
    type Type = SyncConnectionWrapper<SqliteConnection>;
    type Error = Failure;

    async fn create(&self) -> Result<Self::Type, Failure> {
        let mut connection = Self::Type::establish(&self.0).await?;
        let pragmas = |raw: &mut SqliteConnection| {
            raw.batch_execute("PRAGMA busy_timeout = 5000; PRAGMA query_only = ON")
        };
        connection.spawn_blocking(pragmas).await?;
        Ok(connection)
    }

    async fn recycle(&self, _: &mut Self::Type, _: &Metrics) -> RecycleResult<Failure> {
        Ok(())
    }
}

/// Any user's key and then that user, in a macro because the two connection types share no name.
macro_rules! any_key {
    ($pool:expr) => {{
        let mut connection = $pool.get().await.map_err(|error| error.to_string())?;
        users::table
            .select((users::app_id, users::environment, users::id))
            .first::<Key>(&mut *connection)
            .await?
    }};
}

macro_rules! read {
    ($pool:expr, $key:expr, $user:expr) => {{
        let mut connection = $pool.get().await.map_err(|error| error.to_string())?;
        users::table
            .find(($key.0.as_str(), $key.1.as_str(), $user))
            .select((users::first_name, users::metadata, users::created_at))
            .first::<(String, String, i64)>(&mut *connection)
            .await?
    }};
}

impl Source {
    pub(crate) async fn open(url: &str) -> Result<Self, Failure> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let pool = managed::Pool::<Sqlite>::builder(Sqlite(path.to_owned()))
                .max_size(READERS)
                .build()?;
            let key = any_key!(pool);
            return Ok(Self::Sqlite(pool, key));
        }
        let pool = managed::Pool::<Postgres>::builder(Postgres(url.to_owned()))
            .max_size(CONNECTIONS)
            .build()?;
        let key = any_key!(pool);
        Ok(Self::Postgres(pool, key))
    }

    /// The row of a user in the same world as the one found first.
    pub(crate) async fn read(&self, user: &str) -> Result<(String, String, i64), Failure> {
        Ok(match self {
            Self::Postgres(pool, key) => read!(pool, key, user),
            Self::Sqlite(pool, key) => read!(pool, key, user),
        })
    }
}
