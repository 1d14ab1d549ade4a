//! `wallets/registrations/begin` and `…/nonce`: issues a challenge to sign, valid for one sign-in.

use vestry_domain::action::Action;
use vestry_domain::ids::{UserId, WalletRegistrationId};
use vestry_domain::wallet::WalletType;
use vestry_domain::wallet_sign_in::{
    self, Asker, LIFETIME, MAX_LIVE, NEW_PER_HOLDER, SHARED_WHILE_LEFT, WalletChallenge,
};
use vestry_domain::{Timestamp, siwe};
use vestry_ports::entropy::Bytes;

use crate::identity::sign_in_address::sign_in_address;
use crate::kernel::fault::retried;
use crate::kernel::run::About;
use crate::{Caller, Refusal, Service};

/// The parameters of the call.
#[derive(Debug, Clone)]
pub struct BeginWalletSignIn {
    /// The chain.
    pub wallet_type: WalletType,
    /// The address that will sign.
    pub public_address: String,
    /// The user of the wallet; when absent, the user who has it, or a new one.
    pub user_id: Option<UserId>,
}

/// The user who will sign in.
#[derive(Clone, Copy)]
enum Holder {
    /// The user who has the address.
    Owner(UserId),
    /// A user who does not have the address yet.
    Joining(UserId),
    /// A user that the signature makes.
    New,
}

impl Holder {
    /// Whether a challenge is for this holder.
    fn has(self, challenge: &WalletChallenge) -> bool {
        match self {
            Self::Owner(user) | Self::Joining(user) => {
                !challenge.is_new_user && challenge.user_id == user
            }
            Self::New => challenge.is_new_user,
        }
    }

    /// What new challenges of this sort are counted under.
    const fn quota(self) -> &'static str {
        match self {
            Self::Owner(_) => "wallet_challenge_owner",
            Self::Joining(_) => "wallet_challenge_joining",
            Self::New => "wallet_challenge_new",
        }
    }
}

impl Service {
    /// A challenge for the holder of an address. Nothing but the challenge is stored: a user that does not exist yet is made by
    /// the signature, under the id that the challenge names.
    ///
    /// # Errors
    /// [`Refusal::Taken`] when the address is another user's, or its key is here; [`Refusal::TooMany`] when too many challenges
    /// of this address are alive.
    pub async fn begin_wallet_sign_in(
        &self,
        caller: &Caller,
        command: BeginWalletSignIn,
    ) -> Result<WalletChallenge, Refusal> {
        caller.authorize(Action::BeginWalletSignIn)?;
        let challenge = self.challenge(caller, command).await?;
        if challenge.is_new_user {
            caller.is_about(About::Coming(challenge.user_id));
        }
        Ok(challenge)
    }

    async fn challenge(
        &self,
        caller: &Caller,
        command: BeginWalletSignIn,
    ) -> Result<WalletChallenge, Refusal> {
        let wallet_type = command.wallet_type;
        caller.uses_wallet_type(wallet_type)?;
        let address = sign_in_address(
            &*self.ports.signatures,
            wallet_type,
            &command.public_address,
        )?;
        let world = &caller.world;
        let now = self.now(world);
        let holder = self.holder(caller, &command, &address).await?;
        let asker = self.asker(caller, wallet_type);
        if let Some(shared) = self
            .shared(caller, &asker, wallet_type, &address, holder)
            .await?
        {
            return Ok(shared);
        }
        let challenge = self.new_challenge(caller, &asker, wallet_type, address, holder, now);
        match retried(|| self.store_challenge(caller, &challenge, holder)).await {
            Err(Refusal::TooMany { retry_after }) => {
                // Concurrent requests created others, and those are just as good.
                let address = &challenge.public_address;
                let shared = self
                    .shared(caller, &asker, wallet_type, address, holder)
                    .await?;
                shared.ok_or(Refusal::TooMany { retry_after })
            }
            stored => stored.map(|()| challenge),
        }
    }

    /// In whose name a signature is asked for: the first of the sites that the App has listed; this service's, as long as it
    /// has listed none.
    fn asker(&self, caller: &Caller, wallet_type: WalletType) -> Asker {
        let chains = caller.settings().sign_in_chains(wallet_type);
        let (domain, uri) = match caller.settings().siwe_domains.first() {
            Some(domain) => (domain.clone(), siwe::site_url(domain)),
            None => (
                self.settings.issuer_host.clone(),
                self.settings.public_url.trim_end_matches('/').to_owned(),
            ),
        };
        Asker {
            name: caller.app.name.clone(),
            domain,
            uri,
            // The settings have one of each type that signs in.
            chain: chains.into_iter().next().unwrap_or_default(),
        }
    }

    /// The newest living challenge of the holder, if it names this asker and lives long enough to be handed out again.
    async fn shared(
        &self,
        caller: &Caller,
        asker: &Asker,
        wallet_type: WalletType,
        address: &str,
        holder: Holder,
    ) -> Result<Option<WalletChallenge>, Refusal> {
        let world = &caller.world;
        let ends_after = self.now(world) + SHARED_WHILE_LEFT;
        let mut read = self.ports.store.read().await?;
        let living = read
            .wallet_challenges()
            .living(world, wallet_type, address, ends_after, MAX_LIVE.into())
            .await?;
        let fits = |living: &WalletChallenge| holder.has(living) && asker.asks_in(living);
        Ok(living.into_iter().find(fits))
    }

    async fn holder(
        &self,
        caller: &Caller,
        command: &BeginWalletSignIn,
        address: &str,
    ) -> Result<Holder, Refusal> {
        let world = &caller.world;
        let mut read = self.ports.store.read().await?;
        let named = command.user_id.map(|user| caller.visible_user(user));
        if let Some(user) = named {
            let profile = read.users().profile(world, user).await?;
            profile.ok_or(Refusal::NotFound("user"))?;
        }
        let stored = read
            .wallets()
            .by_address(world, command.wallet_type, address)
            .await?;
        drop(read);
        let Some(stored) = stored else {
            if named.is_none() && caller.names_no_owner().is_err() {
                // The call would create a user, whom the key does not list.
                caller.note_restricted();
                return Err(Refusal::NotFound("user"));
            }
            return Ok(named.map_or(Holder::New, Holder::Joining));
        };
        if named.is_none() && !caller.reaches_user(stored.wallet.user_id) {
            return Err(Refusal::NotFound("user"));
        }
        let wallet = self.ports.custodian.authenticate(stored).await?;
        let is_own = wallet.is_read_only && wallet.verified;
        if is_own && named.is_none_or(|user| user == wallet.user_id) {
            return Ok(Holder::Owner(wallet.user_id));
        }
        Err(Refusal::Taken("public_address".into()))
    }

    fn new_challenge(
        &self,
        caller: &Caller,
        asker: &Asker,
        wallet_type: WalletType,
        public_address: String,
        holder: Holder,
        now: Timestamp,
    ) -> WalletChallenge {
        let id: WalletRegistrationId = self.new_id(now);
        let nonce = wallet_sign_in::draw_nonce(&mut Bytes(&*self.ports.entropy));
        let nonce = nonce.expose().clone();
        WalletChallenge {
            id,
            world: caller.world,
            wallet_type,
            user_id: match holder {
                Holder::Owner(user) | Holder::Joining(user) => user,
                Holder::New => self.new_id(now),
            },
            is_new_user: matches!(holder, Holder::New),
            text: wallet_sign_in::challenge_text(asker, wallet_type, &public_address, &nonce, now),
            public_address,
            nonce,
            created_at: now,
            expires_at: now + LIFETIME,
        }
    }

    async fn store_challenge(
        &self,
        caller: &Caller,
        challenge: &WalletChallenge,
        holder: Holder,
    ) -> Result<(), Refusal> {
        let (world, now) = (&challenge.world, challenge.created_at);
        let subject = format!("{}:{}", challenge.wallet_type, challenge.public_address);
        let mut tx = self.ports.store.begin().await?;
        let verdict = tx
            .quotas()
            .consume(world, holder.quota(), &subject, NEW_PER_HOLDER, now)
            .await?;
        if !verdict.admitted {
            return Err(Refusal::TooMany {
                retry_after: verdict.reset - now,
            });
        }
        tx.wallet_challenges().insert(challenge).await?;
        caller.commit_last(tx).await?;
        Ok(())
    }
}
