//! Challenges that the holder of a wallet signs to sign in.

use crate::ids::{UserId, WalletRegistrationId};
use crate::limits::Limit;
use crate::random::{self, ByteSource};
use crate::siwe::{self, SignInMessage};
use crate::timestamp::Seconds;
use crate::wallet::WalletType;
use crate::{Invalid, Secret, Timestamp, World, rfc3339};

/// How long a challenge is valid.
pub const LIFETIME: Seconds = Seconds(600);
/// A challenge that is valid for at least this long is returned again instead of a new one. An attacker who requests many for another
/// person gets the same one and displaces none (attack 24). It is not secret; what matters is who signs it.
pub const SHARED_WHILE_LEFT: Seconds = Seconds(300);
/// Maximum number of new challenges of one address for each kind of holder: its owner, existing users who would add it, new users. Further
/// ones are rejected, and none is dropped. Many users who request challenges for an address therefore leave its owner's alone (attack 24).
/// It also keeps the number of valid challenges small enough to scan.
pub const NEW_PER_HOLDER: Limit = Limit {
    most: 32,
    window: SHARED_WHILE_LEFT,
};
/// An upper bound on the number of valid challenges of one address: each lifetime spans at most three windows, for three kinds of holders.
pub const MAX_LIVE: u32 = 3 * 3 * NEW_PER_HOLDER.most;
/// Length of a nonce in characters: 142 bits.
const NONCE_LENGTH: usize = 24;

/// A challenge to sign, valid for one sign-in by one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletChallenge {
    /// The id.
    pub id: WalletRegistrationId,
    /// App and environment.
    pub world: World,
    /// The chain.
    pub wallet_type: WalletType,
    /// The address that must sign, in its canonical form.
    pub public_address: String,
    /// The user who signs in or gets the wallet.
    pub user_id: UserId,
    /// Whether signing creates that user.
    pub is_new_user: bool,
    /// The nonce that makes it unique.
    pub nonce: String,
    /// The text to sign, for callers that do not write their own sign-in message.
    pub text: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires; no longer valid from this second on.
    pub expires_at: Timestamp,
}

/// A new nonce: 24 of `[0-9A-Za-z]`, as EIP-4361 allows.
pub fn draw_nonce(source: &mut dyn ByteSource) -> Secret<String> {
    random::alphanumeric(source, NONCE_LENGTH)
}

/// The party that requests a signature, and the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The App's display name.
    pub name: String,
    /// The site: host, and port unless it is the scheme's default.
    pub domain: String,
    /// The URI on that site to sign in to.
    pub uri: String,
    /// The chain, as sign-in messages name it.
    pub chain: String,
}

impl Asker {
    /// Whether the challenge was issued for this party.
    pub fn asks_in(&self, challenge: &WalletChallenge) -> bool {
        let message = SignInMessage::parse(&challenge.text, challenge.wallet_type);
        message.is_ok_and(|message| {
            message.domain == self.domain && message.chain_id.as_ref() == Some(&self.chain)
        })
    }

    /// The sentence shown to people before they sign. EIP-4361 allows only part of ASCII here, so a name that does not fit is omitted.
    fn statement(&self) -> String {
        let fits = |c: char| c.is_ascii_alphanumeric() || " -._~:/?#[]@!$&'()*+,;=".contains(c);
        let to = match !self.name.is_empty() && self.name.chars().all(fits) {
            true => format!(" to {}", self.name),
            false => String::new(),
        };
        format!("Sign in{to}. This signature is free and transfers nothing.")
    }
}

/// The text of a challenge: a sign-in message (EIP-4361, or its Solana form). A wallet can therefore warn its owner if another site shows
/// it. Every text is unique.
pub fn challenge_text(
    asker: &Asker,
    wallet_type: WalletType,
    public_address: &str,
    nonce: &str,
    created_at: Timestamp,
) -> String {
    let account = siwe::account_name(wallet_type);
    let statement = asker.statement();
    let (issued, expires) = (
        rfc3339::format(created_at),
        rfc3339::format(created_at + LIFETIME),
    );
    let Asker {
        domain, uri, chain, ..
    } = asker;
    format!(
        "{domain} wants you to sign in with your {account} account:\n{public_address}\n\n{statement}\n\n\
         URI: {uri}\nVersion: 1\nChain ID: {chain}\nNonce: {nonce}\nIssued At: {issued}\nExpiration Time: {expires}"
    )
}

/// Checks that wallets of this type can sign in.
///
/// # Errors
/// Names `wallet_type`.
pub fn check_type(wallet_type: WalletType) -> Result<(), Invalid> {
    match wallet_type {
        WalletType::Ethereum | WalletType::Solana => Ok(()),
        WalletType::Bitcoin | WalletType::Polkadot | WalletType::Stellar => Err(Invalid::value(
            "wallet_type",
            "wallet_type must be ethereum or solana for sign-in",
        )),
    }
}

#[cfg(test)]
mod tests;
