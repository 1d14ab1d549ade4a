//! The two data worlds of an App, which never mix.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{AppId, Id};
use crate::{Invalid, Timestamp};

/// Test or live; chosen by the key that a request carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Environment {
    /// Development: mail and SMS are captured, reserved identities work.
    Test,
    /// Production.
    Live,
}

impl Environment {
    /// Both, in the order in which they are shown.
    pub const ALL: [Self; 2] = [Self::Test, Self::Live];

    /// `test` or `live`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Live => "live",
        }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Environment {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "test" => Ok(Self::Test),
            "live" => Ok(Self::Live),
            _ => Err(Invalid::value(
                "environment",
                "environment must be test or live",
            )),
        }
    }
}

/// One App in one environment: the wall around every record, and the unit that can have a clock of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct World {
    /// The App.
    pub app_id: AppId,
    /// Its test or its live half.
    pub environment: Environment,
}

impl World {
    /// Where the deployment's own things are: the one world of the built-in App.
    pub const DEPLOYMENT: Self = Self::new(AppId::BUILT_IN, Environment::Live);

    /// The place of what is counted for all Apps of a deployment together. No App has its id: that is of the year 2014 and has
    /// no chance in it.
    pub fn of_all_apps(environment: Environment) -> Self {
        Self::new(AppId::new(Timestamp::default(), [0; 16]), environment)
    }

    /// The place where requests with a public token are counted: everybody can read one in a page, and shall not use up what
    /// the App's own backend may ask for. It is the id behind the App's, which no other App has but by a chance of 2^-128.
    #[must_use]
    pub fn of_public_tokens(self) -> Self {
        let behind = self.app_id.following(1);
        Self::new(behind.unwrap_or(self.app_id), self.environment)
    }

    /// The world of an App and an environment.
    pub const fn new(app_id: AppId, environment: Environment) -> Self {
        Self {
            app_id,
            environment,
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.app_id, self.environment)
    }
}
