//! Webhook state of one process: queues that may have due deliveries, and the health of each endpoint.
//!
//! One endpoint must not delay another (WH-4). Each endpoint therefore has a window of concurrent attempts. Failing endpoints share half of
//! the total. Failing endpoints and those without a response yet share three quarters. No App has more than half.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use vestry_domain::World;
use vestry_domain::ids::{AppId, WebhookEndpointId};
use vestry_domain::webhook::Window;
use vestry_ports::store::Queue;

/// Key of an endpoint.
type Key = (World, WebhookEndpointId);

/// The webhook state of one process.
pub(crate) struct DeliveryScheduler {
    /// Maximum concurrent attempts.
    most: usize,
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Default)]
struct State {
    /// Queues that may have due deliveries.
    queues: BTreeSet<Queue>,
    /// The queue served last; others come before it.
    last: Option<Queue>,
    /// Windows of endpoints with attempts in flight or known health.
    windows: HashMap<Key, Window>,
    /// Attempts in flight per App.
    of_apps: HashMap<AppId, usize>,
    all: usize,
}

/// Outcome of an attempt for the endpoint's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Showing {
    /// The endpoint accepted a delivery.
    Took,
    /// The delivery failed; `is_overload` if the endpoint said that it is overloaded.
    Failed { is_overload: bool },
    /// No request was made.
    Unasked,
}

/// Limits shared by all queues at one moment.
struct Limits {
    whole: usize,
    /// Limit per App. It also applies when no other App is active, so that the next one need not wait for attempts in flight.
    of_app: usize,
    /// Limit for all failing endpoints together.
    closed: usize,
    /// Limit for failing and untested endpoints together. The rest is reserved for endpoints that have responded.
    unproven: usize,
}

impl State {
    fn limits(&self, most: usize) -> Limits {
        let half = (most / 2).max(1);
        let under_way = |is_meant: fn(&Window) -> bool| -> usize {
            let windows = self.windows.values().filter(|window| is_meant(window));
            windows.map(Window::under_way).sum()
        };
        let (closed, new) = (under_way(Window::is_closed), under_way(Window::is_new));
        let three_quarters = most.saturating_sub(most / 4).max(1);
        Limits {
            whole: most.saturating_sub(self.all),
            of_app: half,
            closed: half.saturating_sub(closed),
            unproven: three_quarters.saturating_sub(closed.saturating_add(new)),
        }
    }

    fn room(&self, queue: &Queue, limits: &Limits) -> usize {
        let key = (queue.world, queue.endpoint_id);
        let window = self.windows.get(&key).copied().unwrap_or_default();
        let of_app = self.of_apps.get(&queue.world.app_id).copied();
        let of_app = limits.of_app.saturating_sub(of_app.unwrap_or_default());
        let room = if queue.lane.is_later() {
            window.room_for_later()
        } else {
            window.room()
        };
        let room = room.min(limits.whole).min(of_app);
        if window.is_closed() {
            room.min(limits.closed).min(limits.unproven)
        } else if window.is_new() {
            room.min(limits.unproven)
        } else {
            room
        }
    }
}

impl DeliveryScheduler {
    /// Creates the state with a maximum number of concurrent attempts.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            state: Mutex::default(),
            bell: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks queues that may have due deliveries.
    pub(crate) fn ring(&self, queues: impl IntoIterator<Item = Queue>) {
        let mut queues = queues.into_iter().peekable();
        if queues.peek().is_some() {
            self.state().queues.extend(queues);
            self.bell.notify_one();
        }
    }

    /// Waits until a queue is marked.
    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }

    /// Returns the next queue with free capacity, and its capacity. The queue is unmarked.
    pub(crate) fn next(&self) -> Option<(Queue, usize)> {
        let mut state = self.state();
        let behind = state.last.map_or(Bound::Unbounded, Bound::Excluded);
        let later = state.queues.range((behind, Bound::Unbounded));
        let limits = state.limits(self.most);
        let found = later
            .chain(state.queues.iter())
            .map(|queue| (*queue, state.room(queue, &limits)))
            .find(|(_, room)| *room > 0)?;
        state.queues.remove(&found.0);
        state.last = Some(found.0);
        Some(found)
    }

    /// Records the start of an attempt.
    pub(crate) fn begin(&self, queue: &Queue) {
        let mut state = self.state();
        state.all += 1;
        *state.of_apps.entry(queue.world.app_id).or_default() += 1;
        let window = state.windows.entry((queue.world, queue.endpoint_id));
        window.or_default().begin(queue.lane.is_later());
    }

    /// Records the end of an attempt.
    pub(crate) fn end(&self, queue: &Queue, showing: Showing) {
        let mut state = self.state();
        state.all = state.all.saturating_sub(1);
        let app = queue.world.app_id;
        if let Some(of_app) = state.of_apps.get_mut(&app) {
            *of_app = of_app.saturating_sub(1);
            if *of_app == 0 {
                state.of_apps.remove(&app);
            }
        }
        let key = (queue.world, queue.endpoint_id);
        if let Some(window) = state.windows.get_mut(&key) {
            window.end(queue.lane.is_later());
            match showing {
                Showing::Took => window.succeeded(),
                Showing::Failed { is_overload } => window.failed(is_overload),
                Showing::Unasked => {}
            }
            if window.is_idle() && showing == Showing::Unasked {
                state.windows.remove(&key);
            }
        }
    }

    /// Forgets the health of an endpoint that was removed or re-enabled.
    pub(crate) fn forget(&self, world: World, endpoint: WebhookEndpointId) {
        let mut state = self.state();
        let key = (world, endpoint);
        if state
            .windows
            .get(&key)
            .is_some_and(|window| window.under_way() == 0)
        {
            state.windows.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests;
