//! Rows of challenges that wallet holders sign.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::wallet_sign_in::WalletChallenge;
use vestry_ports::store::{StoreError, StoreResult};

use super::Table;
use crate::schema::wallet_challenges;

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = wallet_challenges, treat_none_as_default_value = false)]
pub struct WalletChallengeRow {
    app_id: String,
    environment: String,
    id: String,
    wallet_type: String,
    public_address: String,
    user_id: String,
    is_new_user: bool,
    nonce: String,
    text: String,
    created_at: i64,
    expires_at: i64,
}

impl From<&WalletChallenge> for WalletChallengeRow {
    fn from(challenge: &WalletChallenge) -> Self {
        Self {
            app_id: challenge.world.app_id.to_string(),
            environment: challenge.world.environment.to_string(),
            id: challenge.id.to_string(),
            wallet_type: challenge.wallet_type.to_string(),
            public_address: challenge.public_address.clone(),
            user_id: challenge.user_id.to_string(),
            is_new_user: challenge.is_new_user,
            nonce: challenge.nonce.clone(),
            text: challenge.text.clone(),
            created_at: challenge.created_at.unix(),
            expires_at: challenge.expires_at.unix(),
        }
    }
}

impl TryFrom<WalletChallengeRow> for WalletChallenge {
    type Error = StoreError;

    fn try_from(row: WalletChallengeRow) -> StoreResult<Self> {
        let table = Table("wallet_challenges");
        Ok(Self {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            wallet_type: table.parse("wallet_type", &row.wallet_type)?,
            public_address: row.public_address,
            user_id: table.parse("user_id", &row.user_id)?,
            is_new_user: row.is_new_user,
            nonce: row.nonce,
            text: row.text,
            created_at: Timestamp::from_unix(row.created_at),
            expires_at: Timestamp::from_unix(row.expires_at),
        })
    }
}
