//! How much of a deployment a call concerns, as far as rights are concerned.

use crate::ids::AppId;
use crate::{Environment, World};

/// The part of a deployment that a call reads or changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The deployment as a whole.
    Deployment,
    /// An App with both of its environments.
    App(AppId),
    /// One environment of an App.
    World(World),
}

impl Extent {
    /// The App, unless it is the deployment as a whole.
    pub const fn app_id(&self) -> Option<AppId> {
        match self {
            Self::Deployment => None,
            Self::App(app) => Some(*app),
            Self::World(world) => Some(world.app_id),
        }
    }

    /// The environments of the App that belong to it: none, one or both.
    pub fn worlds(&self) -> Vec<World> {
        match self {
            Self::Deployment => Vec::new(),
            Self::App(app) => Environment::ALL
                .map(|environment| World::new(*app, environment))
                .to_vec(),
            Self::World(world) => vec![*world],
        }
    }

    /// Whether a world belongs to it.
    pub fn includes(&self, world: &World) -> bool {
        match self {
            Self::Deployment => true,
            Self::App(app) => *app == world.app_id,
            Self::World(it) => it == world,
        }
    }
}

impl From<AppId> for Extent {
    fn from(app: AppId) -> Self {
        Self::App(app)
    }
}

impl From<World> for Extent {
    fn from(world: World) -> Self {
        Self::World(world)
    }
}
