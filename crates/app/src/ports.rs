//! What the core needs from the world.

use std::sync::Arc;

use vestry_ports::anchors::CheckpointSink;
use vestry_ports::clock::Clock;
use vestry_ports::custody::{Custodian, Notary, Sealer, SignatureVerifier};
use vestry_ports::entropy::Entropy;
use vestry_ports::identity_providers::IdentityProviders;
use vestry_ports::limiter::RateLimiter;
use vestry_ports::mailer::Mailer;
use vestry_ports::passkeys::PasskeyCeremonies;
use vestry_ports::passwords::{BreachedPasswords, PasswordHasher};
use vestry_ports::sms::SmsSender;
use vestry_ports::store::Store;
use vestry_ports::tokens::TokenSigner;
use vestry_ports::vault::Vaults;
use vestry_ports::webhooks::WebhookSender;

/// All of it, put together by the composition root.
#[derive(Clone)]
pub struct Ports {
    /// The database.
    pub store: Arc<dyn Store>,
    /// The root keys.
    pub vaults: Vaults,
    /// Wallet keys.
    pub custodian: Arc<dyn Custodian>,
    /// Small secrets and keyed hashes.
    pub sealer: Arc<dyn Sealer>,
    /// The key of checkpoints.
    pub notary: Arc<dyn Notary>,
    /// Where checkpoints go.
    pub sinks: Vec<Arc<dyn CheckpointSink>>,
    /// What people sign with wallets of their own.
    pub signatures: Arc<dyn SignatureVerifier>,
    /// Session JWTs.
    pub tokens: Arc<dyn TokenSigner>,
    /// The checks of passkeys.
    pub passkeys: Arc<dyn PasskeyCeremonies>,
    /// Identity providers; `None` in a process that speaks to the built-in one of test worlds only.
    pub providers: Option<Arc<dyn IdentityProviders>>,
    /// The general rate limit.
    pub limiter: Arc<dyn RateLimiter>,
    /// Live mail; `None` until it is configured.
    pub mailer: Option<Arc<dyn Mailer>>,
    /// Live text messages; `None` until they are configured.
    pub sms: Option<Arc<dyn SmsSender>>,
    /// Sends events; `None` in a process that does not.
    pub webhooks: Option<Arc<dyn WebhookSender>>,
    /// Hashes of passwords.
    pub passwords: Arc<dyn PasswordHasher>,
    /// The list of breached passwords; `None` where there is none.
    pub breached: Option<Arc<dyn BreachedPasswords>>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}
