//! `vestry users export`: the users of a world, in the form in which they can be imported.

use std::collections::HashSet;

use vestry_domain::World;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::ids::UserId;
use vestry_domain::user::UserProfile;
use vestry_domain::wallet::Wallet;

use super::portable::{PortableEmail, PortablePhone, PortableUser, PortableWallet};
use crate::Service;
use crate::admin::AdminError;

/// Some users, and where the next ones begin.
pub struct ExportedUsers {
    /// In a fixed order.
    pub users: Vec<PortableUser>,
    /// The last of them; `None` behind the last page.
    pub next: Option<UserId>,
    /// How many of them have passkeys, which no file can carry: they are bound to their site.
    pub with_passkeys: usize,
    /// How many of them have authenticator apps, whose seeds stay here.
    pub with_totps: usize,
}

impl Service {
    /// At most `limit` users after one. With `hashes`, the hashes of their passwords are opened: whoever has them can guess.
    ///
    /// # Errors
    /// [`AdminError`]; [`AdminError::NotFound`] when there is no such App.
    pub async fn export_users(
        &self,
        world: World,
        after: Option<UserId>,
        limit: i64,
        hashes: bool,
    ) -> Result<ExportedUsers, AdminError> {
        self.show_app(world.app_id).await?;
        if after.is_none() {
            let detail = Detail::default().with("password_hashes", hashes);
            let (action, subject) = (ControlAction::UsersExport, Subject::world(&world));
            let event = self.done_by_cli(world, action, subject, &detail);
            self.record_change(event).await?;
        }
        let mut read = self.ports.store.read().await?;
        let ids = read.users().walk(&world, after, limit).await?;
        let mut users = Vec::with_capacity(ids.len());
        for id in &ids {
            // A user that was deleted since is passed over.
            if let Some(profile) = read.users().profile(&world, *id).await? {
                let mut user = portable(profile);
                user.external_key = read.imported_users().key_of(&world, *id).await?;
                let wallets = read.wallets().of_user(&world, *id).await?;
                let password = read.passwords().find(&world, *id).await?;
                users.push((user, wallets, password.filter(|_| hashes)));
            }
        }
        let (mut with_passkeys, mut with_totps) = (HashSet::new(), HashSet::new());
        if !ids.is_empty() {
            let passkeys = read.passkeys().of_users(&world, &ids).await?;
            with_passkeys.extend(passkeys.iter().map(|passkey| passkey.user_id));
            let totps = read.totps().of_users(&world, &ids).await?;
            let verified = totps.iter().filter(|totp| totp.verified);
            with_totps.extend(verified.map(|totp| totp.user_id));
        }
        drop(read);
        let mut opened = Vec::with_capacity(users.len());
        for (mut user, wallets, password) in users {
            let wallets = self.authenticate_wallets(wallets).await?;
            let own = wallets.iter().filter(|wallet| wallet.is_way_to_sign_in());
            user.wallets = own.map(portable_wallet).collect();
            if let Some(password) = password {
                let hash = self
                    .open_password(&world, password.user_id, &password.sealed)
                    .await?;
                user.password_hash = Some(hash.text.expose().clone());
                user.password_normalization = Some(hash.normalization.as_str().to_owned());
            }
            opened.push(user);
        }
        Ok(ExportedUsers {
            users: opened,
            next: ids.last().copied(),
            with_passkeys: with_passkeys.len(),
            with_totps: with_totps.len(),
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
        founded: user.founded,
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
