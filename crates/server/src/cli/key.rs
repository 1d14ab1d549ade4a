//! `vestry key`

use std::io::Write as _;

use clap::{Args, Subcommand};
use ipnet::IpNet;
use serde_json::json;
use vestry_app::Principal;
use vestry_app::platform::NewApiKey;
use vestry_domain::Timestamp;
use vestry_domain::api_key::{
    self, ApiKey, ApiKeyKind, KeyField, KeyFields, KeyUse, Preset, Scope,
};
use vestry_domain::ids::{ApiKeyId, UserId, WalletId};
use vestry_domain::operation::Operation;
use vestry_domain::timestamp::Seconds;
use vestry_domain::wallet::WalletType;
use vestry_edge::views::{ApiKeyView, views};

use super::args::{InApp, InWorld, duration};
use super::installation::Installation;
use crate::failure::Failure;
use crate::output::{Output, date, table};

/// The subcommands of `vestry key`.
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Create a key (shown once)
    #[command(after_help = "\
Presets:
  sign-in     sign users in, read and edit them, create their wallets. Cannot sign with wallets
  signer      sign with wallets of users who are present, by a live session of the owner
  read-only   read users, wallets and events
  full        everything except exporting private keys and reading the audit log (the default)

Scopes:
  users:read users:write auth:write sessions:write wallets:read wallets:write wallets:sign
  wallets:export events:read audit:read

Examples:
  vestry key create app_… live --preset sign-in --name backend
  vestry key create app_… live --preset signer --ip-allow 203.0.113.0/24 --expires-in 90d
  vestry key create app_… live --scope wallets:read,wallets:sign --user user_…,user_…
  vestry key create app_… test --public

A key can do what its scopes allow and each of its restrictions permits. The page docs/keys.md says which key to use where.")]
    Create {
        #[command(flatten)]
        of: InWorld,
        /// Create a public token (pk_…), safe in browsers, instead of a secret key (sk_…)
        #[arg(long)]
        public: bool,
        #[command(flatten)]
        fields: Fields,
    },
    /// Change the name, scopes or restrictions of a key (takes effect within a second)
    ///
    /// Options replace the value of their field; fields without an option stay as they are.
    #[command(after_help = "\
Examples:
  vestry key update app_… key_… --scope users:read,sessions:write
  vestry key update app_… key_… --expires-in 24h --clear ip_allow")]
    Update {
        #[command(flatten)]
        of: InApp,
        /// Key ID (key_…)
        key: ApiKeyId,
        #[command(flatten)]
        fields: Fields,
        /// Remove a field, and with it its restriction: name, scopes, expires_at, ip_allow, operations, user_ids, wallet_ids, wallet_types,
        /// require_session
        #[arg(long, value_name = "FIELD", value_delimiter = ',')]
        clear: Vec<KeyField>,
    },
    /// List an App's keys and what each can do, oldest first
    ///
    /// With --json also when each key last used which operation, to within a minute. The keys themselves are not stored and cannot be
    /// shown.
    List(InApp),
    /// Create a replacement for a key with the same name, scopes and restrictions
    #[command(after_help = "\
Both keys work until the old one is revoked.

Example:
  vestry key rotate app_… key_…           deploy the new key to your backend, then
  vestry key revoke app_… key_…           revoke the old one")]
    Rotate {
        #[command(flatten)]
        of: InApp,
        /// Key ID (key_…)
        key: ApiKeyId,
    },
    /// Revoke a key permanently (takes effect within a second)
    Revoke {
        #[command(flatten)]
        of: InApp,
        /// Key ID (key_…)
        key: ApiKeyId,
    },
}

/// The fields of a key. Lists are separated by commas.
#[derive(Debug, Args)]
pub(crate) struct Fields {
    /// Start from a named set of scopes: sign-in, signer, read-only or full
    #[arg(long, value_name = "PRESET", conflicts_with = "scope")]
    preset: Option<Preset>,
    /// Name of the key, such as the program that uses it (at most 100 characters)
    #[arg(long)]
    name: Option<String>,
    /// Scopes of the key [default: all except wallets:export and audit:read]
    #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
    scope: Vec<Scope>,
    /// Expire at this time (Unix seconds, at most five years ahead)
    #[arg(long, value_name = "UNIX", conflicts_with = "expires_in")]
    expires_at: Option<i64>,
    /// Expire after this time, such as 90d, 12h or 30m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expires_in: Option<Seconds>,
    /// Accept the key only from these networks, such as 203.0.113.0/24 or one address (1 to 50)
    #[arg(long, value_name = "CIDR", value_delimiter = ',', value_parser = api_key::network)]
    ip_allow: Vec<IpNet>,
    /// Allow only these operations, by their operationId in openapi.json, such as signMessage (1 to 100)
    #[arg(long, value_name = "OPERATION", value_delimiter = ',')]
    operation: Vec<Operation>,
    /// Limit the key to these users and whatever belongs to them (1 to 100)
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    user: Vec<UserId>,
    /// Limit the key to these wallets (1 to 100); calls that name no wallet are refused
    #[arg(long, value_name = "WALLET", value_delimiter = ',')]
    wallet: Vec<WalletId>,
    /// Allow only wallets of these types: ethereum, solana, bitcoin, DOT, XLM
    #[arg(long, value_name = "TYPE", value_delimiter = ',')]
    wallet_type: Vec<WalletType>,
    /// Sign and export only for a wallet's owner who is present: the call sends a session of theirs as Vestry-Session
    #[arg(long)]
    require_session: bool,
}

impl Fields {
    fn into_domain(self, now: Timestamp) -> KeyFields {
        fn given<T>(values: Vec<T>) -> Option<Vec<T>> {
            Some(values).filter(|values| !values.is_empty())
        }
        let expires_in = self.expires_in.map(|length| now + length);
        KeyFields {
            preset: self.preset,
            name: self.name,
            scopes: given(self.scope),
            expires_at: self.expires_at.map(Timestamp::from_unix).or(expires_in),
            ip_allow: given(self.ip_allow),
            operations: given(self.operation),
            user_ids: given(self.user),
            wallet_ids: given(self.wallet),
            wallet_types: given(self.wallet_type),
            require_session: self.require_session.then_some(true),
        }
    }

    const fn has_rights(&self) -> bool {
        self.preset.is_some() || !self.scope.is_empty()
    }
}

impl Key {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let service = installation.service().await?;
        let now = service.machine_time();
        match self {
            Self::Create { of, public, fields } => {
                let kind = if public {
                    ApiKeyKind::Public
                } else {
                    ApiKeyKind::Secret
                };
                let is_full = !public && !fields.has_rights();
                let made = service
                    .create_api_key(Principal::cli(), of.world(), kind, fields.into_domain(now))
                    .await?;
                if is_full {
                    warn_of_full_key();
                }
                Ok(new(&made))
            }
            Self::Update {
                of,
                key,
                fields,
                clear,
            } => {
                let set = fields.into_domain(now);
                let key = service
                    .update_api_key(Principal::cli(), of.app.into(), key, &clear, set)
                    .await?;
                if clear.contains(&KeyField::Scopes)
                    && key.kind == ApiKeyKind::Secret
                    && key.scopes.is_empty()
                {
                    warn_of_full_key();
                }
                let text = format!("{} can now: {}", key.id, rights(&key).join("; "));
                Ok(Output::new(json!(ApiKeyView::from(&key)), text))
            }
            Self::List(of) => {
                let keys = service
                    .list_api_keys(Principal::cli(), of.app.into())
                    .await?;
                let uses = service
                    .list_key_uses(Principal::cli(), of.app.into())
                    .await?;
                let documents: Vec<ApiKeyView<'_>> = views(&keys);
                let documents = documents.into_iter().map(|key| key.used(&uses));
                let document = json!({ "keys": documents.collect::<Vec<_>>() });
                Ok(Output::new(document, list(&keys, &uses, now)))
            }
            Self::Rotate { of, key } => Ok(new(&service
                .rotate_api_key(Principal::cli(), of.app.into(), key)
                .await?)),
            Self::Revoke { of, key } => {
                service
                    .revoke_api_key(Principal::cli(), of.app.into(), key)
                    .await?;
                Ok(Output::new(
                    json!({ "id": key, "revoked": true }),
                    format!("Revoked {key}."),
                ))
            }
        }
    }
}

/// A closed stderr is no reason to fail: the key exists, and this is the only time that it is shown.
fn warn_of_full_key() {
    let warning = "warning: this key can do everything except export private keys and read the audit log. \
        Limit it with --preset or --scope; see vestry key create --help.";
    let _unread = writeln!(std::io::stderr().lock(), "{warning}");
}

/// The output of a new key. No other output contains one.
fn new(made: &NewApiKey) -> Output {
    let key = made.key.expose();
    let ApiKey {
        id, world, kind, ..
    } = &made.record;
    Output::new(
        json!(ApiKeyView::from(made)),
        format!(
            "{key}\n\nThis is the {} {kind} key {id} of {}. It is shown only once.\nIt can: {}",
            world.environment,
            world.app_id,
            rights(&made.record).join("; "),
        ),
    )
}

fn list(keys: &[ApiKey], uses: &[KeyUse], now: Timestamp) -> String {
    table(
        ["ID", "KEY", "NAME", "CREATED", "LAST USED", "STATE", "CAN"],
        keys.iter().map(|key| row(key, uses, now)),
        "No keys. Create one: vestry key create APP test --preset sign-in",
    )
}

fn row(key: &ApiKey, uses: &[KeyUse], now: Timestamp) -> [String; 7] {
    let own = uses.iter().filter(|used| used.key == key.id);
    let last = own.map(|used| used.at).max();
    let prefix = key.kind.prefix(key.world.environment);
    let state = match (key.revoked_at, key.restrictions.expires_at) {
        (Some(at), _) => format!("revoked {}", date(at)),
        (None, Some(at)) if at <= now => format!("expired {}", date(at)),
        (None, Some(at)) => format!("active until {}", date(at)),
        (None, None) => "active".to_owned(),
    };
    [
        key.id.to_string(),
        format!("{prefix}…{}", key.last_four),
        key.name.clone(),
        date(key.created_at),
        last.map_or_else(|| "never".to_owned(), date),
        state,
        rights(key).join("; "),
    ]
}

/// What a key can do, in words.
fn rights(key: &ApiKey) -> Vec<String> {
    fn joined<T: ToString>(values: &[T]) -> String {
        let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
        texts.join(" ")
    }
    fn few<T: ToString>(what: &str, values: &[T]) -> String {
        match values {
            [one] => format!("only {what} {}", one.to_string()),
            many => format!("only {} {what}s", many.len()),
        }
    }
    let restrictions = &key.restrictions;
    let scopes = match key.kind {
        ApiKeyKind::Public => "start sign-ins".to_owned(),
        ApiKeyKind::Secret if key.scopes.is_empty() => {
            "everything except wallets:export, audit:read".to_owned()
        }
        ApiKeyKind::Secret => joined(&key.scopes),
    };
    let mut rights = vec![scopes];
    if let Some(operations) = &restrictions.operations {
        rights.push(format!("only {}", joined(operations.values())));
    }
    if let Some(users) = &restrictions.user_ids {
        rights.push(few("user", users.values()));
    }
    if let Some(wallets) = &restrictions.wallet_ids {
        rights.push(few("wallet", wallets.values()));
    }
    if let Some(types) = &restrictions.wallet_types {
        rights.push(format!("only {} wallets", joined(types.values())));
    }
    if restrictions.require_session {
        rights.push("signs only with the owner's session".to_owned());
    }
    if let Some(networks) = &restrictions.ip_allow {
        rights.push(format!("only from {}", joined(networks.values())));
    }
    rights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        for (text, seconds) in [
            ("90d", Some(7_776_000)),
            ("12h", Some(43_200)),
            ("30m", Some(1_800)),
            ("45s", Some(45)),
            ("90", None),
            ("d", None),
            ("-1d", None),
            ("1w", None),
            ("1.5h", None),
            ("", None),
            ("9é", None),
        ] {
            assert_eq!(
                duration(text).ok().map(|length| length.0),
                seconds,
                "{text}"
            );
        }
    }
}
