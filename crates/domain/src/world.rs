//! The two environments of an App, whose data never mix.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{AppId, Id, ManagementKeyId};
use crate::{Invalid, Timestamp};

/// Test or live; determined by the key of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Environment {
    /// Development: mail and SMS are captured, and reserved identifiers work.
    Test,
    /// Production.
    Live,
}

impl Environment {
    /// Both, in display order.
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

/// One App in one environment: the isolation boundary of every record, and the unit that can have its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct World {
    /// The App.
    pub app_id: AppId,
    /// The environment.
    pub environment: Environment,
}

impl World {
    /// The world of objects that belong to the deployment: the only one of the built-in App.
    pub const DEPLOYMENT: Self = Self::new(AppId::BUILT_IN, Environment::Live);

    /// The world for counters shared by all Apps of a deployment. Its App id has a timestamp from 2014 and no random part, so no App has
    /// it.
    pub fn of_all_apps(environment: Environment) -> Self {
        Self::new(AppId::new(Timestamp::default(), [0; 16]), environment)
    }

    /// The world for counting requests with public tokens, which anyone can read in a page. They must not use up the quota of the App's own
    /// backend. Its App id directly follows the App's; another App has it only with probability 2^-128.
    #[must_use]
    pub fn of_public_tokens(self) -> Self {
        let behind = self.app_id.following(1);
        Self::new(behind.unwrap_or(self.app_id), self.environment)
    }

    /// The world for counting checks of provider connections. Its App id is the second after the App's; another App has it only with
    /// probability 2^-128.
    #[must_use]
    pub fn of_provider_checks(self) -> Self {
        let behind = self.app_id.following(2);
        Self::new(behind.unwrap_or(self.app_id), self.environment)
    }

    /// The world for counting requests with a management key. Its App id has the key's timestamp and random part; an App has it only with
    /// probability 2^-128.
    pub fn of_management_key(key: ManagementKeyId) -> Self {
        Self::new(AppId::like(key), Environment::Live)
    }

    /// The world of an App in an environment.
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
