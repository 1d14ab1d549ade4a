//! Findings of an audit verification, their codes and their messages.

use std::collections::BTreeMap;
use std::fmt;

use vestry_domain::World;
use vestry_domain::audit::control::Subject;
use vestry_domain::ids::AuditChainId;

/// Result of a verification.
#[derive(Debug, Clone, Default)]
pub struct AuditReport {
    /// Number of chains verified.
    pub chains: u64,
    /// Number of entries that are intact.
    pub entries: u64,
    /// Number of supplied checkpoints compared with the database.
    pub checkpoints: u64,
    /// Number of checkpoints from the database compared with the rest of it.
    pub own_checkpoints: u64,
    /// Findings: at most the first one per chain, and one more from checkpoints.
    pub findings: Vec<AuditFinding>,
    /// For each chain with a finding, a hash of everything that is wrong with it. An acknowledgement therefore covers no more than existed
    /// when it was made.
    pub(super) traces: BTreeMap<About, String>,
    /// Findings that were acknowledged earlier.
    pub acknowledged: Vec<Acknowledged>,
}

/// A finding and its subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFinding {
    /// The subject of the finding.
    pub about: About,
    /// The kind of finding.
    pub kind: FindingKind,
}

/// Subject of a finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// A chain of an environment.
    Chain(World, AuditChainId),
    /// The event log of an environment.
    Events(World),
    /// A checkpoint.
    Checkpoint(i64),
    /// A file or sink content that should be a checkpoint, by its location.
    Note(String),
}

/// Formats the subject as the command line names it.
impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chain(_, chain) => chain.fmt(f),
            Self::Events(world) => world.fmt(f),
            Self::Checkpoint(number) => number.fmt(f),
            Self::Note(place) => f.write_str(place),
        }
    }
}

impl About {
    /// Returns the subject for an audit entry, or `None` if it does not belong to this deployment.
    pub(super) fn subject(&self) -> Option<Subject> {
        match self {
            Self::Chain(_, chain) => Some((*chain).into()),
            Self::Events(world) => Some(Subject::world(world)),
            Self::Checkpoint(number) => Some(Subject::checkpoint(*number)),
            Self::Note(_) => None,
        }
    }
}

/// Formats the finding as a sentence.
impl fmt::Display for AuditFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.about {
            About::Chain(world, chain) => write!(f, "{world} {chain}: {}", self.kind),
            About::Events(world) => write!(f, "events of {world}: {}", self.kind),
            About::Checkpoint(number) => write!(f, "checkpoint {number}: {}", self.kind),
            About::Note(place) => write!(f, "{place}: {}", self.kind),
        }
    }
}

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// A chain has entries but no head.
    NoHead,
    /// The head was not written by the service.
    ForgedHead,
    /// The prune marker was not written by the service.
    ForgedMarker,
    /// The entry at this sequence number was altered, is missing, or does not follow its predecessor.
    Broken {
        /// The sequence number, from 1.
        sequence: i64,
    },
    /// The last entry of the chain is `found`, but its head says `expected`.
    Ends {
        /// Sequence number of the last entry found.
        found: i64,
        /// Sequence number in the head.
        expected: i64,
    },
    /// A chain or log is missing or ends at `found`, but a checkpoint states that it reached `stated`.
    SetBack {
        /// Where it ends; `None` if it is missing.
        found: Option<i64>,
        /// The position stated by the checkpoint.
        stated: i64,
        /// Number of the checkpoint.
        checkpoint: i64,
    },
    /// A different entry or event is at a position that a checkpoint names.
    OtherEntry {
        /// The position.
        sequence: i64,
        /// Number of the checkpoint.
        checkpoint: i64,
    },
    /// Nothing is at a position that a checkpoint names, although it is too recent to have been deleted by retention.
    Missing {
        /// The position.
        sequence: i64,
        /// Number of the checkpoint.
        checkpoint: i64,
    },
    /// Events are missing between the oldest and the newest that the head of the log names.
    EventsMissing {
        /// Number of missing ones.
        missing: i64,
    },
    /// The head of an event log names a different oldest or newest event.
    OtherEnds,
    /// The event log has this number, but no `log.restarted` event accounts for it.
    NotRestarted {
        /// The log number.
        log: i64,
    },
    /// The recorded progress of a sink was not written by the service.
    ForgedProgress,
    /// A checkpoint row was not written by the service.
    ForgedCheckpoint,
    /// A sink has this checkpoint, but the database ends at an earlier one.
    NotInDatabase {
        /// Number of the newest checkpoint in the database.
        newest: i64,
    },
    /// The content is not a well-formed checkpoint.
    NoCheckpoint,
    /// No trusted key signed it.
    NotSigned,
    /// Checkpoints immediately before this one are missing.
    NumbersMissing {
        /// Number of missing ones.
        missing: i64,
    },
    /// Two different checkpoints have this number, which indicates a database rollback.
    GivenTwice,
    /// The hash of the previous checkpoint does not match, which indicates a database rollback.
    OtherBefore,
}

impl FindingKind {
    /// Returns a stable code for the finding. It is stored in acknowledgements.
    pub(super) fn code(self) -> String {
        match self {
            Self::NoHead => "no_head".to_owned(),
            Self::ForgedHead => "forged_head".to_owned(),
            Self::ForgedMarker => "forged_marker".to_owned(),
            Self::Broken { sequence } => format!("broken {sequence}"),
            Self::Ends { found, expected } => format!("ends {found} {expected}"),
            Self::SetBack {
                found,
                stated,
                checkpoint,
            } => format!("set_back {} {stated} {checkpoint}", found.unwrap_or(0)),
            Self::OtherEntry {
                sequence,
                checkpoint,
            } => format!("other_entry {sequence} {checkpoint}"),
            Self::Missing {
                sequence,
                checkpoint,
            } => format!("missing {sequence} {checkpoint}"),
            Self::EventsMissing { missing } => format!("events_missing {missing}"),
            Self::OtherEnds => "other_ends".to_owned(),
            Self::NotRestarted { log } => format!("not_restarted {log}"),
            Self::ForgedProgress => "forged_progress".to_owned(),
            Self::ForgedCheckpoint => "forged_checkpoint".to_owned(),
            Self::NotInDatabase { newest } => format!("not_in_database {newest}"),
            Self::NoCheckpoint => "no_checkpoint".to_owned(),
            Self::NotSigned => "not_signed".to_owned(),
            Self::NumbersMissing { missing } => format!("numbers_missing {missing}"),
            Self::GivenTwice => "given_twice".to_owned(),
            Self::OtherBefore => "other_before".to_owned(),
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHead => f.write_str("chain head is missing"),
            Self::ForgedHead => f.write_str("chain head was altered"),
            Self::ForgedMarker => {
                f.write_str("prune marker was altered")
            }
            Self::Broken { sequence } => write!(
                f,
                "entry {sequence} was altered, is missing, or does not follow its predecessor"
            ),
            Self::Ends { found, expected } => write!(
                f,
                "chain ends at entry {found}, but its head says {expected}"
            ),
            Self::SetBack {
                found: None,
                stated,
                checkpoint,
            } => write!(
                f,
                "missing, but checkpoint {checkpoint} states that it reached {stated} (possible rollback)"
            ),
            Self::SetBack {
                found: Some(found),
                stated,
                checkpoint,
            } => write!(
                f,
                "ends at {found}, but checkpoint {checkpoint} states that it reached {stated} (possible rollback)"
            ),
            Self::OtherEntry {
                sequence,
                checkpoint,
            } => write!(f, "position {sequence} differs from checkpoint {checkpoint}"),
            Self::Missing {
                sequence,
                checkpoint,
            } => write!(f, "position {sequence} is missing, but checkpoint {checkpoint} names it"),
            Self::EventsMissing { missing } => {
                write!(
                    f,
                    "{missing} missing between the oldest and the newest event"
                )
            }
            Self::OtherEnds => {
                f.write_str("oldest or newest event differs from the head of the log")
            }
            Self::NotRestarted { log } => write!(
                f,
                "log number is {log}, but no log.restarted event accounts for it"
            ),
            Self::ForgedProgress => {
                f.write_str("recorded progress of the sink was altered")
            }
            Self::ForgedCheckpoint => {
                f.write_str("checkpoint in the database was altered, or signed by another key")
            }
            Self::NotInDatabase { newest } => write!(
                f,
                "not in the database, whose newest checkpoint is {newest} (possible rollback)"
            ),
            Self::NoCheckpoint => f.write_str("not a checkpoint"),
            Self::NotSigned => f.write_str("not signed by a trusted key"),
            Self::NumbersMissing { missing } => {
                write!(f, "{missing} missing immediately before this checkpoint")
            }
            Self::GivenTwice => f.write_str(
                "two different checkpoints have this number (database was rolled back between them)",
            ),
            Self::OtherBefore => f.write_str(
                "hash of the previous checkpoint does not match (database was rolled back between them)",
            ),
        }
    }
}

/// A finding that an operator acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledged {
    /// The finding.
    pub finding: AuditFinding,
    /// The reason that the operator gave.
    pub reason: String,
}
