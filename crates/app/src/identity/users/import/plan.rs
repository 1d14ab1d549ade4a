//! Decides the outcome of a line, based on proved identifiers and operator-assigned names.
//!
//! A claim proves nothing about its account, so it never makes a line "already there": an attacker may have planted it. What the line
//! vouches for counts like a proof from outside (CL-6). A claim of an account without an owner founds it for the line's user; a claim of
//! an owned account moves to that user (CL-3, CL-4).

use vestry_domain::World;
use vestry_domain::code::MethodId;
use vestry_domain::ids::UserId;
use vestry_domain::user::UserProfile;
use vestry_ports::store::{Repositories, StoreError};

use super::Draft;
use crate::identity::users::delete_identifier::forget_proofs;

/// Something of the line belongs to another user.
pub(super) const TAKEN: &str =
    "an address, a number or the external_key belongs to another user already";
/// The account that the line founds would have more addresses or numbers than a user may have.
pub(super) const FULL: &str =
    "the account would have more than 100 e-mail addresses or phone numbers";
/// The line does not vouch for an identifier that another user claims.
const CLAIMED: &str = "an address or number that is not verified in this line is claimed by a user; if that is the user of this line \
    from an earlier run, give the line an external_key";

/// The outcome of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// Its user is there already.
    Known(UserId),
    /// It cannot be stored; why.
    Refused(&'static str),
    /// It is stored.
    Store(Target),
}

/// Where a line is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Target {
    /// The account that the line founds; a new user if `None`.
    pub(super) home: Option<UserId>,
    /// Claims of other users that the line's user gets, with those users.
    pub(super) moved: Vec<(MethodId, UserId)>,
}

impl Target {
    /// Whether the line becomes a new user, and no other user changes.
    pub(super) fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// The accounts that change, in the common lock order.
    pub(super) fn accounts(&self) -> Vec<UserId> {
        let owners = self.moved.iter().map(|(_, owner)| *owner);
        let mut all: Vec<UserId> = owners.chain(self.home).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// An identifier of the line that a user has already.
struct Held {
    /// Where it is among the line's addresses and numbers.
    place: usize,
    method: MethodId,
    owner: UserId,
    /// Whether it is proved there.
    proved: bool,
    /// Whether the line vouches for it.
    vouched: bool,
}

impl Draft {
    /// Plans the line according to the current state of the store.
    pub(super) async fn plan(&self, read: &mut dyn Repositories) -> Result<Plan, StoreError> {
        let named = self.named(read).await?;
        if let Some(named) = &named
            && (named.is_owned() || !self.vouches())
        {
            return Ok(Plan::Known(named.user.id));
        }
        let held = self.held(read).await?;
        let is_named = self.has_own_id || self.external_key.is_some();
        if !is_named && let Some(owner) = self.proved_owner(read, &held).await? {
            return Ok(Plan::Known(owner));
        }
        let home = match named {
            Some(named) => Some(named.user.id),
            None => self.home(read, &held).await?,
        };
        let mut moved = Vec::new();
        for held in held {
            match held {
                held if Some(held.owner) == home => {}
                held if held.proved => return Ok(Plan::Refused(TAKEN)),
                held if !held.vouched => return Ok(Plan::Refused(CLAIMED)),
                held => moved.push((held.method, held.owner)),
            }
        }
        Ok(Plan::Store(Target { home, moved }))
    }

    /// The user of the line's id, else of its key.
    async fn named(&self, read: &mut dyn Repositories) -> Result<Option<UserProfile>, StoreError> {
        let world = &self.user.world;
        if self.has_own_id {
            return read.users().profile(world, self.user.id).await;
        }
        let Some(key) = &self.external_key else {
            return Ok(None);
        };
        match read.imported_users().find(world, key).await? {
            Some(id) => read.users().profile(world, id).await,
            None => Ok(None),
        }
    }

    /// The line's identifiers that users already have.
    async fn held(&self, read: &mut dyn Repositories) -> Result<Vec<Held>, StoreError> {
        let world = &self.user.world;
        let mut held = Vec::new();
        for (place, email) in self.emails.iter().enumerate() {
            let identity = email.email.identity();
            let found = read
                .identifiers()
                .email_by_identity(world, identity)
                .await?;
            held.extend(found.map(|(row, owner)| Held {
                place,
                method: MethodId::Email(row.id),
                owner: owner.id,
                proved: row.verified,
                vouched: email.verified,
            }));
        }
        for (place, phone) in (self.emails.len()..).zip(&self.phones) {
            let found = read
                .identifiers()
                .phone_by_number(world, &phone.number)
                .await?;
            held.extend(found.map(|(row, owner)| Held {
                place,
                method: MethodId::Phone(row.id),
                owner: owner.id,
                proved: row.verified,
                vouched: phone.verified,
            }));
        }
        Ok(held)
    }

    /// The account that decides for the line through a proved identifier.
    ///
    /// It is the one of the first identifier that the line vouches for, wallets after addresses and numbers. If the line vouches for
    /// nothing, it is that of the first one.
    async fn proved_owner(
        &self,
        read: &mut dyn Repositories,
        held: &[Held],
    ) -> Result<Option<UserId>, StoreError> {
        let emails = self.emails.iter().map(|row| row.verified);
        let mut all = emails.chain(self.phones.iter().map(|row| row.verified));
        let decides = all.position(|verified| verified);
        let Some(stored) = self.wallets.first().filter(|_| decides.is_none()) else {
            let place = decides.unwrap_or_default();
            let mut owners = held.iter().filter(|held| held.place == place);
            return Ok(owners.find(|held| held.proved).map(|held| held.owner));
        };
        let world = &self.user.world;
        let (kind, address) = (stored.wallet.wallet_type, &stored.wallet.public_address);
        let found = read.wallets().by_address(world, kind, address).await?;
        let Some(owner) = found.map(|found| found.wallet.user_id) else {
            return Ok(None);
        };
        let profile = read.users().profile(world, owner).await?;
        let proved = profile.filter(UserProfile::is_owned);
        Ok(proved.map(|profile| profile.user.id))
    }

    /// The account that the line founds: that of its first vouched claim whose account has no owner.
    ///
    /// A line with an id founds only the account with that id.
    async fn home(
        &self,
        read: &mut dyn Repositories,
        held: &[Held],
    ) -> Result<Option<UserId>, StoreError> {
        if self.has_own_id {
            return Ok(None);
        }
        for claim in held.iter().filter(|held| held.vouched && !held.proved) {
            let profile = read.users().profile(&self.user.world, claim.owner).await?;
            if profile.is_some_and(|profile| !profile.is_owned()) {
                return Ok(Some(claim.owner));
            }
        }
        Ok(None)
    }
}

/// Locks the accounts that a plan changes, after the pending proofs of identifiers that move.
///
/// A verify call also locks its code before the user. `false` if one of the accounts is gone.
pub(super) async fn lock(
    tx: &mut dyn Repositories,
    world: &World,
    target: &Target,
) -> Result<bool, StoreError> {
    for (method, _) in &target.moved {
        forget_proofs(tx, world, *method).await?;
    }
    for account in target.accounts() {
        if !tx.users().lock(world, account).await? {
            return Ok(false);
        }
    }
    Ok(true)
}
