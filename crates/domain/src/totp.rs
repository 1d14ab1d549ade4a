//! Authenticator apps: time-based codes (RFC 6238), and recovery codes for a lost app.

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

/// Length of a seed in bytes: 160 bits (OTP-12; RFC 4226 section 4, R6).
pub const SEED_LENGTH: usize = 20;
/// Decimal digits of a code.
pub const DIGITS: usize = 6;
/// Length of a step in seconds (RFC 6238 section 4.1).
const PERIOD: i64 = 30;
/// Number of steps accepted before and after the current one, to allow for clock drift and slow typing (RFC 6238 section 5.2).
const WINDOW: i64 = 1;
/// Placeholder for the last accepted step when no code has been accepted yet.
pub const NO_STEP: i64 = -1;
/// Number of recovery codes per authenticator app.
pub const RECOVERY_CODES: u32 = 16;
/// Characters of a recovery code, without its hyphen: 51 bits.
const RECOVERY_LENGTH: usize = 10;
/// Minimum and maximum `expires_in`, in minutes.
pub const EXPIRES_IN_MINUTES: (i64, i64) = (5, 2_160);
/// Default for `expires_in`.
pub const DEFAULT_EXPIRES_IN: Seconds = Seconds(30 * 60);
/// Maximum number of verified authenticator apps per user: each additional one makes guessing easier.
pub const MAX_PER_USER: i64 = 5;
/// Upper bound on the chance of a successful guess per user and day, in millionths. For each app, one code in a million is right in each
/// step of the window (attack 3: under 1e-4 a day).
const MILLIONTHS_A_DAY: u32 = 100;
/// Maximum length of each part of the label in the QR code, in characters; authenticator apps show less.
const MAX_LABEL: usize = 64;

/// An authenticator app of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totp {
    /// The id.
    pub id: TotpId,
    /// App and environment.
    pub world: World,
    /// The user that it belongs to.
    pub user_id: UserId,
    /// Whether one of its codes has been accepted. Until then it proves nothing and can expire.
    pub verified: bool,
    /// The encrypted seed.
    pub seed: Sealed,
    /// When it expires if it is not verified; no longer valid from this second on.
    pub expires_at: Timestamp,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Totp {
    /// Whether its codes are accepted: verified, or still waiting for its first code.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        self.verified || now < self.expires_at
    }
}

/// A stored recovery code: readable for the user until it is used, and recognizable afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecoveryCode {
    /// Its index among the codes of its authenticator app, from 0.
    pub number: u32,
    /// The encrypted code; erased when it is used.
    pub sealed: Sealed,
    /// MAC over [`bound_parts`].
    pub mac: Mac,
    /// Whether it was used. It is then rejected, but does not count as a guess.
    pub used: bool,
}

/// The daily limit on wrong codes for a user with this number of authenticator apps, regardless of successes in between.
///
/// A correct code resets consecutive failures, so an attacker could wait for one and continue. A guess is compared with every app in every
/// step of the window, so more apps mean fewer guesses.
pub fn failures_a_day(apps: usize) -> Limit {
    let steps = u32::try_from(2 * WINDOW + 1).unwrap_or(u32::MAX);
    let chances = steps.saturating_mul(u32::try_from(apps.max(1)).unwrap_or(u32::MAX));
    Limit {
        // One less than what would reach the bound.
        most: ((MILLIONTHS_A_DAY - 1) / chances).max(1),
        window: Seconds(86_400),
    }
}

/// The lockout subject of the codes of a user's authenticator apps.
pub fn guarded_codes(user: UserId) -> String {
    format!("totp:{user}")
}

/// The lockout subject of a user's recovery codes. Separate from that of app codes, so that guessing one cannot block the other (attack
/// 24).
pub fn guarded_recovery(user: UserId) -> String {
    format!("totp-recovery:{user}")
}

/// A new seed.
pub fn draw_seed(source: &mut dyn ByteSource) -> Secret<[u8; SEED_LENGTH]> {
    let mut seed = [0; SEED_LENGTH];
    source.fill(&mut seed);
    Secret::new(seed)
}

/// The seed for manual entry: base32 (RFC 4648 section 6) without padding.
pub fn seed_text(seed: &[u8]) -> Secret<String> {
    Secret::new(BASE32_NOPAD.encode(seed))
}

/// The key URI in the QR code, in the format that authenticator apps share. `issuer` and `account` are for display; only the first 64
/// characters of each are kept.
pub fn key_uri(issuer: &str, account: &str, seed: &[u8]) -> Secret<String> {
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    let label = |text: &str| {
        // A colon separates issuer and account.
        let text: String = text.chars().filter(|c| *c != ':').take(MAX_LABEL).collect();
        utf8_percent_encode(&text, KEPT).to_string()
    };
    let (issuer, account) = (label(issuer), label(account));
    let secret = seed_text(seed);
    Secret::new(format!(
        "otpauth://totp/{issuer}:{account}?secret={}&issuer={issuer}&algorithm=SHA1&digits={DIGITS}&period={PERIOD}",
        secret.expose()
    ))
}

/// The digits of an entered code, without spaces between them. `None` if the text cannot be a code (M-17).
pub fn typed(text: &str) -> Option<Secret<String>> {
    code::digits_typed(text, &[DIGITS])
}

/// The step whose code was presented, as returned by [`typed`]: the latest matching one in the window, if any.
///
/// All steps of the window are computed and compared in constant time, whichever one matches.
pub fn matching_step(seed: &[u8], presented: &str, now: Timestamp) -> Option<i64> {
    let present = step_at(now);
    let mut found = None;
    for step in present - WINDOW..=present + WINDOW {
        let code = code_at(seed, step);
        let fits = subtle::ConstantTimeEq::ct_eq(code.expose().as_bytes(), presented.as_bytes());
        if bool::from(fits) {
            found = Some(step);
        }
    }
    // There are no steps before 1970.
    found.filter(|step| *step > NO_STEP)
}

/// The step of a time (RFC 6238 section 4.2).
pub fn step_at(now: Timestamp) -> i64 {
    now.unix().div_euclid(PERIOD)
}

/// The code of a step, six digits with leading zeros (RFC 4226 section 5.3 over RFC 6238 section 4.2).
pub fn code_at(seed: &[u8], step: i64) -> Secret<String> {
    let number = truncated(seed, step) % 1_000_000;
    Secret::new(format!("{number:06}"))
}

/// Dynamic truncation (RFC 4226 section 5.3): 31 bits of the HMAC of the step.
fn truncated(seed: &[u8], step: i64) -> u32 {
    // HMAC accepts keys of any length.
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

/// A new recovery code as shown to the user: `xxxxx-xxxxx` of `[0-9a-z]`, each equally likely.
pub fn draw_recovery_code(source: &mut dyn ByteSource) -> Secret<String> {
    let drawn = random::lower_alphanumeric(source, RECOVERY_LENGTH);
    let (front, back) = drawn.expose().split_at(RECOVERY_LENGTH / 2);
    Secret::new(format!("{front}-{back}"))
}

/// The canonical form of a recovery code, used for comparison: without hyphens and spaces, in lower case. `None` if the text cannot be a
/// recovery code.
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

/// The parts that the MAC of a recovery code covers: its user and its canonical form. It is bound to the user, not the authenticator app.
/// One MAC of the presented code can therefore be compared with the codes of all apps.
pub fn bound_parts<'a>(user_id: &'a str, canonical: &'a str) -> [&'a [u8]; 2] {
    [user_id.as_bytes(), canonical.as_bytes()]
}

/// The owner that an encrypted recovery code is bound to: its authenticator app and its index among the others.
pub fn recovery_owner(totp_id: &str, number: u32) -> String {
    format!("{totp_id}/{number}")
}

#[cfg(test)]
mod tests;
