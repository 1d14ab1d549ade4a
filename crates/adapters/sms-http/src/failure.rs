//! Why a message was not taken, without a word of what was said.

use std::time::Duration;

use vestry_domain::timestamp::Seconds;
use vestry_outbound::{Answer, OutboundError};
use vestry_ports::sms::SmsError;

/// Longest wait that a provider may ask for; a code is dead long before.
const LONGEST_WAIT: Seconds = Seconds(3_600);

/// Why a message was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A status that is not a success.
    #[error("the SMS provider answered {status}{}", error_code(*.code))]
    Status {
        status: u16,
        /// The provider's own number for what is wrong.
        code: Option<i64>,
        retry_after: Option<Seconds>,
    },
    /// A success whose body says the contrary.
    #[error("the SMS provider answered {status} and error {code} in the body")]
    Contradiction { status: u16, code: i64 },
    /// No answer.
    #[error("the SMS provider gave no answer")]
    NoAnswer(#[source] OutboundError),
    /// It was not asked: it failed too often lately.
    #[error(
        "the SMS provider is left alone because it failed {} times in a row",
        crate::breaker::FAILURES
    )]
    LeftAlone { wait: Duration },
}

fn error_code(code: Option<i64>) -> String {
    code.map_or_else(String::new, |code| format!(" (error {code})"))
}

impl Failure {
    /// What of an answer is a failure; `None` when the message was taken.
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

    /// Whether it says that the provider is unwell, rather than something about one message.
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
            Self::Status { retry_after, .. } => retry_after.map(|wait| wait.min(LONGEST_WAIT)),
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

/// The number of an error in a body: `code` of an error, `error_code` of a message that failed at once.
fn code_in(body: &[u8]) -> Option<i64> {
    #[derive(serde::Deserialize)]
    struct Body {
        code: Option<i64>,
        error_code: Option<i64>,
    }
    let body: Body = serde_json::from_slice(body).ok()?;
    body.code.or(body.error_code).filter(|code| *code != 0)
}
