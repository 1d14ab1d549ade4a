//! The end of old App keys: each version by itself, once nothing needs it any more.

use vestry_domain::Timestamp;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::envelope::{AppKey, KeyPurpose};
use vestry_domain::timestamp::Seconds;
use vestry_ports::store::{Repositories, Standing};

use super::{Course, Goal, KeptKey, Why};
use crate::fault::retried;
use crate::key_holds::hold_root;
use crate::{Fault, Service};

/// How long there must have been a newer version of `secrets` before one is destroyed. Nobody who writes a small secret holds its key
/// meanwhile, as who writes a wallet does: that would cost every code and every message a lock. Each process learns of a newer version
/// within seconds and ends each request within a minute, so that after this time nothing is on its way under an old one.
const SUPERSEDED_FOR: Seconds = Seconds(3_600);

impl Service {
    /// Destroys those of the older versions of a world's key under which nothing stands.
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
            // Before the transaction: it must not wait for the key provider.
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
                        tx.note(self.done_by_cli(goal.world, action, subject, &Detail::default()));
                        retired += 1;
                    }
                    None => {}
                }
            }
            if retired == 0 {
                return Ok((retired, kept));
            }
            if goal.purpose == KeyPurpose::Secrets {
                // Their hashes would name a key that is gone.
                let secrets = tx.lasting_secrets();
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

    /// Those of the older versions that are still there, as they are wrapped by now.
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

/// Each older version, locked, and why it is kept.
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
    // First the keys, then the look: what is written under one meanwhile has held it, and is seen, or does not get it.
    let older = tx.app_keys().lock_below(world, purpose, version).await?;
    let standing = tx
        .app_keys()
        .standing_below(world, purpose, version)
        .await?;
    let newest = tx.app_keys().find(world, purpose, version).await?;
    let mut next = newest.map(|key| key.created_at);
    let mut fates = Vec::with_capacity(older.len());
    for key in older.into_iter().rev() {
        let under = standing
            .iter()
            .filter(|standing| standing.version == key.version);
        let under: Vec<Standing> = under.cloned().collect();
        let due = next.map_or(now, |since| since + SUPERSEDED_FOR);
        next = Some(key.created_at);
        let why = if !under.is_empty() {
            Some(Why::Standing(under))
        } else if purpose == KeyPurpose::Secrets && now < due {
            Some(Why::TooSoon(due))
        } else {
            None
        };
        fates.push((key, why));
    }
    Ok(fates)
}

/// Removes a version; of one of `secrets`, what the audit log needs of it stays.
async fn destroy(
    tx: &mut dyn Repositories,
    key: &AppKey,
    narrow: &[AppKey],
) -> Result<bool, Fault> {
    if key.purpose == KeyPurpose::Secrets {
        let Some(past) = narrow.iter().find(|past| past.version == key.version) else {
            // Somebody has added a version below the newest one since the look at them.
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
