//! Rows of `activity`.

use diesel::prelude::{Insertable, Queryable, Selectable};
use vestry_domain::activity::{ActivityCount, Measure, Period};
use vestry_domain::{Timestamp, World};

use crate::schema::activity;

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = activity, treat_none_as_default_value = false)]
pub struct ActivityRow {
    app_id: String,
    environment: String,
    period: String,
    starts_at: i64,
    name: String,
    label: String,
    count: i64,
}

impl ActivityRow {
    /// Returns the count of a row that was read of this world and period; `None` if this build does not know the measure.
    pub fn known(self, world: World, period: Period) -> Option<ActivityCount> {
        Some(ActivityCount {
            world,
            period,
            starts_at: Timestamp::from_unix(self.starts_at),
            measure: Measure::find(&self.name, &self.label)?,
            count: u64::try_from(self.count).unwrap_or_default(),
        })
    }
}

impl From<&ActivityCount> for ActivityRow {
    fn from(counted: &ActivityCount) -> Self {
        Self {
            app_id: counted.world.app_id.to_string(),
            environment: counted.world.environment.to_string(),
            period: counted.period.as_str().to_owned(),
            starts_at: counted.starts_at.unix(),
            name: counted.measure.name().to_owned(),
            label: counted.measure.label().to_owned(),
            count: i64::try_from(counted.count).unwrap_or(i64::MAX),
        }
    }
}

/// Adds counts to rows: one row on SQLite, many on Postgres.
#[macro_export]
macro_rules! add_counts {
    ($rows:expr) => {
        $crate::prepared::Prepared(
            diesel::insert_into(activity::table)
                .values($rows)
                .on_conflict(diesel::Table::primary_key(&activity::table))
                .do_update()
                .set(
                    activity::count.eq(activity::count + diesel::upsert::excluded(activity::count)),
                ),
        )
    };
}
