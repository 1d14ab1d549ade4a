//! Ports that the use cases need.

use std::sync::Arc;

use vestry_ports::anchors::CheckpointSink;
use vestry_ports::clock::Clock;
use vestry_ports::custody::{CheckpointSigner, Custodian, Sealer, SignatureVerifier};
use vestry_ports::entropy::Entropy;
use vestry_ports::identity_providers::IdentityProviders;
use vestry_ports::journal::EpochStore;
use vestry_ports::limiter::RateLimiter;
use vestry_ports::mailer::Mailer;
use vestry_ports::meter::Meter;
use vestry_ports::passkeys::PasskeyCeremonies;
use vestry_ports::passwords::{BreachedPasswords, PasswordHasher};
use vestry_ports::sms::SmsSender;
use vestry_ports::store::Store;
use vestry_ports::tokens::TokenSigner;
use vestry_ports::vault::Vaults;
use vestry_ports::webhooks::WebhookSender;

/// All ports, assembled by the composition root.
#[derive(Clone)]
pub struct Ports {
    /// The database.
    pub store: Arc<dyn Store>,
    /// The root keys.
    pub vaults: Vaults,
    /// Custody of wallet keys.
    pub custodian: Arc<dyn Custodian>,
    /// Encryption of small secrets, and keyed hashes.
    pub sealer: Arc<dyn Sealer>,
    /// Signatures of checkpoints.
    pub checkpoint_signer: Arc<dyn CheckpointSigner>,
    /// Sinks for checkpoints.
    pub sinks: Vec<Arc<dyn CheckpointSink>>,
    /// One of the sinks, with the journal beside it; `None` if `epoch.store` is `none`.
    pub epoch_store: Option<EpochStore>,
    /// Verification of signatures by users' own wallets.
    pub signatures: Arc<dyn SignatureVerifier>,
    /// Signatures of session JWTs.
    pub tokens: Arc<dyn TokenSigner>,
    /// Passkey (WebAuthn) checks.
    pub passkeys: Arc<dyn PasskeyCeremonies>,
    /// Identity providers; `None` in a process that uses only the built-in provider of test environments.
    pub providers: Option<Arc<dyn IdentityProviders>>,
    /// The general rate limit.
    pub limiter: Arc<dyn RateLimiter>,
    /// Live mail; `None` if not configured.
    pub mailer: Option<Arc<dyn Mailer>>,
    /// Live text messages; `None` if not configured.
    pub sms: Option<Arc<dyn SmsSender>>,
    /// Webhook sender; `None` in a process that sends none.
    pub webhooks: Option<Arc<dyn WebhookSender>>,
    /// Password hashing.
    pub passwords: Arc<dyn PasswordHasher>,
    /// List of breached passwords; `None` if not configured.
    pub breached: Option<Arc<dyn BreachedPasswords>>,
    /// Measurements of this process.
    pub meter: Arc<dyn Meter>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Source of randomness.
    pub entropy: Arc<dyn Entropy>,
}
