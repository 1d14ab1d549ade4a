//! Pages of users, and how many there are.

use std::collections::HashMap;

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::UserId;
use vestry_domain::search::UserFilter;
use vestry_domain::user::{ShownStatus, User, UserEmail, UserPhone, UserProfile, UserStatus};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{StoreResult, UserPage};

use super::{Unit, in_world, read_all};
use vestry_store_rows::rows::users::{UserEmailRow, UserPhoneRow, UserRow};
use vestry_store_rows::schema::{user_counts, user_emails, user_phones, users};
use vestry_store_rows::wanted::{self, Wanted};

/// What it is kept of how many users have it.
const KEPT: [UserStatus; 2] = [UserStatus::Pending, UserStatus::Active];

impl Unit {
    pub(super) async fn search_users(
        &mut self,
        world: &World,
        filter: Option<&UserFilter>,
        after: Option<UserId>,
        limit: i64,
        now: Timestamp,
    ) -> StoreResult<UserPage> {
        let wanted = match filter {
            Some(filter) => Some(self.wanted(world, filter, now).await?),
            None => None,
        };
        let mut page = in_world!(users, world)
            .order(users::id.desc())
            .limit(limit)
            .select(UserRow::as_select())
            .into_boxed();
        if let Some(after) = after {
            page = page.filter(users::id.lt(after.to_string()));
        }
        if let Some(wanted) = &wanted {
            page = page.filter(wanted.clone());
        }
        let found = page.load(self.reading()?).await;
        let users: Vec<User> = read_all(self.done(found)?)?;
        let shown = i64::try_from(users.len()).unwrap_or(i64::MAX);
        let total = match (filter.map(UserFilter::only_statuses), wanted) {
            // The page is all there is.
            _ if after.is_none() && shown < limit => shown,
            (Some(Some(statuses)), _) => self.count_shown(world, statuses).await?,
            (_, Some(wanted)) => self.count_wanted(world, wanted).await?,
            (_, None) => self.counted(world, &KEPT.map(UserStatus::as_str)).await?,
        };
        Ok(UserPage {
            users: self.with_identifiers(world, users).await?,
            total,
        })
    }

    async fn wanted(
        &mut self,
        world: &World,
        filter: &UserFilter,
        now: Timestamp,
    ) -> StoreResult<Wanted> {
        let mut found = Vec::new();
        for lookup in wanted::lookups(world, filter, now) {
            found.push(match lookup {
                Some(lookup) => {
                    let users = lookup.load::<String>(self.reading()?).await;
                    Some(self.done(users)?)
                }
                None => None,
            });
        }
        Ok(Wanted::new(world, filter, now, &found))
    }

    /// How many users are shown with one of these statuses: those that have it by what is kept of it, without those who are disabled,
    /// which have to be counted.
    async fn count_shown(&mut self, world: &World, statuses: &[ShownStatus]) -> StoreResult<i64> {
        let kept: Vec<&str> = KEPT
            .into_iter()
            .filter(|status| statuses.contains(&(*status).into()))
            .map(UserStatus::as_str)
            .collect();
        let mut count = self.counted(world, &kept).await?;
        count -= self.count_disabled(world, &kept).await?;
        if statuses.contains(&ShownStatus::Disabled) {
            let all = KEPT.map(UserStatus::as_str);
            count += self.count_disabled(world, &all).await?;
        }
        Ok(count)
    }

    /// How many users that are disabled had one of these statuses before.
    async fn count_disabled(&mut self, world: &World, names: &[&str]) -> StoreResult<i64> {
        let query = in_world!(users, world)
            .filter(users::disabled_at.is_not_null())
            .filter(users::status.eq_any(names))
            .count();
        let counted = query.get_result(self.reading()?).await;
        self.done(counted)
    }

    /// How many users have one of these statuses, from what is kept of it.
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

    async fn count_wanted(&mut self, world: &World, wanted: Wanted) -> StoreResult<i64> {
        let query = in_world!(users, world).filter(wanted).count();
        let counted = query.get_result(self.reading()?).await;
        self.done(counted)
    }

    async fn with_identifiers(
        &mut self,
        world: &World,
        users: Vec<User>,
    ) -> StoreResult<Vec<UserProfile>> {
        if users.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<String> = users.iter().map(|user| user.id.to_string()).collect();
        let query = in_world!(user_emails, world)
            .filter(user_emails::user_id.eq_any(&ids))
            .order((user_emails::created_at, user_emails::id))
            .select(UserEmailRow::as_select());
        let found = query.load(self.reading()?).await;
        let emails: Vec<UserEmail> = read_all(self.done(found)?)?;
        let query = in_world!(user_phones, world)
            .filter(user_phones::user_id.eq_any(&ids))
            .order((user_phones::created_at, user_phones::id))
            .select(UserPhoneRow::as_select());
        let found = query.load(self.reading()?).await;
        let phones: Vec<UserPhone> = read_all(self.done(found)?)?;
        let mut emails = by_user(emails, |email| email.user_id);
        let mut phones = by_user(phones, |phone| phone.user_id);
        let profile = |user: User| UserProfile {
            emails: emails.remove(&user.id).unwrap_or_default(),
            phones: phones.remove(&user.id).unwrap_or_default(),
            user,
        };
        Ok(users.into_iter().map(profile).collect())
    }
}

fn by_user<T>(rows: Vec<T>, user: impl Fn(&T) -> UserId) -> HashMap<UserId, Vec<T>> {
    let mut groups: HashMap<UserId, Vec<T>> = HashMap::new();
    for row in rows {
        groups.entry(user(&row)).or_default().push(row);
    }
    groups
}
