//! Fields that several requests and responses share.

use std::fmt;
use std::str::FromStr;

use actix_web::HttpResponse;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;
use vestry_domain::api_key::{self, KeyField, KeyFields};
use vestry_domain::ids::AppId;
use vestry_domain::{Invalid, Timestamp};
use vestry_edge::Problem;

/// The removed object.
#[derive(Serialize, ToSchema)]
pub(crate) struct Removed {
    /// Its id or name.
    id: String,
}

impl Removed {
    /// The response to a removal.
    pub(crate) fn of(id: impl fmt::Display) -> HttpResponse {
        HttpResponse::Ok().json(Self { id: id.to_string() })
    }
}

/// A list of Apps, or all of them.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum AppList {
    /// `all`
    Word(String),
    /// 1 to 100 ids.
    Ids(Vec<String>),
}

impl AppList {
    /// The Apps; `None` for all.
    pub(crate) fn parsed(&self) -> Result<Option<Vec<AppId>>, Problem> {
        match self {
            Self::Word(word) if word == "all" => Ok(None),
            Self::Word(_) => {
                Err(Invalid::value("apps", "apps must be all, or a list of ids").into())
            }
            Self::Ids(ids) => {
                let ids = ids
                    .iter()
                    .map(|id| id.parse().map_err(|_malformed| Problem::not_found("app")));
                Ok(Some(ids.collect::<Result<_, _>>()?))
            }
        }
    }
}

/// Reads a field that can be `null`, which differs from an absent one.
pub(crate) fn nullable<'de, D, T>(field: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::<T>::deserialize(field).map(Some)
}

/// The fields of an API key. docs/keys.md describes each.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ApiKeyFields)]
pub(crate) struct KeyRequest {
    /// `secret`, for backends (the default), or `public`, for pages. Only for a new key.
    #[schema(pattern = "^(secret|public)$")]
    pub(crate) kind: Option<String>,
    /// A named set of scopes to start from; not together with `scopes`.
    #[schema(pattern = "^(sign-in|signer|read-only|full)$")]
    preset: Option<String>,
    /// Its name, at most 100 characters.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<String>, max_length = 100)]
    name: Option<Option<String>>,
    /// Its scopes, 1 to 10.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<Vec<String>>)]
    scopes: Option<Option<Vec<String>>>,
    /// When it expires, in Unix seconds, at most five years ahead.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<i64>)]
    expires_at: Option<Option<i64>>,
    /// The networks from which it is accepted, 1 to 50.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<Vec<String>>)]
    ip_allow: Option<Option<Vec<String>>>,
    /// The operations that it may call, 1 to 100 operationIds.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<Vec<String>>)]
    operations: Option<Option<Vec<String>>>,
    /// The users that it is limited to, 1 to 100.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<Vec<String>>)]
    user_ids: Option<Option<Vec<String>>>,
    /// The wallets that it is limited to, 1 to 100.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<Vec<String>>)]
    wallet_ids: Option<Option<Vec<String>>>,
    /// The types of wallets that it may use.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<Vec<String>>)]
    wallet_types: Option<Option<Vec<String>>>,
    /// Whether signing and exporting need a session of the wallet's owner.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<bool>)]
    require_session: Option<Option<bool>>,
}

/// A change of an API key: the fields to remove, then the values to set.
pub(crate) struct KeyChange {
    pub(crate) clear: Vec<KeyField>,
    pub(crate) set: KeyFields,
}

impl KeyRequest {
    /// Parses the fields.
    pub(crate) fn parsed(self) -> Result<KeyChange, Invalid> {
        let mut clear = Vec::new();
        let mut taken = |field: KeyField, is_null: bool| {
            if is_null {
                clear.push(field);
            }
        };
        taken(KeyField::Name, self.name == Some(None));
        taken(KeyField::Scopes, self.scopes == Some(None));
        taken(KeyField::ExpiresAt, self.expires_at == Some(None));
        taken(KeyField::IpAllow, self.ip_allow == Some(None));
        taken(KeyField::Operations, self.operations == Some(None));
        taken(KeyField::UserIds, self.user_ids == Some(None));
        taken(KeyField::WalletIds, self.wallet_ids == Some(None));
        taken(KeyField::WalletTypes, self.wallet_types == Some(None));
        taken(KeyField::RequireSession, self.require_session == Some(None));
        let networks = self.ip_allow.flatten().map(|list| {
            let networks = list.iter().map(|network| api_key::network(network));
            networks.collect::<Result<_, _>>()
        });
        let set = KeyFields {
            preset: self.preset.map(|preset| preset.parse()).transpose()?,
            name: self.name.flatten(),
            scopes: parsed("scopes", self.scopes)?,
            expires_at: self.expires_at.flatten().map(Timestamp::from_unix),
            ip_allow: networks.transpose()?,
            operations: parsed("operations", self.operations)?,
            user_ids: parsed("user_ids", self.user_ids)?,
            wallet_ids: parsed("wallet_ids", self.wallet_ids)?,
            wallet_types: parsed("wallet_types", self.wallet_types)?,
            require_session: self.require_session.flatten(),
        };
        Ok(KeyChange { clear, set })
    }
}

/// Parses the values of a list. An error names the list.
fn parsed<T: FromStr<Err = Invalid>>(
    field: &'static str,
    values: Option<Option<Vec<String>>>,
) -> Result<Option<Vec<T>>, Invalid> {
    let Some(values) = values.flatten() else {
        return Ok(None);
    };
    let values = values.iter().map(|value| {
        value.parse().map_err(|invalid: Invalid| Invalid {
            param: field.into(),
            ..invalid
        })
    });
    values.collect::<Result<_, _>>().map(Some)
}
