//! Findings: what can be wrong with the audit log, and how it is named.

use std::collections::BTreeMap;
use std::fmt;

use vestry_domain::World;
use vestry_domain::audit::control::Subject;
use vestry_domain::ids::AuditChainId;

/// What a verification found.
#[derive(Debug, Clone, Default)]
pub struct AuditReport {
    /// Chains looked at.
    pub chains: u64,
    /// Entries that are what they were.
    pub entries: u64,
    /// Checkpoints that were given and compared with the database.
    pub checkpoints: u64,
    /// Checkpoints of the database's own that were compared with the rest of it.
    pub own_checkpoints: u64,
    /// What is wrong; at most one finding per chain, its first, and one more by checkpoints.
    pub flaws: Vec<AuditFlaw>,
    /// Of chains with a finding, a hash of everything else that is wrong with them, so that an explanation holds for no more than was
    /// there when it was given.
    pub(super) traces: BTreeMap<About, String>,
    /// What was found, and had been explained before.
    pub acknowledged: Vec<Acknowledged>,
}

/// What is wrong with something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFlaw {
    /// With what.
    pub about: About,
    /// What it is.
    pub flaw: Flaw,
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// A chain of a world.
    Chain(World, AuditChainId),
    /// The log of events of a world.
    Events(World),
    /// A checkpoint, by its number.
    Checkpoint(i64),
    /// What was found in this place, and should be a checkpoint.
    Note(String),
}

/// How the command line names it.
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
    /// The same as the subject of an entry; `None` of what is not of this deployment.
    pub(super) fn subject(&self) -> Option<Subject> {
        match self {
            Self::Chain(_, chain) => Some((*chain).into()),
            Self::Events(world) => Some(Subject::world(world)),
            Self::Checkpoint(number) => Some(Subject::checkpoint(*number)),
            Self::Note(_) => None,
        }
    }
}

/// A sentence for people.
impl fmt::Display for AuditFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.about {
            About::Chain(world, chain) => write!(f, "{world} {chain}: {}", self.flaw),
            About::Events(world) => write!(f, "events of {world}: {}", self.flaw),
            About::Checkpoint(number) => write!(f, "checkpoint {number}: {}", self.flaw),
            About::Note(place) => write!(f, "{place}: {}", self.flaw),
        }
    }
}

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Entries without a head: the record of how far the chain goes is gone.
    NoHead,
    /// The head is not one that the service wrote.
    ForgedHead,
    /// The record of what was pruned is not one that the service wrote.
    ForgedMarker,
    /// The entry in this place was altered, or does not follow the one before it, or the one in this place is missing.
    Broken {
        /// The place, from 1.
        sequence: i64,
    },
    /// The chain ends at `found`, and its head says that it went on to `expected`, or the other way round.
    Ends {
        /// The last place that was found.
        found: i64,
        /// The last place by the head.
        expected: i64,
    },
    /// A chain or log ends at `found`, or is gone, and a checkpoint states that it went on to `stated`.
    SetBack {
        /// Where it ends; `None` where nothing of it is there.
        found: Option<i64>,
        /// The last place that was stated.
        stated: i64,
        /// By which checkpoint.
        checkpoint: i64,
    },
    /// Something else is in the place of what a checkpoint states.
    OtherEntry {
        /// The place.
        sequence: i64,
        /// The checkpoint.
        checkpoint: i64,
    },
    /// Nothing is in the place of what a checkpoint states, and it is too young to have been deleted after its retention.
    Missing {
        /// The place.
        sequence: i64,
        /// The checkpoint.
        checkpoint: i64,
    },
    /// So many events are missing between the oldest and the newest that the record of the log names.
    EventsMissing {
        /// How many.
        missing: i64,
    },
    /// The record of a log of events does not fit the events: it names others as its oldest or newest.
    OtherEnds,
    /// The log of events has this number, and no `log.restarted` event says so.
    NotRestarted {
        /// The number.
        log: i64,
    },
    /// The record of how far a sink is was not written by the service.
    ForgedProgress,
    /// The row of a checkpoint in the database was not written by the service.
    ForgedCheckpoint,
    /// A sink has this checkpoint, and the database goes to an earlier one only.
    NotInDatabase {
        /// The newest one of the database.
        newest: i64,
    },
    /// It is no checkpoint in the form in which one is written.
    NoCheckpoint,
    /// No key that is trusted signed it.
    NotSigned,
    /// So many checkpoints right before this one are missing.
    NumbersMissing {
        /// How many.
        missing: i64,
    },
    /// Two checkpoints that differ have this number: the database was set back in between.
    GivenTwice,
    /// The checkpoint before is not the one that it names: the database was set back in between.
    OtherBefore,
}

impl Flaw {
    /// The same in a form that never changes, for whoever remembers it.
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

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHead => f.write_str("the record of how far the chain goes is gone"),
            Self::ForgedHead => f.write_str("the record of how far the chain goes was altered"),
            Self::ForgedMarker => {
                f.write_str("the record of up to where it was pruned was altered")
            }
            Self::Broken { sequence } => write!(
                f,
                "entry {sequence} was altered, is missing, or does not follow the one before it"
            ),
            Self::Ends { found, expected } => write!(
                f,
                "the chain ends at entry {found}, and its record says {expected}"
            ),
            Self::SetBack {
                found: None,
                stated,
                checkpoint,
            } => write!(
                f,
                "it is gone; checkpoint {checkpoint} says that it went to {stated}"
            ),
            Self::SetBack {
                found: Some(found),
                stated,
                checkpoint,
            } => write!(
                f,
                "it ends at {found}; checkpoint {checkpoint} says that it went to {stated}"
            ),
            Self::OtherEntry {
                sequence,
                checkpoint,
            } => write!(f, "{sequence} is not what checkpoint {checkpoint} says"),
            Self::Missing {
                sequence,
                checkpoint,
            } => write!(f, "{sequence} is missing; checkpoint {checkpoint} names it"),
            Self::EventsMissing { missing } => {
                write!(
                    f,
                    "{missing} events are missing between its oldest and newest"
                )
            }
            Self::OtherEnds => {
                f.write_str("its oldest or newest event is not the one that its record names")
            }
            Self::NotRestarted { log } => write!(
                f,
                "its log number was raised to {log} without a log.restarted event"
            ),
            Self::ForgedProgress => {
                f.write_str("the record of which checkpoints the sink has was altered")
            }
            Self::ForgedCheckpoint => {
                f.write_str("the checkpoint in the database was altered, or another key signed it")
            }
            Self::NotInDatabase { newest } => write!(
                f,
                "the database does not have it; the newest one there is {newest}"
            ),
            Self::NoCheckpoint => f.write_str("this is not a checkpoint"),
            Self::NotSigned => f.write_str("no trusted key signed this"),
            Self::NumbersMissing { missing } => {
                write!(f, "of the checkpoints before it, {missing} are missing")
            }
            Self::GivenTwice => f.write_str(
                "there are two of this number that differ: the database was set back in between",
            ),
            Self::OtherBefore => f.write_str(
                "the one before it is another than it says: the database was set back in between",
            ),
        }
    }
}

/// A finding that somebody explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledged {
    /// The finding.
    pub flaw: AuditFlaw,
    /// How it was explained.
    pub reason: String,
}
