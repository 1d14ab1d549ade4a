//! The SQLite file, shared between processes.

use std::time::Instant;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use serde_json::json;

use crate::support::client::Api;
use crate::support::database::Database;
use crate::support::flow::new_owner;
use crate::support::installation::Installation;
use crate::support::poll::until;
use crate::support::process::PATIENCE;

/// K2: a service that waited in vain for another process discards its connection, but must keep its locks on the file. Otherwise the other
/// process would be the last to close the database. It would remove the write-ahead log, and with it whatever the service acknowledges
/// next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k2_a_service_that_waited_in_vain_still_holds_the_file() {
    let mut installation = Installation::sqlite();
    installation.set("database.acquire_timeout", "1");
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.live);
    let Database::Sqlite(path) = &installation.database else {
        unreachable!("the installation is on SQLite")
    };
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        let owner = new_owner(&api, &format!("before{round}@example.com")).await;
        acknowledged.push((owner.user_id, "active".to_owned()));
        let mut other = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
        // The service itself writes now and then.
        let begin = "PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE";
        other.batch_execute(begin).unwrap();
        let body = json!({"email": format!("meanwhile{round}@example.com")});
        let refused = api.post("/v1/auth/users/create", &body).await;
        assert_eq!(refused.error(503), "unavailable");
        other.batch_execute("ROLLBACK").unwrap();
        drop(other);
        let log = path.with_extension("db-wal");
        assert!(log.exists(), "round {round}: the log was taken away");
        let owner = new_owner(&api, &format!("after{round}@example.com")).await;
        acknowledged.push((owner.user_id, "active".to_owned()));
    }
    let mut process = server.process;
    process.kill().await;
    let mut there = installation
        .database
        .pairs("SELECT id AS one, status AS two FROM users")
        .await;
    there.sort_unstable();
    acknowledged.sort_unstable();
    assert_eq!(there, acknowledged);
    let checked = installation
        .database
        .pairs("SELECT integrity_check AS one, '' AS two FROM pragma_integrity_check")
        .await;
    assert_eq!(checked, [("ok".to_owned(), String::new())]);
}

const ALARM: &str = "ALARM: database file was deleted or replaced while in use; all requests return 503. Put the original file back, \
    or restart to use the new one";

/// Polls until the service is not ready.
async fn until_not_ready(api: &Api) {
    let begun = Instant::now();
    let noticed = until(async || api.get("/readyz").await.status == 503);
    let in_time = tokio::time::timeout(PATIENCE, noticed).await;
    in_time.expect("K12: the file is gone, but the service is ready");
    println!("K12: noticed after {:?}", begun.elapsed());
}

/// K12: a file that is deleted, moved or replaced while the service runs is detected. Nothing is acknowledged that a later process would
/// not find, and no empty database is created in its place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k12_a_file_that_is_deleted_or_replaced_is_noticed() {
    let mut installation = Installation::sqlite();
    // The limiter in the database has its own connection.
    installation.set("limits.store", "database");
    installation.set("limits.test_per_minute", "1000000");
    let keys = installation.set_up();
    let mut server = installation.serve().await;
    let api = server.api(&keys.test);
    let Database::Sqlite(path) = &installation.database else {
        unreachable!("the installation is on SQLite")
    };
    let owner = new_owner(&api, "ada@example.com").await;
    let aside = path.with_extension("aside");
    let copy = path.with_extension("copy");
    installation.database.copy_into(&copy);
    for replacement in [None, Some(&copy)] {
        std::fs::rename(path, &aside).unwrap();
        if let Some(copy) = replacement {
            std::fs::copy(copy, path).unwrap();
        }
        server.process.logged(ALARM).await;
        until_not_ready(&api).await;
        let body = json!({"email": "bob@example.com"});
        let refused = api.post("/v1/auth/users/create", &body).await;
        assert_eq!(refused.error(503), "unavailable");
        assert!(refused.headers.contains_key("retry-after"));
        let refused = api.get(&format!("/v1/auth/users/{}", owner.user_id)).await;
        assert_eq!(refused.error(503), "unavailable");
        assert_eq!(path.exists(), replacement.is_some(), "it was made again");
        // The file is restored, and the service recovers.
        std::fs::rename(&aside, path).unwrap();
        server.process.logged("database file is back").await;
        api.until_ready().await;
        api.get(&format!("/v1/auth/users/{}", owner.user_id))
            .await
            .ok();
    }
    new_owner(&api, "bob@example.com").await;
    // A restart accepts the file that exists then.
    std::fs::remove_file(path).unwrap();
    server.process.logged(ALARM).await;
    until_not_ready(&api).await;
    server.process.stop().await;
    assert!(!path.exists(), "a service that stops makes no file");
}

/// K7: a read-only file is not an internal error of the service.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k7_a_read_only_file_is_unavailable() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    installation.database.make_read_only("users");
    let body = json!({"email": "ada@example.com"});
    let refused = api.post("/v1/auth/users/create", &body).await;
    assert_eq!(refused.error(503), "unavailable");
    assert!(refused.headers.contains_key("retry-after"));
    server.process.stop().await;
}
