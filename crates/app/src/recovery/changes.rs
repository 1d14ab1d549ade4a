//! Repeating changes of the journal that the database lacks (PR-85).

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use serde_json::Value;
use vestry_domain::extent::Extent;
use vestry_domain::ids::{TotpId, UserId};
use vestry_domain::journal::{Change, EXPORT, SignedChange};
use vestry_domain::{Timestamp, World};

use crate::identity::users::DeleteWalletError;
use crate::kernel::fault::retried;
use crate::kernel::state::chain_macs::held;
use crate::kernel::state::change_journal::change_matches;
use crate::operators::OperatorChange;
use crate::wallets::SwitchWalletError;
use crate::{Caller, Fault, Principal, Refusal, Service};

const USER_DELETED: &str = "user.deleted";
/// The reason recorded for a user who is disabled again.
const AGAIN: &str = "repeated after a restore";

/// The changes to repeat: the last one of each object.
#[derive(Default)]
pub(super) struct LastChanges {
    last: BTreeMap<(World, String), Change>,
    /// Number of changes that this deployment did not write.
    pub(super) foreign: u64,
}

/// Why a change was not repeated; `None` if there was nothing to do.
struct NotRepeated(Option<String>);

impl From<Fault> for NotRepeated {
    fn from(fault: Fault) -> Self {
        Self(Some(fault.to_string()))
    }
}

/// A missing object needs no change.
impl From<Refusal> for NotRepeated {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound(_) => Self(None),
            other => Self(Some(other.to_string())),
        }
    }
}

impl From<DeleteWalletError> for NotRepeated {
    fn from(error: DeleteWalletError) -> Self {
        match error {
            DeleteWalletError::Common(refusal) => refusal.into(),
            DeleteWalletError::Managed => Self(Some(error.to_string())),
        }
    }
}

impl From<SwitchWalletError> for NotRepeated {
    fn from(error: SwitchWalletError) -> Self {
        match error {
            SwitchWalletError::Common(refusal) => refusal.into(),
            SwitchWalletError::ReadOnly => Self(Some(error.to_string())),
        }
    }
}

impl LastChanges {
    /// Takes a change that happened at `from` or later, or a deletion, if this deployment wrote it.
    pub(super) async fn take(
        &mut self,
        service: &Service,
        signed: &SignedChange,
        from: Timestamp,
    ) -> Result<(), Fault> {
        let is_own = change_matches(&*service.ports.sealer, &signed.body, &signed.mac);
        if !held(is_own.await).map_err(Fault::from)? {
            self.foreign = self.foreign.saturating_add(1);
            return Ok(());
        }
        // A deletion also counts for wallets that were created before.
        let is_due = |change: &Change| change.at >= from || change.what == USER_DELETED;
        let Some(change) = Change::parse(&signed.body).filter(is_due) else {
            return Ok(());
        };
        let key = (change.world, object(&change));
        let known = self.last.get(&key);
        if known.is_none_or(|known| known.at <= change.at) {
            self.last.insert(key, change);
        }
        Ok(())
    }

    /// The users that were deleted.
    pub(super) fn deleted_users(&self) -> BTreeSet<(World, UserId)> {
        let deleted = self.last.values();
        let deleted = deleted.filter(|change| change.what == USER_DELETED);
        let users = deleted.filter_map(|change| {
            let data: Value = serde_json::from_str(&change.data).ok()?;
            Some((change.world, id(&data, "user_id").ok()?))
        });
        users.collect()
    }
}

/// The object that a change is about, with the kind of change, unless they undo each other.
fn object(change: &Change) -> String {
    let what = match change.what.as_str() {
        "user.disabled" | "user.enabled" | "user.deleted" => "user",
        "operator.disabled" | "operator.enabled" | "operator.removed" => "operator",
        "wallet.disabled" | "wallet.enabled" | "wallet.deleted" => "wallet",
        "webhook_endpoint.disabled" | "webhook_endpoint.enabled" | "webhook_endpoint.deleted" => {
            "webhook_endpoint"
        }
        "password.set" | "password.changed" | "password.reset" => "password",
        other => other,
    };
    let data: Option<Value> = serde_json::from_str(&change.data).ok();
    let ids = data.iter().flat_map(Value::as_object).flatten();
    let mut ids: Vec<_> = ids
        .filter(|(name, _)| name.ends_with("_id") || *name == "provider")
        .map(|(_, id)| id.to_string())
        .collect();
    ids.sort_unstable();
    format!("{what} {}", ids.join(" "))
}

/// Reads an id in the data of a change. One that is missing or unreadable names no object.
fn id<T: FromStr>(data: &Value, name: &str) -> Result<T, NotRepeated> {
    let text = data.get(name).and_then(Value::as_str);
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| NotRepeated(Some(format!("{name} of the entry cannot be read"))))
}

impl Service {
    /// Repeats the last change of each object that the database lacks, oldest first. Returns how many were repeated, and the reasons of those that were refused.
    pub(super) async fn repeat_changes(
        &self,
        by: &Principal,
        changes: LastChanges,
    ) -> (u64, Vec<String>) {
        let mut changes: Vec<_> = changes.last.into_values().collect();
        changes.sort_by_key(|change| change.at);
        let (mut repeated, mut refused) = (0_u64, Vec::new());
        for change in changes {
            match self.repeat_change(by, &change).await {
                Ok(()) => repeated = repeated.saturating_add(1),
                Err(NotRepeated(None)) => {}
                Err(NotRepeated(Some(why))) => {
                    refused.push(format!("{} {}: {why}", change.what, change.data));
                }
            }
        }
        (repeated, refused)
    }

    async fn repeat_change(&self, by: &Principal, change: &Change) -> Result<(), NotRepeated> {
        let mut read = self.ports.store.read().await.map_err(Fault::from)?;
        let known = read.events().find(&change.world, change.event).await;
        drop(read);
        if known.map_err(Fault::from)?.is_some() {
            // The database has it already.
            return Err(NotRepeated(None));
        }
        let data: Value = serde_json::from_str(&change.data).unwrap_or_default();
        let of = Extent::from(change.world);
        match change.what.as_str() {
            "api_key.revoked" => {
                self.revoke_api_key(by, of, id(&data, "api_key_id")?)
                    .await?
            }
            "signing_key.revoked" => {
                let id = id(&data, "signing_key_id")?;
                self.revoke_signing_key(by, of, id).await?;
            }
            "management_key.revoked" => {
                let id = id(&data, "management_key_id")?;
                self.revoke_management_key(by, id).await?;
            }
            "operator.disabled" | "operator.enabled" | "operator.removed" => {
                let again = match change.what.as_str() {
                    "operator.disabled" => OperatorChange::Disable,
                    "operator.enabled" => OperatorChange::Enable,
                    _ => OperatorChange::Remove,
                };
                self.change_operator(by, id(&data, "user_id")?, again)
                    .await?;
            }
            "redirect_url.removed" => {
                let id = id(&data, "redirect_url_id")?;
                self.remove_redirect_url(by, of, id).await?;
            }
            "provider.removed" => {
                let name = id(&data, "provider")?;
                self.remove_provider(by, change.world, &name).await?;
            }
            "webhook_endpoint.deleted" => {
                let id = id(&data, "webhook_endpoint_id")?;
                self.remove_webhook(by, of, id).await?;
            }
            "webhook_endpoint.disabled" | "webhook_endpoint.secret_rotated" => {
                let id = id(&data, "webhook_endpoint_id")?;
                self.disable_webhook(by, of, id).await?;
            }
            "app.updated" if narrows_export(&data) => {
                let off = [(EXPORT.to_owned(), "false".to_owned())];
                self.set_app(by, change.world.app_id, &off).await?;
            }
            _ => {
                let caller = self.caller(by, change.world).await?;
                self.repeat_for_user(&caller, change, &data).await?;
            }
        }
        Ok(())
    }

    async fn repeat_for_user(
        &self,
        caller: &Caller,
        change: &Change,
        data: &Value,
    ) -> Result<(), NotRepeated> {
        match change.what.as_str() {
            "user.disabled" => {
                self.disable_user(caller, id(data, "user_id")?, AGAIN)
                    .await?;
            }
            "user.enabled" => drop(self.enable_user(caller, id(data, "user_id")?).await?),
            "user.deleted" => self.delete_user(caller, id(data, "user_id")?).await?,
            "email.removed" => drop(self.delete_email(caller, id(data, "email_id")?).await?),
            "phone_number.removed" => {
                self.delete_phone_number(caller, id(data, "phone_number_id")?)
                    .await?;
            }
            "password.set" | "password.changed" | "password.reset" => {
                let user = id(data, "user_id")?;
                retried(|| self.remove_old_password(caller.world, user, change.at)).await?;
            }
            "totp.removed" => drop(self.delete_totp(caller, id(data, "totp_id")?).await?),
            "recovery_code.used" => {
                let (user, totp) = (id(data, "user_id")?, id(data, "totp_id")?);
                retried(|| self.use_recovery_codes(caller.world, user, totp)).await?;
            }
            "passkey.removed" => {
                self.delete_passkey(caller, id(data, "webauthn_credential_id")?)
                    .await?;
            }
            "oauth_link.removed" => {
                self.delete_provider_link(caller, id(data, "idpuser_id")?)
                    .await?;
            }
            "wallet.disabled" => {
                self.disable_wallet(caller, id(data, "wallet_id")?).await?;
            }
            "wallet.enabled" => {
                self.enable_wallet(caller, id(data, "wallet_id")?).await?;
            }
            "wallet.deleted" => {
                self.delete_wallet(caller, id(data, "wallet_id")?).await?;
            }
            // A later version wrote it, or nothing is to be done.
            _ => return Err(NotRepeated(None)),
        }
        Ok(())
    }

    /// Removes a password that was set before the given time.
    async fn remove_old_password(
        &self,
        world: World,
        user: UserId,
        at: Timestamp,
    ) -> Result<(), Fault> {
        let mut tx = self.ports.store.begin().await?;
        if !tx.users().lock(&world, user).await? {
            return Ok(());
        }
        let stored = tx.passwords().find(&world, user).await?;
        if stored.is_some_and(|stored| stored.updated_at <= at) {
            tx.passwords().remove(&world, user).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// Uses up the recovery codes of an authenticator app, because the entry does not say which one was used.
    async fn use_recovery_codes(
        &self,
        world: World,
        user: UserId,
        totp: TotpId,
    ) -> Result<(), Fault> {
        let now = self.now(&world);
        let mut tx = self.ports.store.begin().await?;
        let codes = tx.totps().recovery_codes(&world, user).await?;
        let codes = codes
            .into_iter()
            .filter(|(of, code)| *of == totp && !code.used);
        for (_, code) in codes {
            tx.totps()
                .use_recovery_code(&world, totp, code.number, now)
                .await?;
        }
        Ok(tx.commit().await?)
    }
}

/// Whether an update of an App changed the setting for the export of keys. It is switched off then, whatever it was: the entry does not say.
fn narrows_export(data: &Value) -> bool {
    let changed = data.get("changed").and_then(Value::as_array);
    changed.is_some_and(|changed| changed.iter().any(|name| name == EXPORT))
}
