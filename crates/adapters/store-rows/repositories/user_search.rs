//! User search: pages of users, and user counts.

use std::time::{Duration, Instant};

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::UserId;
use vestry_domain::search::UserFilter;
use vestry_domain::user::{ShownStatus, UserStatus};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{StoreError, StoreResult, UserPage};

use super::{Unit, dialect, in_world};
use vestry_store_rows::filter_sql::{self, Deadline, FilterSql};
use vestry_store_rows::rows::Table;
use vestry_store_rows::schema::{user_counts, users};

/// The statuses with a maintained user count.
const KEPT: [UserStatus; 2] = [UserStatus::Pending, UserStatus::Active];

/// The requested page.
#[derive(Clone, Copy)]
pub(super) struct PageOf<'a> {
    pub(super) filter: Option<&'a UserFilter>,
    pub(super) after: Option<UserId>,
    pub(super) limit: i64,
    pub(super) now: Timestamp,
}

/// When a search times out, and the limit that was last set on the server.
#[derive(Clone, Copy)]
struct SearchTimeout {
    end: Instant,
    set: Duration,
}

/// The server's limit is updated only for differences above this. A round trip costs as much as a statement that finds its rows.
const SLACK: Duration = Duration::from_millis(50);

/// Returns the deadline for a statement's condition; without one, the condition is empty.
fn deadline_of(deadline: Option<SearchTimeout>) -> Deadline {
    deadline.map_or(Deadline::NONE, |deadline| dialect::deadline(deadline.end))
}

impl Unit {
    /// Finds users. A filter can require a scan of every user, so it has a time limit. Pages of all users are read along an index, and
    /// their count is maintained.
    pub(super) async fn search_users(
        &mut self,
        world: &World,
        page: PageOf<'_>,
        within: Duration,
    ) -> StoreResult<UserPage> {
        if page.filter.is_none() || !self.is_view() {
            return self.page_of_users(world, page, &mut None).await;
        }
        if within.is_zero() {
            return Err(StoreError::TooLong);
        }
        // The statement timeout of Postgres is set for one transaction and ends with it, because a pooler can give the connection to
        // another client afterwards.
        let begin = format!("{}; {}", dialect::BEGIN_READS, dialect::limit(within));
        self.say(&begin).await?;
        let mut deadline = Some(SearchTimeout {
            end: Instant::now() + within,
            set: within,
        });
        let found = self.page_of_users(world, page, &mut deadline).await;
        if self.is_ready() {
            self.say("COMMIT").await?;
        }
        found
    }

    /// Limits the next statement to the remaining time.
    async fn limit(&mut self, deadline: &mut Option<SearchTimeout>) -> StoreResult<()> {
        let Some(deadline) = deadline else {
            return Ok(());
        };
        let left = deadline.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(StoreError::TooLong);
        }
        if deadline.set.saturating_sub(left) < SLACK {
            return Ok(());
        }
        deadline.set = left;
        self.say(dialect::limit(left).as_ref()).await
    }

    async fn page_of_users(
        &mut self,
        world: &World,
        request: PageOf<'_>,
        deadline: &mut Option<SearchTimeout>,
    ) -> StoreResult<UserPage> {
        let PageOf {
            filter,
            after,
            limit,
            now,
        } = request;
        let condition = match filter {
            Some(filter) => Some(self.filter_sql(world, filter, now, deadline).await?),
            None => None,
        };
        let mut page = in_world!(users, world)
            .order(users::id.desc())
            .limit(limit)
            .select(users::id)
            .into_boxed();
        if let Some(after) = after {
            page = page.filter(users::id.lt(after.to_string()));
        }
        if let Some(condition) = &condition {
            page = page.filter(condition.clone());
        }
        let found = page.load::<String>(self.reading()?).await;
        let table = Table("users");
        let found = self.done(found)?;
        let users = found.iter().map(|id| table.parse("id", id));
        let users: Vec<UserId> = users.collect::<StoreResult<_>>()?;
        let shown = i64::try_from(users.len()).unwrap_or(i64::MAX);
        let total = if after.is_none() && shown < limit {
            // The page contains all matches.
            shown
        } else {
            self.limit(deadline).await?;
            match (filter.map(UserFilter::only_statuses), condition) {
                (Some(Some(statuses)), _) => self.count_shown(world, statuses, *deadline).await?,
                (_, Some(condition)) => self.count_matching(world, condition).await?,
                (_, None) => self.counted(world, &KEPT.map(UserStatus::as_str)).await?,
            }
        };
        Ok(UserPage { users, total })
    }

    async fn filter_sql(
        &mut self,
        world: &World,
        filter: &UserFilter,
        now: Timestamp,
        deadline: &mut Option<SearchTimeout>,
    ) -> StoreResult<FilterSql> {
        let until = deadline_of(*deadline);
        let mut found = Vec::new();
        for lookup in filter_sql::lookups(world, filter, now, until) {
            found.push(match lookup {
                Some(lookup) => {
                    self.limit(deadline).await?;
                    let users = lookup.load::<String>(self.reading()?).await;
                    Some(self.done(users)?)
                }
                None => None,
            });
        }
        self.limit(deadline).await?;
        Ok(FilterSql::new(world, filter, now, &found, until))
    }

    /// Returns how many users are shown with one of these statuses. It takes the maintained count and subtracts disabled users, which have
    /// to be counted.
    async fn count_shown(
        &mut self,
        world: &World,
        statuses: &[ShownStatus],
        deadline: Option<SearchTimeout>,
    ) -> StoreResult<i64> {
        let kept: Vec<&str> = KEPT
            .into_iter()
            .filter(|status| statuses.contains(&(*status).into()))
            .map(UserStatus::as_str)
            .collect();
        let mut count = self.counted(world, &kept).await?;
        count -= self.count_disabled(world, &kept, deadline).await?;
        if statuses.contains(&ShownStatus::Disabled) {
            let all = KEPT.map(UserStatus::as_str);
            count += self.count_disabled(world, &all, deadline).await?;
        }
        Ok(count)
    }

    /// Counts the disabled users who had one of these statuses before.
    async fn count_disabled(
        &mut self,
        world: &World,
        names: &[&str],
        deadline: Option<SearchTimeout>,
    ) -> StoreResult<i64> {
        let query = in_world!(users, world)
            .filter(FilterSql::every_user(deadline_of(deadline)))
            .filter(users::disabled_at.is_not_null())
            .filter(users::status.eq_any(names))
            .count();
        let counted = query.get_result(self.reading()?).await;
        self.done(counted)
    }

    /// Returns the maintained count of users with one of these statuses.
    async fn counted(&mut self, world: &World, names: &[&str]) -> StoreResult<i64> {
        let query = in_world!(user_counts, world)
            .filter(user_counts::status.eq_any(names))
            .select(user_counts::users);
        let counts: Vec<i64> = {
            let found = query.load(self.reading()?).await;
            self.done(found)?
        };
        Ok(counts.iter().sum())
    }

    async fn count_matching(&mut self, world: &World, condition: FilterSql) -> StoreResult<i64> {
        let query = in_world!(users, world).filter(condition).count();
        let counted = query.get_result(self.reading()?).await;
        self.done(counted)
    }
}
