//! What a process knows of webhooks: which queues may have something to send, and how each endpoint does.
//!
//! Nobody shall be held up by somebody else's endpoint (WH-4). So each has a window of attempts that are under way; those that answer
//! badly share half of the whole, and with those that have answered nothing yet three quarters; and no App has more than half.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use vestry_domain::World;
use vestry_domain::ids::{AppId, WebhookEndpointId};
use vestry_domain::webhook::Window;
use vestry_ports::store::Queue;

/// An endpoint.
type Key = (World, WebhookEndpointId);

/// Of one process.
pub(crate) struct WebhookDesk {
    /// Attempts under way at most.
    most: usize,
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Default)]
struct State {
    /// What may have something due.
    queues: BTreeSet<Queue>,
    /// Which was served last: the others come first.
    last: Option<Queue>,
    /// Of endpoints of which there is something to know.
    windows: HashMap<Key, Window>,
    /// Attempts under way, of each App that has some.
    of_apps: HashMap<AppId, usize>,
    all: usize,
}

/// How an endpoint did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Showing {
    /// It took something.
    Took,
    /// It did not; and whether it said that it has too much to do.
    Failed { is_overload: bool },
    /// Nobody asked it.
    Unasked,
}

/// What all queues have in common at one moment.
struct Limits {
    whole: usize,
    /// Of one App. Also where there is no other at this moment: the next one shall not wait until what is under way has ended.
    of_app: usize,
    /// Of all endpoints together that answer badly.
    closed: usize,
    /// Of these and those of which nobody knows: the rest is for who has shown that he answers.
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

impl WebhookDesk {
    /// With so many attempts at the same time at most.
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

    /// Queues that may have something due.
    pub(crate) fn ring(&self, queues: impl IntoIterator<Item = Queue>) {
        let mut queues = queues.into_iter().peekable();
        if queues.peek().is_some() {
            self.state().queues.extend(queues);
            self.bell.notify_one();
        }
    }

    /// Waits until there are such.
    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }

    /// The next queue that has room, and for how many attempts. It counts as empty from then on.
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

    /// An attempt begins.
    pub(crate) fn begin(&self, queue: &Queue) {
        let mut state = self.state();
        state.all += 1;
        *state.of_apps.entry(queue.world.app_id).or_default() += 1;
        let window = state.windows.entry((queue.world, queue.endpoint_id));
        window.or_default().begin(queue.lane.is_later());
    }

    /// It has ended.
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

    /// Forgets how an endpoint did: it is gone, or begins anew.
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
