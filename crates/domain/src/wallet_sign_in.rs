//! Challenges that the holder of a wallet signs to sign in.

use crate::ids::{UserId, WalletRegistrationId};
use crate::limits::Limit;
use crate::random::{self, ByteSource};
use crate::siwe::{self, SignInMessage};
use crate::timestamp::Seconds;
use crate::wallet::WalletType;
use crate::{Invalid, Secret, Timestamp, World, rfc3339};

/// How long a challenge may be signed.
pub const LIFETIME: Seconds = Seconds(600);
/// A challenge that lives at least this long from now is handed out again instead of a new one: whoever asks for many in
/// another person's name only gets the same one again and takes none away (attack 24). It is no secret; what counts is who signs it.
pub const SHARED_WHILE_LEFT: Seconds = Seconds(300);
/// Most new challenges of one address for each sort of holder: who has the address, users it would be new to, and nobody yet.
/// Further ones are refused; none that was handed out is dropped for them. So many users that ask in the name of an address
/// leave it the challenges of its owner (attack 24), and what is alive at once can be looked through whole.
pub const NEW_PER_HOLDER: Limit = Limit {
    most: 32,
    window: SHARED_WHILE_LEFT,
};
/// More challenges of one address than are ever alive at once: a life touches three windows, of three sorts of holders.
pub const MOST_LIVING: u32 = 3 * 3 * NEW_PER_HOLDER.most;
/// Characters of a nonce: 142 bits.
const NONCE_LENGTH: usize = 24;

/// Something to sign, good for one sign-in by one address.
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
    /// Who signs in, or gets the wallet.
    pub user_id: UserId,
    /// Whether that user is made by the signature.
    pub is_new_user: bool,
    /// What makes it unlike any other.
    pub nonce: String,
    /// The text to sign, for those who do not write a sign-in message of their own.
    pub text: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// From this second on it is dead.
    pub expires_at: Timestamp,
}

/// A new nonce: 24 of `[0-9A-Za-z]`, which is what EIP-4361 allows.
pub fn draw_nonce(source: &mut dyn ByteSource) -> Secret<String> {
    random::alphanumeric(source, NONCE_LENGTH)
}

/// Who asks for a signature, and for which chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The App as people know it.
    pub name: String,
    /// The site: host, and port where it is not the scheme's own.
    pub domain: String,
    /// What is signed in to, on that site.
    pub uri: String,
    /// The chain, as sign-in messages name it.
    pub chain: String,
}

impl Asker {
    /// Whether it is this one that a challenge names.
    pub fn asks_in(&self, challenge: &WalletChallenge) -> bool {
        let message = SignInMessage::parse(&challenge.text, challenge.wallet_type);
        message.is_ok_and(|message| {
            message.domain == self.domain && message.chain_id.as_ref() == Some(&self.chain)
        })
    }

    /// What people read before they sign. EIP-4361 has ASCII here, and not all of it: a name that does not fit is left out.
    fn statement(&self) -> String {
        let fits = |c: char| c.is_ascii_alphanumeric() || " -._~:/?#[]@!$&'()*+,;=".contains(c);
        let to = match !self.name.is_empty() && self.name.chars().all(fits) {
            true => format!(" to {}", self.name),
            false => String::new(),
        };
        format!("Sign in{to}. This signature costs nothing and moves nothing.")
    }
}

/// The text of a challenge: a sign-in message (EIP-4361, or its Solana form), so that a wallet can tell its owner when another
/// site shows it. No two are the same.
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

/// The chains whose wallets sign people in.
///
/// # Errors
/// Names `wallet_type`.
pub fn check_type(wallet_type: WalletType) -> Result<(), Invalid> {
    match wallet_type {
        WalletType::Ethereum | WalletType::Solana => Ok(()),
        WalletType::Bitcoin | WalletType::Polkadot | WalletType::Stellar => Err(Invalid::value(
            "wallet_type",
            "wallets that sign people in are ethereum or solana",
        )),
    }
}

#[cfg(test)]
mod tests;
