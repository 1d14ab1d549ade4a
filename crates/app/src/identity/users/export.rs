//! `vestry users export`: exports the users of a world in the import format.

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::ids::UserId;
use vestry_domain::user::UserProfile;
use vestry_domain::wallet::Wallet;

use super::transfer_format::{PortableEmail, PortablePhone, PortableUser, PortableWallet};
use crate::identity::password_seal;
use crate::wallets::authenticate_wallets;
use crate::{Caller, Refusal, Service};

/// A page of exported users, and where the next one begins.
pub struct ExportedUsers {
    /// In a fixed order.
    pub users: Vec<PortableUser>,
    /// The last of them; `None` after the last page.
    pub next: Option<UserId>,
    /// The number of users with passkeys, which cannot be exported: they are bound to their site.
    pub with_passkeys: usize,
    /// The number of users with authenticator apps, whose seeds are not exported.
    pub with_totps: usize,
}

impl Service {
    /// Returns at most `limit` users after one. With `hashes`, password hashes are included: anyone who has them can guess passwords.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn export_users(
        &self,
        caller: &Caller,
        after: Option<UserId>,
        limit: i64,
        hashes: bool,
    ) -> Result<ExportedUsers, Refusal> {
        caller.authorize(Action::ExportUsers)?;
        let world = caller.world;
        if after.is_none() {
            let detail = Detail::default().with("password_hashes", hashes);
            let (action, subject) = (ControlAction::UsersExport, Subject::world(&world));
            let event = self.done(&caller.into(), action, subject, &detail);
            self.record_change(event).await?;
        }
        let mut read = self.ports.store.read().await?;
        let ids = read.users().walk(&world, after, limit).await?;
        let wanted: Vec<_> = ids.iter().map(|id| (world, *id)).collect();
        let found = match wanted.as_slice() {
            [] => Vec::new(),
            wanted => read.users().find_all_whole(wanted).await?,
        };
        let mut users = Vec::with_capacity(found.len());
        let (mut with_passkeys, mut with_totps) = (0, 0);
        // A user that was deleted since is passed over.
        for whole in found.into_iter().flatten() {
            with_passkeys += usize::from(!whole.passkeys.is_empty());
            with_totps += usize::from(whole.totps.iter().any(|totp| totp.verified));
            let id = whole.profile.user.id;
            let password = match hashes {
                true => read.passwords().find(&world, id).await?,
                false => None,
            };
            let mut user = portable(whole.profile);
            user.external_key = whole.external_key;
            users.push((user, whole.wallets, password));
        }
        drop(read);
        let mut opened = Vec::with_capacity(users.len());
        for (mut user, wallets, password) in users {
            let wallets = authenticate_wallets(&*self.ports.custodian, wallets).await?;
            let own = wallets.iter().filter(|wallet| wallet.is_way_to_sign_in());
            user.wallets = own.map(portable_wallet).collect();
            if let Some(password) = password {
                let (sealer, owner) = (&*self.ports.sealer, password.user_id);
                let hash = password_seal::open(sealer, &world, owner, &password.sealed).await?;
                user.password_hash = Some(hash.text.expose().clone());
                user.password_normalization = Some(hash.normalization.as_str().to_owned());
            }
            opened.push(user);
        }
        Ok(ExportedUsers {
            users: opened,
            next: ids.last().copied(),
            with_passkeys,
            with_totps,
        })
    }
}

fn portable_wallet(wallet: &Wallet) -> PortableWallet {
    PortableWallet {
        wallet_type: wallet.wallet_type.to_string(),
        public_address: wallet.public_address.clone(),
    }
}

fn portable(profile: UserProfile) -> PortableUser {
    let user = profile.user;
    let emails = profile.emails.iter().map(|email| PortableEmail {
        email: email.email.address().to_owned(),
        verified: email.verified,
    });
    let phones = profile.phones.iter().map(|phone| PortablePhone {
        phone_number: phone.number.as_str().to_owned(),
        verified: phone.verified,
    });
    PortableUser {
        id: Some(user.id.to_string()),
        external_key: None,
        emails: emails.collect(),
        phone_numbers: phones.collect(),
        wallets: Vec::new(),
        first_name: user.first_name,
        middle_name: user.middle_name,
        last_name: user.last_name,
        status: Some(user.status.to_string()),
        founded: user.is_owned,
        disabled: user.disabled.is_some(),
        disabled_reason: user
            .disabled
            .map(|disabled| disabled.reason)
            .unwrap_or_default(),
        metadata: user.metadata.as_object().clone(),
        created_at: Some(user.created_at.unix()),
        password_hash: None,
        password_normalization: None,
    }
}
