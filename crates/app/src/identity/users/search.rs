//! `users/search`: pages of users, newest first.

use std::time::Duration;

use tokio::sync::SemaphorePermit;
use vestry_domain::action::Action;
use vestry_domain::ids::UserId;
use vestry_domain::search::{Condition, UserFilter};
use vestry_domain::wallet::WalletType;

use vestry_ports::store::StoreError;

use super::get::FullUser;
use crate::kernel::page::PageSize;
use crate::kernel::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service};

/// What the caller asks for.
#[derive(Debug, Clone, Default)]
pub struct SearchUsers {
    /// 10 to 100; 50 when absent.
    pub limit: Option<i64>,
    /// The last user of the page before.
    pub starting_after: Option<UserId>,
    /// Which users; all when absent.
    pub filter: Option<UserFilter>,
}

/// A page.
#[derive(Debug, Clone)]
pub struct FoundUsers {
    /// Newest first.
    pub users: Vec<FullUser>,
    /// The total number of users that match the filter.
    pub total_count: i64,
    /// Whether there is a next page.
    pub has_more: bool,
}

/// The reason why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum SearchUsersError {
    /// The search exceeded its time limit.
    #[error("the search took more than {} ms and was given up", .0.as_millis())]
    TooLong(Duration),
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(SearchUsersError);

impl Service {
    /// Searches the users of the world.
    ///
    /// # Errors
    /// [`SearchUsersError`].
    pub async fn search_users(
        &self,
        caller: &Caller,
        query: SearchUsers,
    ) -> Result<FoundUsers, SearchUsersError> {
        caller.authorize(Action::SearchUsers)?;
        let size = PageSize::check(query.limit)?;
        let world = &caller.world;
        let now = self.now(world);
        let filter = query.filter.map(|filter| self.with_known_addresses(filter));
        // Pages of all users are read along an index, and need no room.
        let _room = match &filter {
            Some(_) => Some(self.room_to_search(caller).await?),
            None => None,
        };
        let mut read = self.ports.store.read().await?;
        let (after, within) = (query.starting_after, self.settings.search_within);
        let found = read
            .users()
            .search(world, filter.as_ref(), after, size.rows(), now, within)
            .await;
        let mut page = found.map_err(|error| match error {
            StoreError::TooLong => SearchUsersError::TooLong(within),
            other => other.into(),
        })?;
        let has_more = size.cut(&mut page.users);
        let wanted: Vec<_> = page.users.into_iter().map(|id| (*world, id)).collect();
        let found = match wanted.as_slice() {
            [] => Vec::new(),
            wanted => read.users().find_all_whole(wanted).await?,
        };
        drop(read);
        let mut users = Vec::with_capacity(found.len());
        // Users deleted in the meantime are skipped.
        for whole in found.into_iter().flatten() {
            users.push(self.shown(whole, now).await?);
        }
        Ok(FoundUsers {
            users,
            total_count: page.total,
            has_more,
        })
    }

    /// A program has to come back later. A person in the console waits for the turn, for as long as one search can take.
    async fn room_to_search(&self, caller: &Caller) -> Result<SemaphorePermit<'_>, Fault> {
        let is_person = caller.principal.as_operator().is_some();
        let patience = match is_person {
            true => self.settings.search_within,
            false => Duration::ZERO,
        };
        let room = tokio::time::timeout(patience, self.searches.acquire()).await;
        room.ok().and_then(Result::ok).ok_or(Fault::Overloaded)
    }

    /// The filter with Ethereum addresses in their stored form.
    ///
    /// Most programs write them in one case; the mixed-case form is the one compared.
    fn with_known_addresses(&self, mut filter: UserFilter) -> UserFilter {
        for condition in &mut filter.conditions {
            if let Condition::WalletPublicAddress(addresses) = condition {
                for address in addresses {
                    let signatures = &self.ports.signatures;
                    let known = signatures.canonical_address(WalletType::Ethereum, address);
                    *address = known.unwrap_or_else(|| std::mem::take(address));
                }
            }
        }
        filter
    }
}
