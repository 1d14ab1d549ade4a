//! `vestry operator events`: reads the event log of the built-in App.

use vestry_domain::action::Action;
use vestry_domain::extent::Extent;

use crate::delivery::events::{EventPage, ListEvents, ListEventsError};
use crate::{Principal, Service};

impl Service {
    /// Lists events about operators and management keys. No key reads them (OPR-2).
    ///
    /// # Errors
    /// [`ListEventsError`].
    pub async fn list_deployment_events(
        &self,
        by: &Principal,
        query: &ListEvents,
    ) -> Result<EventPage, ListEventsError> {
        by.authorize(Action::ReadDeploymentEvents, Extent::Deployment)?;
        let log = self.built_in_caller(Principal::system().clone());
        self.list_events(&log, query).await
    }
}
