//! Replacement of the database under a running service: a promoted standby, or a restore.
//!
//! K5: a failover loses nothing acknowledged. M-4: a wallet that is disabled in the current database never signs, even if transactions and
//! rows get numbers that others had before.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::block_in_place;
use vestry_contract::rng::{self, Rng};

use crate::support::client::{Answer, Api};
use crate::support::cluster::{Cluster, Programs, only};
use crate::support::flow::{Owner, new_owner, sign};
use crate::support::installation::text;
use crate::support::mixed_load::{History, Load, check_all, check_mails, check_rows};
use crate::support::process::PATIENCE;
use crate::support::proxy::{Proxy, behind_a_proxy};

/// Transactions by which the lost timeline is ahead, so that the other one can reach the same number.
const AHEAD: usize = 300;

/// A row version in Postgres: its writer and its location. Unique within one timeline only.
#[derive(Debug, PartialEq, Eq)]
struct Version {
    xmin: u32,
    ctid: String,
}

/// A wallet and a client for it.
struct Wallet {
    api: Api,
    owner: Owner,
}

impl Wallet {
    /// The first response that involved the database, since connections must be reopened first.
    async fn ask(&self, call: &str) -> Answer {
        let path = format!("/v1/wallets/{}/{call}", self.owner.wallet_id);
        let answered = async {
            loop {
                let answer = match call {
                    "sign_message" => sign(&self.api, &self.owner, "hello").await,
                    _ => self.api.post(&path, &json!({})).await,
                };
                if answer.status != 503 {
                    return answer;
                }
            }
        };
        tokio::time::timeout(PATIENCE, answered).await.unwrap()
    }

    async fn signs(&self, when: &str) {
        // Twice, so that the second call covers what a process has cached.
        for _ in 0..2 {
            let answer = self.ask("sign_message").await;
            assert_eq!(answer.status, 200, "{when}: {}", answer.text);
        }
    }

    async fn refuses(&self, when: &str) {
        for _ in 0..2 {
            let answer = self.ask("sign_message").await;
            assert_eq!(answer.status, 403, "{when}: {}", answer.text);
            assert_eq!(answer.error(403), "wallet_disabled", "{when}");
        }
    }

    async fn disable(&self) {
        self.ask("disable").await.ok();
    }

    async fn enable(&self) {
        self.ask("enable").await.ok();
    }

    fn condition(&self) -> String {
        format!("FROM wallets WHERE id = '{}'", self.owner.wallet_id)
    }

    async fn version(&self, cluster: &Cluster) -> Version {
        let client = cluster.client().await;
        let xmin = format!("SELECT xmin {}", self.condition());
        let ctid = format!("SELECT ctid {}", self.condition());
        Version {
            xmin: only(&client, &xmin).await.parse().unwrap(),
            ctid: only(&client, &ctid).await,
        }
    }

    /// Assignments that give the row the values it has on this cluster.
    async fn row(&self, cluster: &Cluster) -> String {
        let columns = ["disabled_at", "disabled_reason", "updated_at", "mac"];
        let parts = columns.map(|column| format!("'{column} = ' || quote_nullable({column})"));
        let query = format!("SELECT {} {}", parts.join(" || ', ' || "), self.condition());
        only(&cluster.client().await, &query).await
    }

    /// Updates the row on an otherwise idle cluster until it has this version. In the end it has the values of `row`.
    async fn repeat(&self, cluster: &Cluster, row: &str, version: &Version, writes: usize) {
        let client = cluster.client().await;
        let update = async |assignments: &str| {
            let id = &self.owner.wallet_id;
            let update = format!("UPDATE wallets SET {assignments} WHERE id = '{id}'");
            assert_eq!(client.execute(&update, &[]).await.unwrap(), 1);
        };
        for _ in 1..writes {
            update("updated_at = updated_at").await;
        }
        let next = "SELECT pg_snapshot_xmax(pg_current_snapshot())";
        while only(&client, next).await.parse::<u32>().unwrap() < version.xmin {
            only(&client, "SELECT pg_current_xact_id()").await;
        }
        update(row).await;
        drop(client);
        assert_eq!(self.version(cluster).await, *version);
    }
}

/// Consumes transaction numbers.
async fn burn(cluster: &Cluster) {
    let client = cluster.client().await;
    for _ in 0..AHEAD {
        only(&client, "SELECT pg_current_xact_id()").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m_4_a_disabled_wallet_never_signs_again() {
    let Some(programs) = Programs::find().await else {
        return;
    };
    let (first, proxy, installation) = behind_a_proxy(&programs).await;
    let keys = block_in_place(|| installation.set_up());
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let wallet = Wallet {
        owner: new_owner(&api, "ada@example.com").await,
        api,
    };
    wallet.signs("new").await;

    // To a standby without the change. The disabled row there gets the version that was enabled and signed before.
    let second = first.standby();
    second.start();
    first.is_followed_by(&second).await;
    second.stop();
    burn(&first).await;
    wallet.disable().await;
    wallet.refuses("disabled").await;
    let disabled = wallet.row(&first).await;
    wallet.enable().await;
    wallet.signs("enabled").await;
    let enabled = wallet.version(&first).await;
    proxy.close();
    first.stop();
    second.start();
    second.promote();
    wallet.repeat(&second, &disabled, &enabled, 2).await;
    proxy.route_to(&second.socket());
    wallet.refuses("disabled under the same numbers").await;
    wallet.enable().await;
    wallet.signs("enabled after the failover").await;

    // To a standby with the change.
    let third = second.standby();
    third.start();
    wallet.disable().await;
    wallet.refuses("disabled after the failover").await;
    second.is_followed_by(&third).await;
    proxy.close();
    second.stop();
    third.promote();
    proxy.route_to(&third.socket());
    wallet.refuses("disabled before the failover").await;

    // Back to the moment it was disabled, under the numbers of the moment it was enabled.
    let disabled = wallet.row(&third).await;
    let earlier = third.backup();
    burn(&third).await;
    wallet.enable().await;
    wallet.disable().await;
    wallet.enable().await;
    wallet.signs("enabled after the backup").await;
    let enabled = wallet.version(&third).await;
    proxy.close();
    third.stop();
    earlier.start();
    wallet.repeat(&earlier, &disabled, &enabled, 3).await;
    proxy.route_to(&earlier.socket());
    wallet.refuses("restored as it was").await;
    wallet.enable().await;
    wallet.signs("enabled after the restore").await;
    wallet.disable().await;
    wallet.refuses("disabled after the restore").await;
    server.process.stop().await;
}

/// How long the service may refuse writes after a promotion.
const WRITES_AGAIN_WITHIN: Duration = Duration::from_secs(10);

/// Number of concurrent reads.
const CONNECTIONS: usize = 64;

/// How the primary ends.
#[derive(Debug, Clone, Copy)]
enum End {
    /// It keeps running with its clients, unaware of the new primary. It can never acknowledge another write.
    LivesOn,
    /// Its clients are disconnected and reach another standby, which refuses writes and is not promoted.
    LeavesAReader,
    /// Its clients are disconnected and reach the standby before it is promoted.
    CutsOff,
    /// Like a power failure.
    Dies,
}

/// One failover under load. Returns the new primary and the load on both.
async fn fail_over(
    api: &Api,
    proxy: &Proxy,
    primary: Cluster,
    (round, end): (usize, End),
    rng: &mut Rng,
) -> (Cluster, Load) {
    let standby = primary.standby();
    standby.start();
    primary.wait_for_standbys().await;
    let load = Load::start_before_failover(api, round, rng);
    load.go_on(rng).await;
    let left_behind = leave(api, proxy, primary, &standby, end).await;
    proxy.route_new_connections_to(&standby.socket());
    let promoted = Instant::now();
    let user = written(api, &format!("round{round}@example.com")).await;
    let refused_for = promoted.elapsed();
    println!("K5, {end:?}: writes again after {refused_for:?}");
    assert!(refused_for <= WRITES_AGAIN_WITHIN, "{end:?}");
    // Reads move to the new primary too. Unused connections end on their own.
    let moved = async {
        while let Some(server) = &left_behind
            && proxy.clients_of(&server.socket()) > 0
        {
            read_by_many(api, &user).await;
        }
    };
    let moved = tokio::time::timeout(PATIENCE, moved).await;
    moved.expect("no connection leads to the old primary");
    (standby, load)
}

/// Promotes the standby. Returns the server that connections may still reach.
async fn leave(
    api: &Api,
    proxy: &Proxy,
    primary: Cluster,
    standby: &Cluster,
    end: End,
) -> Option<Cluster> {
    match end {
        End::LivesOn => {
            standby.promote();
            Some(primary)
        }
        End::LeavesAReader => {
            let reader = primary.standby();
            // Everything acknowledged must be on the standby that will be promoted.
            reader.start_as_bystander();
            proxy.route_to(&reader.socket());
            primary.stop();
            refused_write(api).await;
            standby.promote();
            Some(reader)
        }
        End::CutsOff => {
            proxy.route_to(&standby.socket());
            primary.cut_off_clients().await;
            refused_write(api).await;
            standby.promote();
            None
        }
        End::Dies => {
            proxy.close();
            primary.stop();
            standby.promote();
            None
        }
    }
}

/// Lists a user's sessions with enough concurrency to use each connection of the service's pool. Unlike a user, or a session by its token,
/// a list is read for each request separately.
async fn read_by_many(api: &Api, user: &str) {
    let reads: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let api = api.clone();
            let path = format!("/v1/auth/sessions/list?user_id={user}");
            tokio::spawn(async move { api.get(&path).await })
        })
        .collect();
    for read in reads {
        read.await.unwrap();
    }
}

async fn refused_write(api: &Api) {
    let body = json!({ "email": "refused@example.com" });
    let refused = api.post("/v1/auth/users/create", &body).await;
    assert_eq!(refused.error(503), "unavailable");
}

/// Retries until a write is acknowledged. Returns the user that it created.
async fn written(api: &Api, email: &str) -> String {
    let body = json!({ "email": email, "expires_in": 10 });
    let written = async {
        loop {
            let sent = api.post("/v1/auth/otps/email/login_or_create", &body).await;
            if sent.status < 500 {
                return text(&sent.ok(), "user_id");
            }
        }
    };
    let written = tokio::time::timeout(PATIENCE, written).await;
    written.expect("the new primary is found")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k5_a_failover_loses_nothing_acknowledged() {
    let Some(programs) = Programs::find().await else {
        return;
    };
    let (mut primary, proxy, installation) = behind_a_proxy(&programs).await;
    let keys = block_in_place(|| installation.set_up());
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let mut rng = Rng::from_seed(rng::seed());
    let mut histories: Vec<History> = Vec::new();
    let ends = [End::LivesOn, End::LeavesAReader, End::CutsOff, End::Dies];
    for (round, end) in ends.into_iter().enumerate() {
        let old = primary;
        let (promoted, load) = fail_over(&api, &proxy, old, (round, end), &mut rng).await;
        primary = promoted;
        let clients = load.end().await;
        check_rows(&installation).await;
        let checked = check_all(&api, &installation, clients).await;
        histories.extend(checked.into_iter().map(|client| client.history));
    }
    let writes: usize = histories
        .iter()
        .map(|history| history.acknowledged_writes)
        .sum();
    println!("K5: 4 failovers, {writes} acknowledged writes");
    assert!(writes > 0);
    check_mails(&api, &histories).await;
    server.process.stop().await;
    let verified = installation.admin(&["vault", "verify"]);
    assert_eq!(verified["ok"], true);
}
