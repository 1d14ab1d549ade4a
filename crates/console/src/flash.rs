//! The result of a form, shown once on the page to which its redirect leads. A cookie carries it: one of these results, never a text.

use std::fmt;

/// A result with its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flash {
    done: Done,
    count: u32,
}

macro_rules! results {
    ($($(#[$doc:meta])* $name:ident $one:literal $many:literal,)*) => {
        /// A result.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Done {
            $($name,)*
        }

        impl Done {
            const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name in the cookie, the text for one, and that for several.
            const fn texts(self) -> [&'static str; 3] {
                match self {
                    $(Self::$name => [stringify!($name), $one, $many],)*
                }
            }
        }
    };
}

// Name, text for one, and text for several, where `#` is the number.
results! {
    Repeated "This form was sent before. Nothing was done again." "",
    AllSessionsEnded "All sessions ended" "",
    AppCreated "App created" "",
    AuthenticatorRemoved "Authenticator app removed" "",
    ClockChanged "Test clock changed" "",
    ClockReset "Test clock reset" "",
    ClockStale "The clock has changed since the page was loaded. Nothing was done." "",
    DefaultChanged "Default changed" "",
    EmailRemoved "Email address removed" "",
    FactorsReset "Factors reset, and link sent" "",
    InvitationSent "Invitation sent" "",
    InvitationWithdrawn "Invitation withdrawn" "",
    EventsReplayed "1 event is sent again" "# events are sent again",
    KeyRevoked "Key revoked" "",
    KeySaved "Key saved" "",
    LinkRemoved "Identity provider link removed" "",
    OperatorDisabled "Operator disabled" "",
    OperatorEnabled "Operator enabled" "",
    OperatorRemoved "Operator removed" "",
    OperatorSaved "Operator saved" "",
    OperatorUnlocked "Operator unlocked" "",
    MessagesCleared "1 message cleared" "# messages cleared",
    PasskeyAdded "Passkey added" "",
    PasskeyRemoved "Passkey removed" "",
    PasswordSet "Password set" "",
    PhoneRemoved "Phone number removed" "",
    ProviderRemoved "Identity provider removed" "",
    ProviderSaved "Identity provider saved" "",
    RedirectUrlAdded "Redirect URL added" "",
    RedirectUrlRemoved "Redirect URL removed" "",
    TestMailCaptured "Test message captured. It is on the page of messages in a moment." "",
    TestMailSent "Test message accepted by the mail transport, and sent to your own address" "",
    SettingsSaved "1 setting saved" "# settings saved",
    SessionsEnded "1 session ended" "# sessions ended",
    UserDeleted "User deleted" "",
    UserDisabled "User disabled" "",
    UserEnabled "User enabled" "",
    UserSaved "User saved" "",
    UserUnlocked "User unlocked" "",
    WalletDisabled "Wallet disabled" "",
    WalletEnabled "Wallet enabled" "",
    WebhookDisabled "Endpoint disabled" "",
    WebhookEnabled "Endpoint enabled" "",
    WebhookSaved "Endpoint saved" "",
}

impl From<Done> for Flash {
    fn from(done: Done) -> Self {
        Self { done, count: 1 }
    }
}

impl Flash {
    /// Settings that were saved.
    pub(crate) const fn settings_saved(count: u32) -> Self {
        Self {
            done: Done::SettingsSaved,
            count,
        }
    }

    /// Captured messages that were deleted.
    pub(crate) fn messages_cleared(count: u64) -> Self {
        Self {
            done: Done::MessagesCleared,
            count: u32::try_from(count).unwrap_or(u32::MAX),
        }
    }

    /// Events that are sent to a webhook endpoint again.
    pub(crate) const fn replayed(count: u32) -> Self {
        Self {
            done: Done::EventsReplayed,
            count,
        }
    }

    /// The value of the cookie.
    pub(crate) fn cookie(self) -> String {
        let [name, ..] = self.done.texts();
        format!("{name}{}", self.count)
    }

    /// Reads the value of the cookie.
    pub(crate) fn parse(value: &str) -> Option<Self> {
        let name = value.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let count = value.get(name.len()..)?.parse().ok()?;
        let mut all = Done::ALL.iter();
        let done = all.find(|done| done.texts().first() == Some(&name))?;
        Some(Self { done: *done, count })
    }
}

impl fmt::Display for Flash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, one, many] = self.done.texts();
        match self.count {
            1 => f.write_str(one),
            count => f.write_str(&many.replace('#', &count.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_from_their_cookie() {
        for done in Done::ALL {
            let flash = Flash::from(*done);
            assert_eq!(Flash::parse(&flash.cookie()), Some(flash));
        }
        let three = Flash::parse("SessionsEnded3").unwrap();
        assert_eq!(three.to_string(), "3 sessions ended");
        for bad in [
            "",
            "3",
            "Pwned1",
            "SessionsEnded",
            "SessionsEnded-1",
            "SessionsEnded99999999999",
        ] {
            assert_eq!(Flash::parse(bad), None, "{bad}");
        }
    }
}
