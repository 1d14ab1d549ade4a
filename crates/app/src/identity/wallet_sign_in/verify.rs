//! `wallets/verify` and `wallets/siwe/verify`: a signature over a challenge signs in once.

use vestry_domain::action::Action;
use vestry_domain::event::{EventKind, Fact, Method, Via};
use vestry_domain::ids::UserId;
use vestry_domain::message::CredentialChange;
use vestry_domain::session::{DeviceFingerprint, Factor, Proof, Session, SignIn};
use vestry_domain::siwe::SignInMessage;
use vestry_domain::user::{ShownStatus, User, UserStatus};
use vestry_domain::wallet::{StoredWallet, Wallet, WalletType};
use vestry_domain::wallet_sign_in::{MAX_LIVE, WalletChallenge};
use vestry_domain::{Secret, Timestamp};
use vestry_ports::custody::AddressOrder;
use vestry_ports::store::{Created, Repositories, StoreError};

use crate::identity::lockout::{Failure, emit_failure};
use crate::identity::sessions::issue::{SessionRequest, StartSessionError};
use crate::identity::sessions::{IssuedSession, SessionFields};
use crate::identity::sign_in_address::sign_in_address;
use crate::identity::users::notices::CredentialChangeNotice;
use crate::identity::users::status::status_of;
use crate::kernel::fault::retried;
use crate::kernel::key_pins::hold_wallet_key;
use crate::{Caller, Fault, Refusal, Service};

/// The text that the wallet signed.
#[derive(Debug, Clone)]
pub enum SignedText {
    /// The text of a challenge as returned.
    Challenge,
    /// A sign-in message around the nonce of a challenge: EIP-4361, or its Solana form.
    SignInMessage(String),
}

/// The parameters of the call.
#[derive(Debug)]
pub struct VerifyWallet {
    /// The chain.
    pub wallet_type: WalletType,
    /// The address that signed.
    pub public_address: String,
    /// The signature, in a form that wallets hand out.
    pub signature: String,
    /// The signed text.
    pub text: SignedText,
    /// How to handle the session.
    pub session_fields: SessionFields,
    /// The end user's device.
    pub device_fingerprint: DeviceFingerprint,
}

/// A signature that was right.
#[derive(Debug)]
pub struct VerifiedWallet {
    /// The wallet whose holder has signed in.
    pub wallet: Wallet,
    /// The session, if one was requested.
    pub issued: Option<IssuedSession>,
}

/// Everything that is known before the transaction.
struct Signed<'a> {
    command: &'a VerifyWallet,
    session_request: &'a SessionRequest,
    challenge: WalletChallenge,
    /// The wallet that the address becomes, if it is new.
    adopted: StoredWallet,
    /// The notices of a new way to sign in for a user who exists.
    change: Option<CredentialChangeNotice>,
}

impl Service {
    /// Verifies a signature over a challenge, stores an address that is new as a read-only wallet, and issues or continues a
    /// session.
    ///
    /// # Errors
    /// [`Refusal::InvalidCredentials`] when no living challenge of this address was signed, or its user is disabled, [`Refusal::Invalid`]
    /// also for a sign-in message that names another site, account or time, [`Refusal::InsufficientFactor`] while the user is pending,
    /// [`Refusal::Taken`] when the address is another user's by now, or its key is here. A signature that was refused costs nothing: it
    /// cannot be guessed, and the challenge stays good.
    pub async fn verify_wallet_sign_in(
        &self,
        caller: &Caller,
        command: VerifyWallet,
    ) -> Result<VerifiedWallet, Refusal> {
        caller.authorize(Action::VerifyWalletSignIn)?;
        let world = &caller.world;
        let session_request = self
            .check_session_fields(caller, &command.session_fields)
            .await?;
        caller.uses_wallet_type(command.wallet_type)?;
        let address = sign_in_address(
            &*self.ports.signatures,
            command.wallet_type,
            &command.public_address,
        )?;
        let now = self.now(world);
        let challenge = self
            .signed_challenge(caller, &command, &address, now)
            .await?;
        if session_request
            .user()
            .is_some_and(|user| user != challenge.user_id)
        {
            return Err(Refusal::InvalidSession);
        }
        let signing_key = self.key_for(world, &session_request).await?;
        let order = AddressOrder {
            wallet_id: self.new_id(now),
            world: *world,
            user_id: challenge.user_id,
            wallet_type: command.wallet_type,
            public_address: address,
            created_at: now,
        };
        let adopted = self.ports.custodian.adopt_address(order).await;
        let change = if challenge.is_new_user {
            None
        } else {
            let added = CredentialChange::WalletAdded;
            Some(
                self.prepare_notice(caller, challenge.user_id, added)
                    .await?,
            )
        };
        let signed = Signed {
            command: &command,
            session_request: &session_request,
            challenge,
            adopted: adopted?,
            change,
        };
        let (wallet, granted) = retried(|| self.try_wallet(caller, &signed, now)).await?;
        let issued = self.issued(caller, signing_key.as_ref(), granted).await?;
        Ok(VerifiedWallet { wallet, issued })
    }

    /// The living challenge of the address that was signed.
    async fn signed_challenge(
        &self,
        caller: &Caller,
        command: &VerifyWallet,
        address: &str,
        now: Timestamp,
    ) -> Result<WalletChallenge, Refusal> {
        let wallet_type = command.wallet_type;
        let mut read = self.ports.store.read().await?;
        let mut living = read
            .wallet_challenges()
            .living(&caller.world, wallet_type, address, now, MAX_LIVE.into())
            .await?;
        drop(read);
        let has_challenges = !living.is_empty();
        living.retain(|challenge| caller.allows_user(challenge.user_id));
        if has_challenges && living.is_empty() {
            caller.note_restricted();
        }
        let meant = living.iter().find(|living| !living.is_new_user);
        let meant = meant.map(|living| living.user_id);
        let is_signed = |text: &str| {
            let signature = &command.signature;
            let signatures = &self.ports.signatures;
            signatures.is_signed(wallet_type, address, text.as_bytes(), signature)
        };
        let found = match &command.text {
            SignedText::Challenge => living.into_iter().find(|living| is_signed(&living.text)),
            SignedText::SignInMessage(text) => {
                let message = SignInMessage::parse(text, wallet_type)?;
                living.retain(|living| living.nonce == message.nonce);
                let challenge = living.pop().ok_or(Refusal::InvalidCredentials)?;
                let domains = sign_in_domains(caller, &message);
                let chains = caller.settings().sign_in_chains(wallet_type);
                message.check(&domains, &chains, address, challenge.created_at, now)?;
                Some(challenge).filter(|_| is_signed(text))
            }
        };
        if let (None, Some(user)) = (&found, meant) {
            self.tell_refused_signature(caller, user, now).await?;
        }
        found.ok_or(Refusal::InvalidCredentials)
    }

    /// Counts the failure of a signature for an existing user, and emits it if the App requested that.
    async fn tell_refused_signature(
        &self,
        caller: &Caller,
        user: UserId,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let failure = Failure::wrong(Method::Wallet, user);
        if !caller.wants(EventKind::SignInFailed) {
            // Nothing is written, so there is no commit that would count it.
            self.tally.add(caller.world, failure.measure(), 1);
            return Ok(());
        }
        let mut tx = self.ports.store.begin().await?;
        emit_failure(self, &mut *tx, caller, failure, now).await?;
        Ok(tx.commit().await?)
    }

    async fn try_wallet(
        &self,
        caller: &Caller,
        signed: &Signed<'_>,
        now: Timestamp,
    ) -> Result<(Wallet, Option<(Session, Secret<String>)>), Refusal> {
        let world = &caller.world;
        let challenge = &signed.challenge;
        let mut tx = self.ports.store.begin().await?;
        lock_holder(&mut *tx, challenge).await?;
        if !tx
            .wallet_challenges()
            .consume(world, challenge.id, now)
            .await?
        {
            return Err(Refusal::InvalidCredentials);
        }
        let address = &challenge.public_address;
        let stored = tx
            .wallets()
            .by_address(world, challenge.wallet_type, address)
            .await?;
        let is_new = stored.is_none();
        let wallet = match stored {
            Some(stored) => self.own_wallet(stored, challenge).await?,
            None => {
                if challenge.is_new_user {
                    caller.may_create_user()?;
                }
                let wallet = adopt(&mut *tx, signed, now).await?;
                self.emit(&mut *tx, caller, adopted(&wallet, challenge))
                    .await?;
                wallet
            }
        };
        // A user that the signature made is active: the wallet is all there is to prove.
        let status = status_of(&mut *tx, world, wallet.user_id).await?;
        if status == Some(ShownStatus::Pending) {
            return Err(Refusal::InsufficientFactor);
        }
        if is_new {
            tx.users().mark_owned(world, wallet.user_id, now).await?;
        }
        let sign_in = SignIn {
            user_id: wallet.user_id,
            factor: factor(&wallet, now),
            device_fingerprint: signed.command.device_fingerprint.clone(),
        };
        let granted = self
            .start_or_extend(&mut *tx, caller, signed.session_request, sign_in, now)
            .await
            .map_err(StartSessionError::into_refusal)?;
        if let (true, Some(change)) = (is_new, &signed.change) {
            let kept = granted.as_ref().map(|(session, _)| session.id);
            self.apply_with_notice(&mut *tx, caller, change, kept, now)
                .await?;
        }
        caller.commit_last(tx).await?;
        Ok((wallet, granted))
    }

    /// The existing wallet of the address, if it signs its user in and the challenge was not for another user.
    async fn own_wallet(
        &self,
        stored: StoredWallet,
        challenge: &WalletChallenge,
    ) -> Result<Wallet, Refusal> {
        let wallet = self.ports.custodian.authenticate(stored).await?;
        let is_own = wallet.is_read_only && wallet.verified;
        let is_meant = challenge.is_new_user || challenge.user_id == wallet.user_id;
        if is_own && is_meant {
            return Ok(wallet);
        }
        Err(Refusal::Taken("public_address".into()))
    }
}

/// Locks the account, as a takeover does, so that no takeover runs during the sign-in. A user created in this transaction needs no lock.
async fn lock_holder(
    tx: &mut dyn Repositories,
    challenge: &WalletChallenge,
) -> Result<(), StoreError> {
    let world = &challenge.world;
    let (wallet_type, address) = (challenge.wallet_type, &challenge.public_address);
    let stored = tx.wallets().by_address(world, wallet_type, address).await?;
    let holder = stored.map_or(challenge.user_id, |stored| stored.wallet.user_id);
    tx.users().lock(world, holder).await.map(drop)
}

/// The sites that may ask for a signature: those of the App's list and, in the test environment, `localhost` on any port, as
/// passkeys have it.
fn sign_in_domains(caller: &Caller, message: &SignInMessage) -> Vec<String> {
    let mut domains = caller.settings().siwe_domains.clone();
    let host = message.domain.split(':').next();
    if caller.is_test() && host == Some("localhost") {
        domains.push(message.domain.clone());
    }
    domains
}

/// Stores an address that is new, and its user when that is new as well.
async fn adopt(
    tx: &mut dyn Repositories,
    signed: &Signed<'_>,
    now: Timestamp,
) -> Result<Wallet, Refusal> {
    let challenge = &signed.challenge;
    if challenge.is_new_user {
        tx.users().insert(&new_user(challenge, now)).await?;
    } else {
        let user = tx.users().profile(&challenge.world, challenge.user_id);
        user.await?.ok_or(Refusal::InvalidCredentials)?;
    }
    let version = signed.adopted.mac.key_version;
    hold_wallet_key(tx, &challenge.world, version).await?;
    match tx.wallets().insert_keyless(&signed.adopted).await? {
        Created::Yes => Ok(signed.adopted.wallet.clone()),
        // Another challenge of the address was signed at this moment; the next try finds its wallet.
        Created::Exists => Err(Fault::LostRace.into()),
    }
}

/// The events for a new address.
fn adopted(wallet: &Wallet, challenge: &WalletChallenge) -> impl Iterator<Item = Fact> + Send {
    let (id, user) = (wallet.id, wallet.user_id);
    let created = challenge
        .is_new_user
        .then(|| Fact::user_created(user, Via::Wallet));
    let linked = Fact::wallet_linked(user, id, wallet.wallet_type);
    created.into_iter().chain([linked])
}

/// Under the id that the challenge named, and so as old as it: the time inside an id is `created_at`.
fn new_user(challenge: &WalletChallenge, now: Timestamp) -> User {
    let id: UserId = challenge.user_id;
    User {
        updated_at: now,
        // The wallet is proved; there is nothing to wait for.
        ..User::new(
            id,
            challenge.world,
            UserStatus::Active,
            challenge.created_at,
        )
    }
}

fn factor(wallet: &Wallet, now: Timestamp) -> Factor {
    Factor {
        proof: Proof::Wallet {
            wallet_id: wallet.id,
            wallet_type: wallet.wallet_type,
            public_address: wallet.public_address.clone(),
        },
        last_verified_at: now,
    }
}
