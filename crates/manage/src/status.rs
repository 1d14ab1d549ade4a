//! `/v1/manage/status`

pub(crate) mod get;

use serde::Serialize;
use utoipa::ToSchema;
use vestry_app::operators::{DeploymentStatus, RootKeyStatus};

/// The state of the deployment. Without a database that is ready, the call is 503 or 500 instead.
#[derive(Serialize, ToSchema)]
#[schema(as = DeploymentStatus)]
pub(crate) struct Status {
    /// The version of the process that responds.
    #[schema(examples("0.1.0"))]
    version: &'static str,
    /// Always `ok`: every migration is applied.
    #[schema(pattern = "^ok$")]
    migrations: &'static str,
    vaults: Vaults,
    backlog: Backlog,
    /// The newest audit checkpoint in the database; `null` before the first one.
    #[schema(required = true)]
    checkpoint: Option<Checkpoint>,
}

/// The root keys.
#[derive(Serialize, ToSchema)]
#[schema(as = StatusOfVaults)]
struct Vaults {
    /// The root key of wallets; `null` while it is unavailable.
    #[schema(required = true)]
    wallets: Option<Vault>,
    /// The root key of all other secrets; `null` while it is unavailable.
    #[schema(required = true)]
    secrets: Option<Vault>,
}

/// A root key that can be used.
#[derive(Serialize, ToSchema)]
#[schema(as = StatusOfVault)]
struct Vault {
    /// The kind of vault.
    #[schema(examples("local"))]
    kind: &'static str,
    /// The version that wraps new keys.
    #[schema(minimum = 1)]
    version: u32,
}

/// What waits to be done.
#[derive(Serialize, ToSchema)]
#[schema(as = StatusOfBacklog)]
struct Backlog {
    /// E-mails and text messages that are not sent yet.
    #[schema(minimum = 0)]
    messages: i64,
}

/// An audit checkpoint.
#[derive(Serialize, ToSchema)]
#[schema(as = StatusOfCheckpoint)]
struct Checkpoint {
    /// When it was made, in Unix seconds.
    at: i64,
    /// How long ago that was. Without changes there are no new checkpoints.
    age_seconds: i64,
}

impl From<RootKeyStatus> for Vault {
    fn from(key: RootKeyStatus) -> Self {
        Self {
            kind: key.kind,
            version: key.version,
        }
    }
}

impl From<DeploymentStatus> for Status {
    fn from(status: DeploymentStatus) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            migrations: "ok",
            vaults: Vaults {
                wallets: status.wallets_key.map(Vault::from),
                secrets: status.secrets_key.map(Vault::from),
            },
            backlog: Backlog {
                messages: status.waiting_messages,
            },
            checkpoint: status.checkpoint.map(|checkpoint| Checkpoint {
                at: checkpoint.at.unix(),
                age_seconds: checkpoint.age.0,
            }),
        }
    }
}
