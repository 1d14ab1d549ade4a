//! State of one process: caches, batches, queues and waiting calls. None of it knows [`crate::Service`].

pub(crate) mod anchor_watch;
pub(crate) mod audit_trail;
pub(crate) mod chain_macs;
pub(crate) mod change_journal;
pub(crate) mod checkpoint_state;
pub(crate) mod control_trail;
pub(crate) mod delivery_outcomes;
pub(crate) mod delivery_scheduler;
pub(crate) mod endpoint_notices;
pub(crate) mod event_heads;
pub(crate) mod failure_log;
pub(crate) mod journal_lines;
pub(crate) mod key_uses;
pub(crate) mod last_seen;
pub(crate) mod memory;
pub(crate) mod outbox_bell;
pub(crate) mod outbox_counts;
pub(crate) mod outbox_outcomes;
pub(crate) mod reads;
pub(crate) mod refusal_log;
pub(crate) mod tally;
pub(crate) mod transport_breakers;
pub(crate) mod waiting_room;
