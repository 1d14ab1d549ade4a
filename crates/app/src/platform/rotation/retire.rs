//! Retiring old App keys, each version once it is no longer needed.

use vestry_domain::Timestamp;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::envelope::{AppKey, KeyPurpose};
use vestry_domain::timestamp::Seconds;
use vestry_ports::store::{KeyUsage, Repositories};

use super::{Course, Goal, KeptKey, Why};
use crate::kernel::fault::retried;
use crate::kernel::key_pins::hold_root;
use crate::{Fault, Service};

/// Time after which a superseded version of `secrets` can be destroyed.
///
/// Wallet writes pin the key version they use. Secret writes do not, because that would cost a lock for every code and every message. Each
/// process notices a newer version within seconds and ends each request within a minute. After this time, no write under an old version is
/// in flight.
const SUPERSEDED_FOR: Seconds = Seconds(3_600);

impl Service {
    /// Destroys the older versions of an environment's key that protect no data.
    pub(super) async fn retire(
        &self,
        goal: &Goal,
        older: &[AppKey],
        course: &mut Course<'_>,
    ) -> Result<(), Fault> {
        if older.is_empty() {
            return Ok(());
        }
        let (retired, kept) = retried(|| async {
            // Derive keys before the transaction, which must not wait for the key provider.
            let mut narrow = Vec::new();
            if goal.purpose == KeyPurpose::Secrets {
                for key in self.still_there(older).await? {
                    let purpose = KeyPurpose::PastAudit;
                    narrow.push(self.ports.custodian.narrow_app_key(&key, purpose).await?);
                }
            }
            let mut tx = self.begin_change([goal.world]).await?;
            let mut retired = 0;
            let mut kept = Vec::new();
            for (key, why) in fates(&mut *tx, goal, self.machine_time()).await? {
                match why {
                    Some(why) => kept.push(KeptKey {
                        world: goal.world,
                        purpose: goal.purpose,
                        version: key.version,
                        why,
                    }),
                    None if destroy(&mut *tx, &key, &narrow).await? => {
                        let (action, subject) =
                            (ControlAction::AppKeyRetire, Subject::app_key(&key));
                        tx.note(self.done(
                            &course.by.at(goal.world),
                            action,
                            subject,
                            &Detail::default(),
                        ));
                        retired += 1;
                    }
                    None => {}
                }
            }
            if retired == 0 {
                return Ok((retired, kept));
            }
            if goal.purpose == KeyPurpose::Secrets {
                // The hashes of used secrets would refer to a destroyed key.
                let secrets = tx.persistent_secrets();
                secrets.forget_used(&goal.world, goal.version).await?;
            }
            tx.commit().await?;
            Ok::<_, Fault>((retired, kept))
        })
        .await?;
        course.rotation.retired += retired;
        course.rotation.kept.extend(kept);
        Ok(())
    }

    /// Returns the older versions that still exist, with their current wrapping.
    async fn still_there(&self, older: &[AppKey]) -> Result<Vec<AppKey>, Fault> {
        let mut read = self.ports.store.read().await?;
        let mut keys = Vec::with_capacity(older.len());
        for AppKey {
            world,
            purpose,
            version,
            ..
        } in older
        {
            keys.extend(read.app_keys().find(world, *purpose, *version).await?);
        }
        Ok(keys)
    }
}

/// Locks each older version and returns why it must be kept, if so.
async fn fates(
    tx: &mut dyn Repositories,
    goal: &Goal,
    now: Timestamp,
) -> Result<Vec<(AppKey, Option<Why>)>, Fault> {
    let Goal {
        world,
        purpose,
        version,
    } = goal;
    let (purpose, version) = (*purpose, *version);
    // Lock the keys before checking for data. A concurrent writer has then either pinned its key, and its data is seen, or fails to pin it.
    let older = tx.app_keys().lock_below(world, purpose, version).await?;
    let standing = tx
        .app_keys()
        .references_below(world, purpose, version)
        .await?;
    let newest = tx.app_keys().find(world, purpose, version).await?;
    let mut next = newest.map(|key| key.created_at);
    let mut fates = Vec::with_capacity(older.len());
    for key in older.into_iter().rev() {
        let under = standing
            .iter()
            .filter(|standing| standing.version == key.version);
        let under: Vec<KeyUsage> = under.cloned().collect();
        let due = next.map_or(now, |since| since + SUPERSEDED_FOR);
        next = Some(key.created_at);
        let why = if !under.is_empty() {
            Some(Why::InUse(under))
        } else if purpose == KeyPurpose::Secrets && now < due {
            Some(Why::TooSoon(due))
        } else {
            None
        };
        fates.push((key, why));
    }
    Ok(fates)
}

/// Removes a version. The derived key that the audit log needs of a `secrets` key is kept.
async fn destroy(
    tx: &mut dyn Repositories,
    key: &AppKey,
    narrow: &[AppKey],
) -> Result<bool, Fault> {
    if key.purpose == KeyPurpose::Secrets {
        let Some(past) = narrow.iter().find(|past| past.version == key.version) else {
            // A version below the newest one was added since the keys were read.
            return Ok(false);
        };
        hold_root(tx, past).await?;
        tx.app_keys().add(past).await?;
    }
    Ok(tx
        .app_keys()
        .remove(&key.world, key.purpose, key.version)
        .await?)
}
