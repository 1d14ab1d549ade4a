//! SQLite's file among processes.

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use serde_json::json;

use crate::support::database::Database;
use crate::support::journey::new_owner;
use crate::support::site::Site;

/// K2: a service that waited in vain for another process throws its connection away, and must not give up its locks on the file
/// with it. The other process would be the last to close the database, remove the write-ahead log, and with it whatever
/// the service goes on to acknowledge.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k2_a_service_that_waited_in_vain_still_holds_the_file() {
    let mut site = Site::sqlite();
    site.set("database.acquire_timeout", "1");
    let keys = site.set_up();
    let server = site.serve().await;
    let api = server.api(&keys.live);
    let Database::Sqlite(path) = &site.database else {
        unreachable!("the site is on SQLite")
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
    let mut there = site
        .database
        .pairs("SELECT id AS one, status AS two FROM users")
        .await;
    there.sort_unstable();
    acknowledged.sort_unstable();
    assert_eq!(there, acknowledged);
    let checked = site
        .database
        .pairs("SELECT integrity_check AS one, '' AS two FROM pragma_integrity_check")
        .await;
    assert_eq!(checked, [("ok".to_owned(), String::new())]);
}
