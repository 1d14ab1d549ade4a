//! Arguments that many commands share.

use clap::Args;
use vestry_domain::ids::AppId;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, World};

/// The argument that selects an App.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct InApp {
    /// App ID (app_…)
    #[arg(value_parser = customers_app)]
    pub(crate) app: AppId,
}

/// The arguments that select an environment of an App.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct InWorld {
    #[command(flatten)]
    of: InApp,
    /// Environment: test or live
    environment: Environment,
}

impl InWorld {
    pub(crate) const fn world(self) -> World {
        World::new(self.of.app, self.environment)
    }
}

/// Parses an App ID. Rejects the built-in App, which belongs to the service and is not configured by hand.
pub(crate) fn customers_app(text: &str) -> Result<AppId, String> {
    match text.parse::<AppId>() {
        Ok(AppId::BUILT_IN) => {
            Err("this App is built in and belongs to the service itself".to_owned())
        }
        Ok(app) => Ok(app),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses a number with a unit: seconds, minutes, hours or days.
pub(crate) fn duration(text: &str) -> Result<Seconds, String> {
    let malformed = || "must be a number with a unit, such as 90d, 12h, 30m or 45s".to_owned();
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 60 * 60,
        Some('d') => 24 * 60 * 60,
        _ => return Err(malformed()),
    };
    let number: u32 = text
        .get(..text.len() - 1)
        .and_then(|number| number.parse().ok())
        .ok_or_else(malformed)?;
    Ok(Seconds(i64::from(number) * unit))
}
