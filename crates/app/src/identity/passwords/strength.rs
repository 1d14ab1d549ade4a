//! `passwords/strength_check`: estimates how long a password would withstand guessing.

use vestry_domain::action::Action;
use vestry_domain::password::{Normalization, Password};
use vestry_domain::{Secret, overwrite_stack};
use zxcvbn::time_estimates::CrackTimeSeconds;

use crate::{Caller, Fault, Refusal, Service};

/// The verdict of zxcvbn, on the first hundred characters.
#[derive(Debug, Clone, PartialEq)]
pub struct PasswordStrength {
    /// 0 (guessed at once) to 4 (strong).
    pub score: u8,
    /// Seconds to guess it at ten thousand guesses a second, the rate a slow hash allows an attacker who has it.
    pub crack_time: f64,
    /// The same in words, such as `3 hours` or `centuries`.
    pub crack_time_display: String,
}

impl Service {
    /// Estimates a password's strength. Nothing is stored or counted.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::Invalid`] when the password is longer than any that is accepted.
    pub async fn password_strength(
        &self,
        caller: &Caller,
        password: Secret<String>,
    ) -> Result<PasswordStrength, Refusal> {
        caller.authorize(Action::CheckPasswordStrength)?;
        let password = Password::presented("password", password)?;
        // Takes milliseconds of CPU time, which must not block a thread that serves requests.
        let judged = tokio::task::spawn_blocking(move || {
            let strength = judge(&password);
            drop(password);
            // The thread may wait for work for long, with pieces of the password below (M-11).
            overwrite_stack();
            strength
        });
        let judged = judged.await;
        Ok(judged.map_err(|_panic| Fault::Internal("judging a password panicked".into()))?)
    }
}

#[inline(never)]
fn judge(password: &Password) -> PasswordStrength {
    let estimate = zxcvbn::zxcvbn(password.in_form(Normalization::Nfc).expose(), &[]);
    let time = estimate.crack_times().offline_slow_hashing_1e4_per_second();
    PasswordStrength {
        score: estimate.score().into(),
        crack_time: seconds(time),
        crack_time_display: time.to_string(),
    }
}

/// A JSON number; above 2^53 seconds it loses meaningless digits.
fn seconds(time: CrackTimeSeconds) -> f64 {
    match time {
        CrackTimeSeconds::Float(seconds) => seconds,
        CrackTimeSeconds::Integer(seconds) => std::time::Duration::from_secs(seconds).as_secs_f64(),
    }
}
