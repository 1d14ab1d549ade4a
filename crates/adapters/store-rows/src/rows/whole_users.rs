//! Rows of users with everything that belongs to them.

use diesel::prelude::{Queryable, Selectable};
use vestry_domain::World;
use vestry_ports::store::StoreResult;

use super::Table;
use super::passkeys::PasskeyRow;
use super::providers::ProviderLinkRow;
use super::totps::TotpRow;
use super::users::{UserEmailRow, UserPhoneRow, UserRow};
use super::wallets::WalletRow;
use crate::schema::imported_users;

/// The user's key in the service it was imported from.
#[derive(Queryable, Selectable)]
#[diesel(table_name = imported_users)]
pub struct ExternalKeyRow {
    app_id: String,
    environment: String,
    pub user_id: String,
    pub external_key: String,
}

/// A row that belongs to a user.
pub trait OfUser {
    fn world(&self) -> StoreResult<World>;
}

macro_rules! of_user {
    ($($row:ty, $table:literal;)*) => {
        $(impl OfUser for $row {
            fn world(&self) -> StoreResult<World> {
                Table($table).world(&self.app_id, &self.environment)
            }
        })*
    };
}

of_user! {
    UserEmailRow, "user_emails";
    UserPhoneRow, "user_phones";
    WalletRow, "wallets";
    TotpRow, "totps";
    PasskeyRow, "passkeys";
    ProviderLinkRow, "provider_links";
    ExternalKeyRow, "imported_users";
}

/// The rows of several users; those of each user in display order.
#[derive(Default)]
pub struct WholeUserRows {
    pub users: Vec<UserRow>,
    pub emails: Vec<UserEmailRow>,
    pub phones: Vec<UserPhoneRow>,
    pub wallets: Vec<WalletRow>,
    pub totps: Vec<TotpRow>,
    pub passkeys: Vec<PasskeyRow>,
    pub provider_links: Vec<ProviderLinkRow>,
    pub external_keys: Vec<ExternalKeyRow>,
}

impl WholeUserRows {
    /// Adds the rows of other users.
    pub fn append(&mut self, mut others: Self) {
        self.users.append(&mut others.users);
        self.emails.append(&mut others.emails);
        self.phones.append(&mut others.phones);
        self.wallets.append(&mut others.wallets);
        self.totps.append(&mut others.totps);
        self.passkeys.append(&mut others.passkeys);
        self.provider_links.append(&mut others.provider_links);
        self.external_keys.append(&mut others.external_keys);
    }
}
