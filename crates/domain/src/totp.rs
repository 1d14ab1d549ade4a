//! Authenticator apps: time-based codes (RFC 6238), and recovery codes for when the app is lost.

use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, KeyInit, Mac as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha1::Sha1;

use crate::envelope::{Mac, Sealed};
use crate::ids::{TotpId, UserId};
use crate::limits::Limit;
use crate::random::{self, ByteSource};
use crate::timestamp::Seconds;
use crate::{Secret, Timestamp, World, code};

/// Bytes of a seed: 160 bits (OTP-12; RFC 4226 section 4, R6).
pub const SEED_LENGTH: usize = 20;
/// Decimal digits of a code.
pub const DIGITS: usize = 6;
/// Length of a step in seconds (RFC 6238 section 4.1).
const PERIOD: i64 = 30;
/// Steps before and after the present one that are accepted too: for a clock that is a little off, and for slow typing
/// (RFC 6238 section 5.2).
const WINDOW: i64 = 1;
/// The step before all steps: nothing was accepted yet.
pub const NO_STEP: i64 = -1;
/// Recovery codes of one authenticator app.
pub const RECOVERY_CODES: u32 = 16;
/// Characters of a recovery code, without its hyphen: 51 bits.
const RECOVERY_LENGTH: usize = 10;
/// Shortest and longest `expires_in`, in minutes.
pub const EXPIRES_IN_MINUTES: (i64, i64) = (5, 2_160);
/// `expires_in` when none was sent.
pub const DEFAULT_EXPIRES_IN: Seconds = Seconds(30 * 60);
/// Authenticator apps with an accepted code that one user may have: each one more makes guessing easier.
pub const MOST_PER_USER: i64 = 5;
/// What may come of a day's guesses at one user, in millionths: one code of a million is right in each step of the window, for
/// each app (attack 3: under 1e-4 a day).
const MILLIONTHS_A_DAY: u32 = 100;
/// Longest part of a label inside the QR code, in characters; authenticator apps show less.
const LABEL_MAX: usize = 64;

/// An authenticator app of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totp {
    /// The id.
    pub id: TotpId,
    /// App and environment.
    pub world: World,
    /// Whose it is.
    pub user_id: UserId,
    /// Whether a code of it was accepted once. Until then it proves nothing and can expire.
    pub verified: bool,
    /// The seed, sealed.
    pub seed: Sealed,
    /// From this second on it is dead, unless it was verified before.
    pub expires_at: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Totp {
    /// Whether codes of it count: verified, or still waiting for its first code.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        self.verified || now < self.expires_at
    }
}

/// A recovery code as it is stored: readable again for the user until it is used, and comparable even afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecoveryCode {
    /// Its place among the codes of its authenticator app, from 0.
    pub number: u32,
    /// The code, sealed; nothing is left of it when it was used.
    pub sealed: Sealed,
    /// Keyed hash over [`bound_parts`].
    pub mac: Mac,
    /// Whether it was used. Presented again it is refused, but it is no guess.
    pub used: bool,
}

/// Wrong codes that a user with so many authenticator apps has in a day, whatever succeeds in between: a right code forgets
/// failures in a row, and an attacker could wait for one and go on. A guess meets every app in every step of the window, so
/// more apps leave fewer guesses.
pub fn failures_a_day(apps: usize) -> Limit {
    let steps = u32::try_from(2 * WINDOW + 1).unwrap_or(u32::MAX);
    let chances = steps.saturating_mul(u32::try_from(apps.max(1)).unwrap_or(u32::MAX));
    Limit {
        // One less than what would reach the bound.
        most: ((MILLIONTHS_A_DAY - 1) / chances).max(1),
        window: Seconds(86_400),
    }
}

/// What guards the codes of a user's authenticator apps against guessing: the subject of their failures in a row.
pub fn guarded_codes(user: UserId) -> String {
    format!("totp:{user}")
}

/// What guards the recovery codes. Counted apart: whoever guesses at the one must not bar the way back that the other is
/// (attack 24).
pub fn guarded_recovery(user: UserId) -> String {
    format!("totp-recovery:{user}")
}

/// A new seed.
pub fn draw_seed(source: &mut dyn ByteSource) -> Secret<[u8; SEED_LENGTH]> {
    let mut seed = [0; SEED_LENGTH];
    source.fill(&mut seed);
    Secret::new(seed)
}

/// The seed as authenticator apps take it by hand: base32 (RFC 4648 section 6) without padding.
pub fn seed_text(seed: &[u8]) -> Secret<String> {
    Secret::new(BASE32_NOPAD.encode(seed))
}

/// What the QR code says: the key URI that authenticator apps agree on. `issuer` and `account` are for people; of each the
/// first 64 characters are kept.
pub fn key_uri(issuer: &str, account: &str, seed: &[u8]) -> Secret<String> {
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    let label = |text: &str| {
        // A colon divides issuer and account.
        let text: String = text.chars().filter(|c| *c != ':').take(LABEL_MAX).collect();
        utf8_percent_encode(&text, KEPT).to_string()
    };
    let (issuer, account) = (label(issuer), label(account));
    let secret = seed_text(seed);
    Secret::new(format!(
        "otpauth://totp/{issuer}:{account}?secret={}&issuer={issuer}&algorithm=SHA1&digits={DIGITS}&period={PERIOD}",
        secret.expose()
    ))
}

/// What was typed for a code, without the spaces that apps show between digits; `None` when it cannot be one (M-17).
pub fn typed(text: &str) -> Option<Secret<String>> {
    code::digits_typed(text, &[DIGITS])
}

/// The step whose code was presented, as [`typed`] answers it: the latest one in the window that fits, if any does.
///
/// All steps of the window are computed and compared in constant time, whichever fits.
pub fn matching_step(seed: &[u8], presented: &str, now: Timestamp) -> Option<i64> {
    let present = now.unix().div_euclid(PERIOD);
    let mut found = None;
    for step in present - WINDOW..=present + WINDOW {
        let code = code_at(seed, step);
        let fits = subtle::ConstantTimeEq::ct_eq(code.expose().as_bytes(), presented.as_bytes());
        if bool::from(fits) {
            found = Some(step);
        }
    }
    // Before 1970 there are no steps.
    found.filter(|step| *step > NO_STEP)
}

/// The code of a step, six digits with leading zeros (RFC 4226 section 5.3 over RFC 6238 section 4.2).
pub fn code_at(seed: &[u8], step: i64) -> Secret<String> {
    let number = truncated(seed, step) % 1_000_000;
    Secret::new(format!("{number:06}"))
}

/// Dynamic truncation (RFC 4226 section 5.3): 31 bits of the HMAC of the step.
fn truncated(seed: &[u8], step: i64) -> u32 {
    // HMAC takes keys of any length.
    let Ok(mut hmac) = Hmac::<Sha1>::new_from_slice(seed) else {
        return 0;
    };
    hmac.update(&step.to_be_bytes());
    let hash = hmac.finalize().into_bytes();
    let offset = hash.last().map_or(0, |last| usize::from(last & 0x0f));
    let chosen = hash
        .get(offset..)
        .and_then(|rest| rest.first_chunk::<4>().copied())
        .unwrap_or_default();
    u32::from_be_bytes(chosen) & 0x7fff_ffff
}

/// A new recovery code as it is shown, `xxxxx-xxxxx` of `[0-9a-z]`, each equally likely.
pub fn draw_recovery_code(source: &mut dyn ByteSource) -> Secret<String> {
    let drawn = random::lower_alphanumeric(source, RECOVERY_LENGTH);
    let (front, back) = drawn.expose().split_at(RECOVERY_LENGTH / 2);
    Secret::new(format!("{front}-{back}"))
}

/// A recovery code as it is compared: without hyphens and blanks, in lower case. `None` when it cannot be one.
pub fn canonical_recovery_code(presented: &str) -> Option<Secret<String>> {
    let typed = presented.chars().filter(|c| *c != '-' && *c != ' ');
    let code = Secret::new(typed.collect::<String>().to_ascii_lowercase());
    let is_code = code.expose().len() == RECOVERY_LENGTH
        && code
            .expose()
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric());
    is_code.then_some(code)
}

/// What the keyed hash of a recovery code covers: its user and its canonical form. The user, not the authenticator app, so
/// that one hash of what was presented is compared with the codes of all of them.
pub fn bound_parts<'a>(user_id: &'a str, canonical: &'a str) -> [&'a [u8]; 2] {
    [user_id.as_bytes(), canonical.as_bytes()]
}

/// What the seal of a recovery code is bound to: its authenticator app, and its place among the others.
pub fn recovery_owner(totp_id: &str, number: u32) -> String {
    format!("{totp_id}/{number}")
}

#[cfg(test)]
mod tests;
