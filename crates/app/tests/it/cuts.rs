//! EV-A1: verification finds every removal, swap, alteration and rollback of the logs.

use std::sync::Arc;

use vestry_app::audit::{AuditReport, SourcedNote, TrustedKeys};
use vestry_app::{Principal, Service};
use vestry_contract::fakes::Kept;
use vestry_contract::rng::{self, Rng};
use vestry_domain::audit::control::{ControlEntry, ControlHead};
use vestry_domain::audit::{AuditEntry, AuditHead};
use vestry_domain::envelope::Mac;
use vestry_domain::event::Position;
use vestry_domain::ids::{AuditChainId, WalletId};
use vestry_domain::redirect::RedirectKind;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::StoredCheckpoint;

use crate::audit::findings;
use crate::checkpoints::Shelf;
use crate::harness::Harness;
use crate::wallets::text;

/// Rounds of tampering. This is the number that the plan requires of the nightly run; here it takes seconds.
const ROUNDS: usize = 500;
/// Steps of history before the tampering.
const STEPS: usize = 40;

/// What an attacker with write access to the database does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// An entry is removed.
    Entry,
    /// The last entries of a chain are removed.
    Tail,
    /// The last entries are removed, and the head is the one that the chain had then.
    TailWithHead,
    /// Two entries of a chain are swapped.
    Swap,
    /// A field of an entry is altered.
    Alter,
    /// An entry is moved to another environment.
    Move,
    /// A head is altered or removed.
    Head,
    /// A chain is removed with its head.
    Chain,
    /// All rows that an environment had in one log are removed.
    World,
    /// The whole database is rolled back to some earlier moment.
    Database,
    /// All Apps are removed, and a field of an entry is altered.
    Apps,
    /// Events are removed: all of an environment, with or without its head, or one.
    Events,
    /// The newest events are removed, and the remaining log gets another number.
    LogNumber,
    /// The recorded progress of the sink is changed.
    Progress,
    /// A checkpoint in the database is removed, altered or renumbered.
    Checkpoint,
}

impl Cut {
    const ALL: [Self; 15] = [
        Self::Entry,
        Self::Tail,
        Self::TailWithHead,
        Self::Swap,
        Self::Alter,
        Self::Move,
        Self::Head,
        Self::Chain,
        Self::World,
        Self::Database,
        Self::Apps,
        Self::Events,
        Self::LogNumber,
        Self::Progress,
        Self::Checkpoint,
    ];

    /// Whether the keys of the log find it without any checkpoint (AUD-2).
    fn is_found_by_keys(self) -> bool {
        matches!(
            self,
            Self::Entry
                | Self::Tail
                | Self::Swap
                | Self::Alter
                | Self::Move
                | Self::Head
                | Self::Apps
        )
    }

    /// Whether the database itself reveals it, by its keys and its own checkpoints (AUD-11).
    fn is_found_inside(self) -> bool {
        self != Self::Database
    }
}

/// An entry of either log.
trait Link: Clone + PartialEq {
    fn world(&mut self) -> &mut World;
    fn place(&mut self) -> (AuditChainId, &mut i64);
    fn at(&mut self) -> &mut Timestamp;
    fn hashes(&mut self) -> [&mut [u8; 32]; 2];
    fn mac(&mut self) -> &mut Mac;
}

/// A head of either log.
trait End: Clone + PartialEq {
    fn world(&self) -> World;
    fn chain(&self) -> AuditChainId;
    fn sequence(&mut self) -> &mut i64;
    fn hash(&mut self) -> &mut [u8; 32];
}

macro_rules! links {
    ($($entry:ident $head:ident),*) => {
        $(impl Link for $entry {
            fn world(&mut self) -> &mut World {
                &mut self.event.world
            }
            fn place(&mut self) -> (AuditChainId, &mut i64) {
                (self.chain, &mut self.sequence)
            }
            fn at(&mut self) -> &mut Timestamp {
                &mut self.event.at
            }
            fn hashes(&mut self) -> [&mut [u8; 32]; 2] {
                [&mut self.previous, &mut self.hash]
            }
            fn mac(&mut self) -> &mut Mac {
                &mut self.mac
            }
        }
        impl End for $head {
            fn world(&self) -> World {
                self.world
            }
            fn chain(&self) -> AuditChainId {
                self.chain
            }
            fn sequence(&mut self) -> &mut i64 {
                &mut self.sequence
            }
            fn hash(&mut self) -> &mut [u8; 32] {
                &mut self.hash
            }
        })*
    };
}

links! { AuditEntry AuditHead, ControlEntry ControlHead }

fn pick<'a, T>(rng: &mut Rng, all: &'a mut [T]) -> &'a mut T {
    let place = rng.below(all.len());
    &mut all[place]
}

/// Cuts one log. `earlier` are heads that it once had.
fn cut<E: Link, H: End>(
    cut: Cut,
    rng: &mut Rng,
    entries: &mut Vec<E>,
    heads: &mut Vec<H>,
    earlier: &[H],
) {
    let (chain, sequence) = pick(rng, entries).place();
    let sequence = *sequence;
    match cut {
        Cut::Entry => entries.retain_mut(|entry| entry.place() != (chain, &mut { sequence })),
        Cut::Tail => entries.retain_mut(|entry| {
            let (of, place) = entry.place();
            of != chain || *place < sequence
        }),
        Cut::TailWithHead => {
            let mut head = earlier[rng.below(earlier.len())].clone();
            let (chain, end) = (head.chain(), *head.sequence());
            entries.retain_mut(|entry| {
                let (of, place) = entry.place();
                of != chain || *place <= end
            });
            for known in heads.iter_mut().filter(|known| known.chain() == chain) {
                *known = head.clone();
            }
        }
        Cut::Swap => {
            let mut length = 0;
            for entry in entries.iter_mut() {
                length += usize::from(entry.place().0 == chain);
            }
            let other = i64::try_from(1 + rng.below(length)).unwrap();
            for entry in entries.iter_mut() {
                let (of, place) = entry.place();
                if of == chain && *place == sequence {
                    *place = other;
                } else if of == chain && *place == other {
                    *place = sequence;
                }
            }
        }
        Cut::Alter => alter(rng, entries),
        Cut::Move => {
            let world = pick(rng, entries).world();
            let environment = match world.environment {
                Environment::Test => Environment::Live,
                Environment::Live => Environment::Test,
            };
            *world = World::new(world.app_id, environment);
        }
        Cut::Head => match rng.below(3) {
            0 => drop(heads.remove(rng.below(heads.len()))),
            1 => *pick(rng, heads).sequence() -= 1,
            _ => pick(rng, heads).hash()[rng.below(32)] ^= 1 << rng.below(8),
        },
        Cut::Chain => {
            entries.retain_mut(|entry| entry.place().0 != chain);
            heads.retain(|head| head.chain() != chain);
        }
        Cut::World => {
            let world = heads[rng.below(heads.len())].world();
            entries.retain_mut(|entry| *entry.world() != world);
            heads.retain(|head| head.world() != world);
        }
        Cut::Database
        | Cut::Apps
        | Cut::Events
        | Cut::LogNumber
        | Cut::Progress
        | Cut::Checkpoint => unreachable!("that cut does not apply to a single log"),
    }
}

/// Alters one field.
fn alter<E: Link>(rng: &mut Rng, entries: &mut [E]) {
    let entry = pick(rng, entries);
    let (byte, bit) = (rng.below(32), 1 << rng.below(8));
    match rng.below(5) {
        0 => *entry.at() = Timestamp::from_unix(entry.at().unix() + 1),
        1 => entry.mac().tag[byte] ^= bit,
        2 => entry.mac().key_version += 1,
        which => entry.hashes()[which - 3][byte] ^= bit,
    }
}

/// A test harness with a history, a snapshot of each step, and the checkpoints kept outside.
struct Past {
    harness: Harness,
    /// The process that verifies. It has a sink.
    service: Arc<Service>,
    whole: Kept,
    states: Vec<Kept>,
    heads: Vec<AuditHead>,
    control_heads: Vec<ControlHead>,
    notes: Vec<SourcedNote>,
}

impl Past {
    async fn new(rng: &mut Rng) -> Self {
        let harness = Harness::new().await.with_checkpoint_key().await;
        let test = harness.test().await;
        let user = harness.user(&test, "ada@example.com").await;
        let wallet = user.wallets[0].id;
        let mut past = Self {
            whole: harness.fake.kept(),
            service: harness.process_with_sinks(vec![Arc::new(Shelf::default())]),
            harness,
            states: Vec::new(),
            heads: Vec::new(),
            control_heads: Vec::new(),
            notes: Vec::new(),
        };
        let processes = [past.service.clone(), past.harness.other_process()];
        for step in 0..STEPS {
            past.remember();
            let process = &processes[rng.below(2)];
            past.go_on(rng, process, wallet, step).await;
            if rng.below(5) == 0 || step + 1 == STEPS {
                past.service.sequence_all().await.unwrap();
                let made = process.make_checkpoint().await.unwrap().unwrap();
                past.service.bring_to_sinks().await;
                past.notes.push(SourcedNote {
                    place: made.number.to_string(),
                    note: made.note,
                });
            }
        }
        past.whole = past.harness.fake.kept();
        past
    }

    fn remember(&mut self) {
        self.states.push(self.harness.fake.kept());
        let (heads, control_heads) = (&mut self.heads, &mut self.control_heads);
        let fake = &self.harness.fake;
        fake.edit_audit_log(|_, now| heads.extend(now.iter().cloned()));
        fake.edit_control_heads(|now| control_heads.extend(now.iter().cloned()));
    }

    /// Does something that leaves an entry.
    async fn go_on(&self, rng: &mut Rng, process: &Service, wallet: WalletId, step: usize) {
        let test = self.harness.test().await;
        if rng.below(2) == 0 {
            process.sign(&test, text(wallet, "hi")).await.unwrap();
        } else {
            let world = self.harness.world(Environment::ALL[rng.below(2)]);
            let url = format!("https://app.example.com/{step}");
            let added =
                process.add_redirect_url(Principal::cli(), world, RedirectKind::Login, &url, false);
            added.await.unwrap();
        }
        self.harness.pass(1);
    }

    /// Applies a cut; `false` if it changed nothing.
    fn cut(&self, what: Cut, rng: &mut Rng) -> bool {
        let fake = &self.harness.fake;
        if what == Cut::Database {
            let state = self.states[rng.below(self.states.len())].clone();
            fake.set_back(state);
            return true;
        }
        match what {
            Cut::Apps => {
                fake.edit_apps(Vec::clear);
                self.cut_log(Cut::Alter, rng)
            }
            Cut::Events => self.cut_events(rng),
            Cut::LogNumber => self.raise_log(rng),
            Cut::Progress => self.edit_progress(rng),
            Cut::Checkpoint => self.cut_checkpoints(rng),
            _ => self.cut_log(what, rng),
        }
    }

    /// Removes events.
    fn cut_events(&self, rng: &mut Rng) -> bool {
        let mut changed = false;
        self.harness.fake.edit_events(|events, heads| {
            let before = events.len();
            let at = rng.below(before);
            let (world, position) = (events[at].event.world, events[at].position);
            match rng.below(3) {
                0 => events.retain(|event| event.event.world != world),
                1 => {
                    events.retain(|event| event.event.world != world);
                    heads.remove(&world);
                }
                _ => {
                    events.retain(|event| (event.event.world, event.position) != (world, position))
                }
            }
            changed = events.len() < before;
        });
        changed
    }

    /// Cuts an event log and gives it another number.
    fn raise_log(&self, rng: &mut Rng) -> bool {
        self.harness.fake.edit_events(|events, heads| {
            let at = rng.below(events.len());
            let (world, position) = (events[at].event.world, events[at].position);
            events.retain(|event| event.event.world != world || event.position < position);
            let left = events.iter().filter(|event| event.event.world == world);
            let newest = left.max_by_key(|event| event.position);
            let newest = newest.map(|event| Position {
                position: event.position,
                id: event.event.id,
            });
            let head = heads.get_mut(&world).unwrap();
            head.log += 1;
            head.newest = newest;
            head.oldest = head.oldest.filter(|_| newest.is_some());
        });
        true
    }

    /// Edits the recorded progress of the sink.
    fn edit_progress(&self, rng: &mut Rng) -> bool {
        self.harness.fake.edit_checkpoints(|_, sinks| {
            let mut sinks = sinks.values_mut();
            let progress = sinks.find(|progress| progress.sink == "shelf").unwrap();
            match rng.below(3) {
                0 => progress.number += 1_000_000_000,
                1 => progress.number -= 1,
                _ => {
                    progress.at =
                        progress.at + Seconds(1 + i64::try_from(rng.below(1 << 20)).unwrap())
                }
            }
        });
        true
    }

    /// Cuts the sequence of checkpoints. Without the first of them the state is the same as after a sweep.
    fn cut_checkpoints(&self, rng: &mut Rng) -> bool {
        self.harness.fake.edit_checkpoints(|checkpoints, _| {
            let numbers: Vec<_> = checkpoints.keys().copied().collect();
            let place = numbers[1 + rng.below(numbers.len() - 1)];
            let kept = checkpoints.remove(&place).unwrap();
            match rng.below(3) {
                0 => {}
                1 => {
                    let (number, at) = (kept.number + 1_000_000_000, kept.at);
                    let moved = StoredCheckpoint {
                        number,
                        at,
                        note: kept.note,
                    };
                    checkpoints.insert((place.0, number), moved);
                }
                _ => {
                    let at = kept.at + Seconds(1);
                    checkpoints.insert(place, StoredCheckpoint { at, ..kept });
                }
            }
        });
        true
    }

    /// Cuts one of the two logs; `false` if it changed nothing.
    fn cut_log(&self, what: Cut, rng: &mut Rng) -> bool {
        let fake = &self.harness.fake;
        let mut changed = false;
        if rng.below(2) == 0 {
            fake.edit_audit_log(|entries, heads| {
                let before = (entries.clone(), heads.clone());
                cut(what, rng, entries, heads, &self.heads);
                changed = before != (entries.clone(), heads.clone());
            });
        } else {
            let mut heads = Vec::new();
            fake.edit_control_heads(|now| heads = now.clone());
            fake.edit_control_entries(|entries| {
                let before = (entries.clone(), heads.clone());
                cut(what, rng, entries, &mut heads, &self.control_heads);
                changed = before != (entries.clone(), heads.clone());
            });
            fake.edit_control_heads(|now| *now = heads);
        }
        changed
    }

    async fn verify(&self) -> AuditReport {
        let keys = &TrustedKeys::Own;
        let report = self
            .service
            .verify_audit_log_against(&self.notes, keys, &|_| {});
        report.await.unwrap()
    }

    /// The number of findings by the log's keys alone.
    async fn found_by_keys(&self) -> usize {
        let kept = self.harness.fake.kept();
        self.harness.fake.edit_checkpoints(|checkpoints, sinks| {
            checkpoints.clear();
            sinks.clear();
        });
        self.harness.fake.edit_events(|events, heads| {
            events.clear();
            heads.clear();
        });
        let found = findings(&self.harness).await;
        self.harness.fake.set_back(kept);
        found.len()
    }
}

#[tokio::test]
async fn ev_a1_aud_2_aud_3_aud_11_every_cut_is_found() {
    let mut rng = Rng::from_seed(rng::seed());
    let past = Past::new(&mut rng).await;
    assert_eq!(past.verify().await.findings, []);
    let mut rounds = 0;
    let enough = rng::rounds(ROUNDS);
    while rounds < enough {
        let what = Cut::ALL[rng.below(Cut::ALL.len())];
        if past.cut(what, &mut rng) {
            rounds += 1;
            if what.is_found_by_keys() {
                let found = past.found_by_keys().await;
                assert!(found > 0, "round {rounds}: {what:?}, by keys");
            }
            if what.is_found_inside() {
                let inside = past.service.verify_audit_log(&|_| {}).await.unwrap();
                assert!(
                    !inside.findings.is_empty(),
                    "round {rounds}: {what:?}, inside"
                );
            }
            let found = past.verify().await.findings;
            assert!(!found.is_empty(), "round {rounds}: {what:?}");
        }
        past.harness.fake.set_back(past.whole.clone());
    }
    assert_eq!(past.verify().await.findings, []);
}
