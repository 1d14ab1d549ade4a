//! Verification of event logs against their heads and the checkpoints (AUD-3).

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use vestry_domain::audit::control::{ControlAction, ControlFilter};
use vestry_domain::event::{Event, EventHead, EventKind};
use vestry_domain::ids::EventId;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::{EventFilter, PositionRange};

use super::finding::FindingKind;
use crate::{Fault, Service};

/// Events or entries read in one query.
const PAGE: i64 = 1_000;
/// Tolerated clock difference between the machine that deletes events and the one that verifies.
const SLACK: Seconds = Seconds(3_600);
/// Shortest retention that an App can set.
const SHORTEST: Seconds = Seconds(7 * 86_400);
const RETENTION: &str = "event_retention_days";

/// A checkpoint's statement that an event log reached this event.
pub(super) struct StatedEvent {
    pub(super) log: i64,
    pub(super) position: i64,
    pub(super) event: EventId,
    pub(super) checkpoint: i64,
    /// When the checkpoint was made.
    pub(super) at: Timestamp,
}

impl Service {
    /// Compares the events of an environment with the head of its log.
    pub(super) async fn finding_of_events(
        &self,
        world: &World,
    ) -> Result<Option<FindingKind>, Fault> {
        let floor = self.events_kept_from(world).await?;
        loop {
            let mut read = self.ports.store.read().await?;
            let last = PositionRange {
                from: 1,
                to: i64::MAX,
                descending: true,
            };
            // Read before the head, which advances with new events.
            let last = read
                .events()
                .page(world, last, &EventFilter::default(), 1)
                .await?;
            let head = read.events().head(world).await?;
            drop(read);
            let finding = self
                .finding_of_head(world, &head, last.first(), floor)
                .await?;
            let mut read = self.ports.store.read().await?;
            // The retention sweep may have deleted events in between.
            if finding.is_none() || read.events().head(world).await? == head {
                return Ok(finding);
            }
        }
    }

    async fn finding_of_head(
        &self,
        world: &World,
        head: &EventHead,
        last: Option<&Event>,
        floor: Timestamp,
    ) -> Result<Option<FindingKind>, Fault> {
        if last.is_some_and(|last| last.position > head.position()) {
            return Ok(Some(FindingKind::OtherEnds));
        }
        let Some(newest) = head.newest else {
            return Ok(None);
        };
        let Some(oldest) = head.oldest else {
            // Either all events were old enough to be deleted, or the head hides events that exist.
            let is_right = last.is_none() && newest.id.timestamp() < floor;
            return Ok((!is_right).then_some(FindingKind::OtherEnds));
        };
        let stretch = PositionRange {
            from: oldest.position,
            to: newest.position,
            descending: false,
        };
        let mut read = self.ports.store.read().await?;
        let all = &EventFilter::default();
        let count = read.events().count(world, stretch, all).await?;
        let expected = newest
            .position
            .saturating_sub(oldest.position)
            .saturating_add(1);
        if count != expected {
            let missing = expected.saturating_sub(count);
            return Ok(Some(FindingKind::EventsMissing { missing }));
        }
        let ends = read
            .events()
            .find_all(world, &[oldest.id, newest.id])
            .await?;
        let at = |position: i64, id: EventId| {
            let mut ends = ends.iter();
            ends.find(|event| event.position == position && event.event.id == id)
        };
        let (Some(_), Some(end)) = (
            at(oldest.position, oldest.id),
            at(newest.position, newest.id),
        ) else {
            return Ok(Some(FindingKind::OtherEnds));
        };
        let is_of_log = end.log == head.log;
        Ok((!is_of_log).then_some(FindingKind::NotRestarted { log: head.log }))
    }

    /// Returns the first checkpoint claim about an event log that does not hold, or the highest one if the log is too short for several.
    pub(super) async fn finding_of_stated_events(
        &self,
        world: &World,
        stated: &[StatedEvent],
    ) -> Result<Option<FindingKind>, Fault> {
        let floor = self.events_kept_from(world).await?;
        let mut read = self.ports.store.read().await?;
        let head = read.events().head(world).await?;
        drop(read);
        let is_of_earlier_log = |said: &StatedEvent| said.log < head.log;
        let restarts = if stated.iter().any(is_of_earlier_log) {
            self.restarts(world).await?
        } else {
            Vec::new()
        };
        let mut short = None;
        for few in stated.chunks(usize::try_from(PAGE).unwrap_or(1)) {
            let ids: Vec<_> = few.iter().map(|said| said.event).collect();
            let mut read = self.ports.store.read().await?;
            let found = read.events().find_all(world, &ids).await?;
            let there: HashMap<EventId, (i64, i64)> = found
                .iter()
                .map(|event| (event.event.id, (event.log, event.position)))
                .collect();
            for said in few {
                let place = (said.log, said.position);
                if place > (head.log, head.position()) {
                    short = short.max(Some((said.position, said.checkpoint)));
                    continue;
                }
                if !is_explained(said, head.log, &restarts, floor) {
                    return Ok(Some(FindingKind::NotRestarted { log: head.log }));
                }
                let found = there.get(&said.event);
                if found.is_some_and(|found| *found != place) {
                    return Ok(Some(other(said)));
                }
                if found.is_some() || said.is_lost(&restarts) || said.event.timestamp() < floor {
                    continue;
                }
                let instead = read.events().at(world, said.position).await?;
                return Ok(Some(match instead {
                    Some(_) => other(said),
                    None => FindingKind::Missing {
                        sequence: said.position,
                        checkpoint: said.checkpoint,
                    },
                }));
            }
        }
        Ok(short.map(|(stated, checkpoint)| FindingKind::SetBack {
            found: Some(head.position()),
            stated,
            checkpoint,
        }))
    }

    /// Returns number and first position of each restarted log of an environment.
    ///
    /// Only `log.restarted` events confirmed by a control log entry count, because an event alone can be forged.
    async fn restarts(&self, world: &World) -> Result<Vec<(i64, i64)>, Fault> {
        let recorded = self.recorded_restarts(world).await?;
        let filter = EventFilter {
            kinds: vec![EventKind::LogRestarted],
            ..EventFilter::default()
        };
        let mut restarts = Vec::new();
        let mut from = 1;
        loop {
            let stretch = PositionRange {
                from,
                to: i64::MAX,
                descending: false,
            };
            let mut read = self.ports.store.read().await?;
            let page = read.events().page(world, stretch, &filter, PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(restarts);
            };
            from = last.position.saturating_add(1);
            let restarted = page.iter().map(|event| (event.log, event.position));
            restarts.extend(restarted.filter(|(log, _)| {
                recorded
                    .as_ref()
                    .is_none_or(|recorded| recorded.contains(log))
            }));
        }
    }

    /// Returns the log numbers with a recorded restart, or `None` if such an entry may have been pruned.
    async fn recorded_restarts(&self, world: &World) -> Result<Option<BTreeSet<i64>>, Fault> {
        if self.is_pruned(world).await? {
            return Ok(None);
        }
        let mut logs = BTreeSet::new();
        for detail in self.details(world, ControlAction::ChainRestart).await? {
            logs.extend(detail.get("log").and_then(Value::as_i64));
        }
        Ok(Some(logs))
    }

    async fn is_pruned(&self, world: &World) -> Result<bool, Fault> {
        let mut read = self.ports.store.read().await?;
        Ok(!read.audit_chains().marked_chains(world).await?.is_empty())
    }

    /// Returns the details of all authentic entries of an environment with this action.
    async fn details(&self, world: &World, action: ControlAction) -> Result<Vec<Value>, Fault> {
        let filter = ControlFilter {
            actions: vec![action],
            ..ControlFilter::default()
        };
        let (mut details, mut after) = (Vec::new(), None);
        loop {
            let mut read = self.ports.store.read().await?;
            let page = read.control_log().page(world, &filter, after, PAGE).await?;
            drop(read);
            let Some(last) = page.last() else {
                return Ok(details);
            };
            after = Some(last.id);
            for entry in page {
                if self.is_authentic(&entry).await? {
                    details.extend(serde_json::from_str(&entry.event.detail).ok());
                }
            }
        }
    }

    /// Returns the time from which no event can have been deleted by retention.
    ///
    /// Only control log entries determine the retention. The App's settings are in a row that anyone with write access to the database can
    /// change.
    async fn events_kept_from(&self, world: &World) -> Result<Timestamp, Fault> {
        let kept = self.shortest_retention(world).await?;
        Ok(self.machine_time() - kept + SLACK)
    }

    /// Returns the shortest retention that the App ever had for this environment.
    async fn shortest_retention(&self, world: &World) -> Result<Seconds, Fault> {
        if self.is_pruned(world).await? {
            // The entry that set it may have been pruned.
            return Ok(SHORTEST);
        }
        let usual: i64 = match world.environment {
            Environment::Test => 7,
            Environment::Live => 30,
        };
        let mut days = usual;
        for detail in self.details(world, ControlAction::AppUpdate).await? {
            if let Some(change) = detail.get(RETENTION) {
                let to = change.get("to").and_then(Value::as_i64);
                days = days.min(to.unwrap_or(usual));
            }
        }
        Ok(Seconds(days.saturating_mul(86_400)).max(SHORTEST))
    }
}

impl StatedEvent {
    /// Returns whether the event was lost in a restart: the next log began at or before its position.
    fn is_lost(&self, restarts: &[(i64, i64)]) -> bool {
        let later = restarts.iter().filter(|(log, _)| *log > self.log);
        later
            .min()
            .is_some_and(|(_, position)| *position <= self.position)
    }
}

/// Returns whether a `log.restarted` event explains that the current log differs from the stated one, unless that event may have expired.
/// Logs in between may have been lost together with their events.
fn is_explained(said: &StatedEvent, now: i64, restarts: &[(i64, i64)], floor: Timestamp) -> bool {
    said.log >= now || said.at < floor || restarts.iter().any(|(log, _)| *log == now)
}

fn other(said: &StatedEvent) -> FindingKind {
    FindingKind::OtherEntry {
        sequence: said.position,
        checkpoint: said.checkpoint,
    }
}
