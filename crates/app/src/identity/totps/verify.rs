//! `totps/verify` and `totps/recovery`: a code counts once, and guessing costs more and more time.
//!
//! The code is compared before the transaction. The outcome is returned only by a transaction that has counted the attempt first. Attempts
//! of one user are serialized on their lockout row, so parallel guesses are counted exactly (OTP-4).

use vestry_domain::action::Action;
use vestry_domain::envelope::SecretKind;
use vestry_domain::event::{Fact, Method};
use vestry_domain::ids::{TotpId, UserId};
use vestry_domain::message::CredentialChange;
use vestry_domain::session::{DeviceFingerprint, Factor, Proof, Session, SignIn};
use vestry_domain::totp::{self, Totp};
use vestry_domain::user::ShownStatus;
use vestry_domain::{Secret, Timestamp, World};
use vestry_ports::store::{Repositories, StoreError};

use super::seed_place;
use crate::identity::lockout::{self, Attempt, Failure, LockoutSubject};
use crate::identity::sessions::issue::{SessionRequest, from_start_session_error};
use crate::identity::sessions::{IssuedSession, SessionFields};
use crate::identity::users::notices::CredentialChangeNotice;
use crate::identity::users::status::status_of;
use crate::kernel::fault::retried;
use crate::kernel::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service};

/// What the end user typed.
#[derive(Debug)]
pub enum PresentedTotp {
    /// Six digits of the authenticator app.
    Code(Secret<String>),
    /// One of the recovery codes.
    RecoveryCode(Secret<String>),
}

impl PresentedTotp {
    /// As it is compared; `None` when it cannot be one.
    fn typed(&self) -> Option<Secret<String>> {
        match self {
            Self::Code(code) => totp::typed(code.expose()),
            Self::RecoveryCode(code) => totp::canonical_recovery_code(code.expose()),
        }
    }
}

/// The parameters of the call.
#[derive(Debug)]
pub struct VerifyTotp {
    /// The user to verify.
    pub user_id: UserId,
    /// The code.
    pub presented: PresentedTotp,
    /// How to handle the session.
    pub session_fields: SessionFields,
    /// The end user's device.
    pub device_fingerprint: DeviceFingerprint,
}

/// A code that was right.
#[derive(Debug)]
pub struct VerifiedTotp {
    /// The authenticator app that the code belonged to.
    pub totp_id: TotpId,
    /// The user.
    pub user_id: UserId,
    /// The session, if one was requested.
    pub issued: Option<IssuedSession>,
}

/// The reason why the code was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum VerifyTotpError {
    /// Wrong, used, of an expired authenticator app, none exists, or the user is disabled: indistinguishable to the caller.
    #[error("the code is invalid")]
    InvalidCode,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(VerifyTotpError);
from_start_session_error!(VerifyTotpError::InvalidCode);

/// An authenticator app that the presented code matches.
#[derive(Clone, Copy)]
struct Match {
    totp_id: TotpId,
    proof: Matched,
}

#[derive(Clone, Copy)]
enum Matched {
    /// The first code, of this step.
    First(i64),
    /// A code of this step.
    Step(i64),
    /// The recovery code of this number.
    RecoveryCode(u32),
}

/// Everything known before the transaction.
struct Tried<'a> {
    command: &'a VerifyTotp,
    session_request: &'a SessionRequest,
    /// The matches of the presented code; empty when it is wrong.
    matches: Vec<Match>,
    /// How many authenticator apps a code was compared with.
    apps: usize,
    /// The notices of a first code.
    change: Option<CredentialChangeNotice>,
    now: Timestamp,
}

impl Service {
    /// Verifies a code of an authenticator app, or a recovery code, and issues or continues a session. The first code makes
    /// the authenticator app count, which is a change of the user's credentials.
    ///
    /// # Errors
    /// [`VerifyTotpError`]; [`Refusal::TooMany`] after too many failures in a row for this user (OTP-5),
    /// [`Refusal::InsufficientFactor`] while the user is pending. A wrong try stays counted.
    pub async fn verify_totp(
        &self,
        caller: &Caller,
        command: VerifyTotp,
    ) -> Result<VerifiedTotp, VerifyTotpError> {
        caller.authorize(Action::VerifyTotp)?;
        let world = &caller.world;
        let session_request = self
            .check_session_fields(caller, &command.session_fields)
            .await?;
        if session_request
            .user()
            .is_some_and(|user| user != command.user_id)
        {
            return Err(Refusal::InvalidSession.into());
        }
        let now = self.now(world);
        let user_id = caller.visible_user(command.user_id);
        let totps = self.living_totps(world, user_id, now).await?;
        let signing_key = self.key_for(world, &session_request).await?;
        // Input that cannot be a code is not a guess and is not counted (M-17).
        let typed = command.presented.typed();
        let typed = typed.ok_or(VerifyTotpError::InvalidCode)?;
        let matches = match &command.presented {
            PresentedTotp::Code(_) => self.matching_codes(&totps, &typed, now).await?,
            PresentedTotp::RecoveryCode(_) => {
                self.matching_recovery_codes(world, command.user_id, &totps, &typed)
                    .await?
            }
        };
        let is_first = |matched: &Match| matches!(matched.proof, Matched::First(_));
        let change = if matches.iter().any(is_first) {
            let change = CredentialChange::TotpAdded;
            Some(self.prepare_notice(caller, command.user_id, change).await?)
        } else {
            None
        };
        let tried = Tried {
            command: &command,
            session_request: &session_request,
            matches,
            apps: totps.len(),
            change,
            now,
        };
        let (totp_id, granted) = retried(|| self.try_totp(caller, &tried)).await?;
        let issued = self.issued(caller, signing_key.as_ref(), granted).await?;
        Ok(VerifiedTotp {
            totp_id,
            user_id: command.user_id,
            issued,
        })
    }

    /// The user's authenticator apps that count, or wait for their first code. There is nothing to guess without any.
    async fn living_totps(
        &self,
        world: &World,
        user_id: UserId,
        now: Timestamp,
    ) -> Result<Vec<Totp>, VerifyTotpError> {
        let mut read = self.ports.store.read().await?;
        let mut totps = read.totps().of_user(world, user_id).await?;
        totps.retain(|totp| totp.is_alive(now));
        if totps.is_empty() {
            let user = read.users().profile(world, user_id).await?;
            return Err(match user {
                Some(_) => VerifyTotpError::InvalidCode,
                None => Refusal::NotFound("user").into(),
            });
        }
        Ok(totps)
    }

    async fn matching_codes(
        &self,
        totps: &[Totp],
        code: &Secret<String>,
        now: Timestamp,
    ) -> Result<Vec<Match>, Fault> {
        let mut matches = Vec::new();
        for totp in totps {
            let totp_id = totp.id.to_string();
            let place = seed_place(&totp.world, &totp_id);
            let seed = self.ports.sealer.open(place, &totp.seed).await?;
            let step = totp::matching_step(seed.expose(), code.expose(), now);
            let proof = step.map(|step| match totp.verified {
                true => Matched::Step(step),
                false => Matched::First(step),
            });
            matches.extend(proof.map(|proof| Match {
                totp_id: totp.id,
                proof,
            }));
        }
        Ok(matches)
    }

    /// Only those of verified ones: the others prove nothing yet. One that was used fits too, and then cannot be taken.
    async fn matching_recovery_codes(
        &self,
        world: &World,
        user_id: UserId,
        totps: &[Totp],
        canonical: &Secret<String>,
    ) -> Result<Vec<Match>, Fault> {
        let mut read = self.ports.store.read().await?;
        let stored = read.totps().recovery_codes(world, user_id).await?;
        drop(read);
        let user_id = user_id.to_string();
        let parts = totp::bound_parts(&user_id, canonical.expose());
        let sealer = &self.ports.sealer;
        let presented = sealer.mac(world, SecretKind::RecoveryCode, &parts).await?;
        let mut matches = Vec::new();
        for (totp_id, stored) in stored {
            let fits = if stored.mac.key_version == presented.key_version {
                stored.mac.matches(&presented)
            } else {
                // The App key was rotated since the codes were made.
                sealer
                    .mac_matches(world, SecretKind::RecoveryCode, &parts, &stored.mac)
                    .await?
            };
            let counts = totps.iter().any(|totp| totp.id == totp_id && totp.verified);
            if fits && counts {
                matches.push(Match {
                    totp_id,
                    proof: Matched::RecoveryCode(stored.number),
                });
            }
        }
        Ok(matches)
    }

    async fn try_totp(
        &self,
        caller: &Caller,
        tried: &Tried<'_>,
    ) -> Result<(TotpId, Option<(Session, Secret<String>)>), VerifyTotpError> {
        let world = &caller.world;
        let now = tried.now;
        let guarded = guarded(tried.command);
        let mut tx = self.ports.store.begin().await?;
        let failures = match guarded.begin_attempt(&mut *tx, world, now).await? {
            Attempt::Counted(failures) => failures,
            Attempt::Waits(retry_after) => {
                return Err(Refusal::TooMany { retry_after }.into());
            }
        };
        let user_id = tried.command.user_id;
        let status = status_of(&mut *tx, world, user_id).await?;
        // The response does not reveal whether the code was right, so nothing was guessed and nothing is counted.
        if status == Some(ShownStatus::Pending) {
            return Err(Refusal::InsufficientFactor.into());
        }
        if tried.matches.is_empty() || status == Some(ShownStatus::Disabled) {
            let failure = if tried.matches.is_empty() {
                Failure::wrong(Method::Totp, user_id)
            } else {
                Failure::user_disabled(Method::Totp, user_id)
            };
            guarded
                .failed(self, &mut *tx, caller, failure, failures, now)
                .await?;
            let subject = guarded.subject();
            self.count_for_the_day(&mut *tx, caller, tried, subject, failure)
                .await?;
            tx.commit().await?;
            return Err(VerifyTotpError::InvalidCode);
        }
        // Lock the user before the authenticator app, in the order of a takeover. The first code also changes what a new password requires
        // (P-13), so concurrent password changes are serialized here.
        if !tx.users().lock(world, user_id).await? {
            return Err(Refusal::NotFound("user").into());
        }
        // A correct code that was used before is not a guess. Nothing is committed, so it causes no lockout. Otherwise anyone who sends one
        // code twice could lock the user out.
        let taken = take_one(&mut *tx, world, &tried.matches, now).await?;
        let taken = taken.ok_or(VerifyTotpError::InvalidCode)?;
        // The attempt itself was counted.
        guarded
            .count_success(&mut *tx, world, user_id, true, now)
            .await?;
        let fact = fact_of(&mut *tx, world, user_id, taken).await?;
        self.emit(&mut *tx, caller, fact).await?;
        let sign_in = SignIn {
            user_id,
            factor: factor(taken, now),
            device_fingerprint: tried.command.device_fingerprint.clone(),
        };
        let granted = self
            .start_or_extend(&mut *tx, caller, tried.session_request, sign_in, now)
            .await?;
        if let (Matched::First(_), Some(change)) = (taken.proof, &tried.change) {
            let kept = granted.as_ref().map(|(session, _)| session.id);
            self.apply_with_notice(&mut *tx, caller, change, kept, now)
                .await?;
        }
        caller.commit_last(tx).await?;
        Ok((taken.totp_id, granted))
    }

    /// Counts a wrong code for the day, which no right one forgets, and bars codes until its end when that was the last
    /// (attack 3). Recovery codes are too long to be guessed.
    async fn count_for_the_day(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        tried: &Tried<'_>,
        subject: &str,
        failure: Failure,
    ) -> Result<(), StoreError> {
        if matches!(tried.command.presented, PresentedTotp::RecoveryCode(_)) {
            return Ok(());
        }
        let limit = totp::failures_a_day(tried.apps);
        let quotas = tx.quotas();
        let verdict = quotas
            .consume(&caller.world, "totp_failures", subject, limit, tried.now)
            .await?;
        if verdict.remaining == 0 {
            lockout::block(self, tx, caller, subject, failure, verdict.reset).await?;
        }
        Ok(())
    }
}

fn guarded(command: &VerifyTotp) -> LockoutSubject {
    let subject = match command.presented {
        PresentedTotp::Code(_) => totp::guarded_codes(command.user_id),
        PresentedTotp::RecoveryCode(_) => totp::guarded_recovery(command.user_id),
    };
    LockoutSubject::new(subject, &command.device_fingerprint)
}

/// The events of a used code: usually none besides the session's.
async fn fact_of(
    tx: &mut dyn Repositories,
    world: &World,
    user: UserId,
    taken: Match,
) -> Result<Option<Fact>, StoreError> {
    let id = taken.totp_id;
    Ok(match taken.proof {
        Matched::First(_) => Some(Fact::totp_added(user, id)),
        Matched::Step(_) => None,
        Matched::RecoveryCode(_) => {
            let codes = tx.totps().recovery_codes(world, user).await?;
            let unused = codes.iter().filter(|(of, code)| *of == id && !code.used);
            let remaining = u64::try_from(unused.count()).unwrap_or(u64::MAX);
            Some(Fact::recovery_code_used(user, id, remaining))
        }
    })
}

/// The first match that can be used up (OTP-3, OTP-12, OTP-13).
async fn take_one(
    tx: &mut dyn Repositories,
    world: &World,
    matches: &[Match],
    now: Timestamp,
) -> Result<Option<Match>, StoreError> {
    for matched in matches {
        let id = matched.totp_id;
        let taken = match matched.proof {
            Matched::First(step) => tx.totps().confirm(world, id, step, now).await?,
            Matched::Step(step) => tx.totps().accept(world, id, step).await?,
            Matched::RecoveryCode(number) => {
                tx.totps().use_recovery_code(world, id, number, now).await?
            }
        };
        if taken {
            return Ok(Some(*matched));
        }
    }
    Ok(None)
}

fn factor(matched: Match, now: Timestamp) -> Factor {
    let totp_id = matched.totp_id;
    Factor {
        proof: match matched.proof {
            Matched::First(_) | Matched::Step(_) => Proof::Totp { totp_id },
            Matched::RecoveryCode(_) => Proof::RecoveryCode { totp_id },
        },
        last_verified_at: now,
    }
}
