//! Why a message was not accepted, without any text of the response.

use std::time::Duration;

use vestry_domain::timestamp::Seconds;
use vestry_outbound::{Answer, OutboundError};
use vestry_ports::sms::SmsError;

/// Longest `Retry-After` that is respected; a code expires long before.
const MAX_WAIT: Seconds = Seconds(3_600);

/// Why a message was not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A status that is not a success.
    #[error("the SMS provider returned status {status}{}", error_code(*.code))]
    Status {
        status: u16,
        /// The provider's own error number.
        code: Option<i64>,
        retry_after: Option<Seconds>,
    },
    /// A success status whose body reports an error.
    #[error("the SMS provider returned status {status} with error {code} in the body")]
    Contradiction { status: u16, code: i64 },
    /// No response.
    #[error("the SMS provider did not respond")]
    NoAnswer(#[source] OutboundError),
    /// Not called: it has failed too often recently.
    #[error(
        "the SMS provider is paused after {} consecutive failures",
        crate::breaker::FAILURES
    )]
    LeftAlone { wait: Duration },
}

fn error_code(code: Option<i64>) -> String {
    code.map_or_else(String::new, |code| format!(" (error {code})"))
}

impl Failure {
    /// Returns the failure in a response; `None` if the message was accepted.
    pub(crate) fn of(answer: &Answer) -> Option<Self> {
        let status = answer.status;
        let code = code_in(&answer.body);
        if !(200..300).contains(&status) {
            return Some(Self::Status {
                status,
                code,
                retry_after: answer.retry_after,
            });
        }
        code.map(|code| Self::Contradiction { status, code })
    }

    /// Whether it means that the provider is down, not that a single message was refused.
    pub(crate) const fn is_outage(&self) -> bool {
        match self {
            Self::Status { status, .. } => !matches!(*status, 400..500),
            Self::NoAnswer(_) => true,
            Self::Contradiction { .. } | Self::LeftAlone { .. } => false,
        }
    }

    const fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Status {
                status: 400..500,
                ..
            }
        ) && !matches!(
            self,
            Self::Status {
                status: 408 | 429,
                ..
            }
        )
    }

    fn retry_after(&self) -> Option<Seconds> {
        match self {
            Self::Status { retry_after, .. } => retry_after.map(|wait| wait.min(MAX_WAIT)),
            Self::LeftAlone { wait } => i64::try_from(wait.as_secs() + 1).ok().map(Seconds),
            Self::Contradiction { .. } | Self::NoAnswer(_) => None,
        }
    }
}

impl From<Failure> for SmsError {
    fn from(failure: Failure) -> Self {
        if failure.is_final() {
            return Self::Permanent(Box::new(failure));
        }
        Self::Transient {
            retry_after: failure.retry_after(),
            cause: Box::new(failure),
        }
    }
}

/// Returns the error number in a body: `code` of an error, `error_code` of a message that failed at once.
fn code_in(body: &[u8]) -> Option<i64> {
    #[derive(serde::Deserialize)]
    struct Body {
        code: Option<i64>,
        error_code: Option<i64>,
    }
    let body: Body = serde_json::from_slice(body).ok()?;
    body.code.or(body.error_code).filter(|code| *code != 0)
}
