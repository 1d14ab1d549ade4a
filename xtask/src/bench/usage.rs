//! What processes take of the machine, as Linux counts it in `/proc`.

use std::collections::BTreeMap;
use std::fs;

use crate::failure::{Context, Failure};

/// Microseconds of a tick, in which the kernel tells processor time: USER_HZ is 100 wherever the service runs.
const TICK: f64 = 10_000.0;

/// What all processes below one have taken since they began.
#[derive(Default)]
pub(super) struct Usage {
    /// Ticks of processor time, those of ended children included.
    ticks: u64,
    switches: Switches,
}

/// By process and thread: how often it gave up its core by itself, because it waited; and how often the core was taken from it.
type Switches = BTreeMap<(u32, u32), (u64, u64)>;

/// What they took between two moments.
#[derive(Clone, Copy, Default)]
pub(super) struct Taken {
    pub(super) microseconds: f64,
    pub(super) voluntary: f64,
    pub(super) involuntary: f64,
}

impl Usage {
    /// Of all processes below this one, without it.
    pub(super) fn below(root: u32) -> Result<Self, Failure> {
        let mut usage = Self::default();
        for process in processes_below(root)? {
            usage.ticks += process.ticks;
            usage.add_switches(process.id);
        }
        Ok(usage)
    }

    /// A process or thread may end while its files are read; then it counts no more.
    fn add_switches(&mut self, process: u32) {
        let threads = fs::read_dir(format!("/proc/{process}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let id = thread.file_name().to_str().and_then(|id| id.parse().ok());
            let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            if let (Some(id), Some(switches)) = (id, switches(&status)) {
                self.switches.insert((process, id), switches);
            }
        }
    }

    /// The usage since an earlier snapshot. Context switches of threads that ended in between are not known.
    pub(super) fn since(&self, earlier: &Self) -> Taken {
        let (mut voluntary, mut involuntary) = (0, 0);
        for (thread, (given, taken)) in &self.switches {
            let before = earlier.switches.get(thread).copied().unwrap_or_default();
            voluntary += given.saturating_sub(before.0);
            involuntary += taken.saturating_sub(before.1);
        }
        Taken {
            microseconds: float(self.ticks.saturating_sub(earlier.ticks)) * TICK,
            voluntary: float(voluntary),
            involuntary: float(involuntary),
        }
    }
}

/// Microseconds of processor time of programs that this process started and that have ended.
pub(super) fn of_ended_children() -> Result<f64, Failure> {
    let stat = fs::read_to_string("/proc/self/stat").context("cannot read /proc/self/stat")?;
    let process = Process::parse(&stat).ok_or_else(|| Failure::new("/proc/self/stat is odd"))?;
    Ok(float(process.of_children) * TICK)
}

/// The most memory that a process below this one has in core, in MiB.
pub(super) fn resident(root: u32) -> Result<f64, Failure> {
    memory(root, "VmRSS:")
}

/// The most that one of them has ever had in core, in MiB.
pub(super) fn peak(root: u32) -> Result<f64, Failure> {
    memory(root, "VmHWM:")
}

fn memory(root: u32, name: &str) -> Result<f64, Failure> {
    let largest = processes_below(root)?
        .iter()
        .filter_map(|process| {
            let status = fs::read_to_string(format!("/proc/{}/status", process.id)).ok()?;
            field(&status, name)?.trim_end_matches(" kB").parse().ok()
        })
        .max()
        .unwrap_or(0);
    Ok(float(largest) / 1024.0)
}

/// A line of `/proc/PID/stat`, as far as it is of use.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    id: u32,
    parent: u32,
    ticks: u64,
    /// The part of the ticks that its ended children took.
    of_children: u64,
}

impl Process {
    fn parse(stat: &str) -> Option<Self> {
        let (id, rest) = stat.split_once(" (")?;
        // The name may hold anything, parentheses and spaces too.
        let (_name, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
        let own = number(11)? + number(12)?;
        let of_children = number(13)? + number(14)?;
        Some(Self {
            id: id.parse().ok()?,
            parent: number(1)?.try_into().ok()?,
            ticks: own + of_children,
            of_children,
        })
    }
}

fn processes_below(root: u32) -> Result<Vec<Process>, Failure> {
    let mut all: Vec<Process> = fs::read_dir("/proc")
        .context("cannot read /proc, which the bench needs")?
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        .filter_map(|stat| Process::parse(&stat))
        .collect();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        let (children, others) = all.into_iter().partition(|one| one.parent == parent);
        all = others;
        let children: Vec<Process> = children;
        parents.extend(children.iter().map(|child| child.id));
        found.extend(children);
    }
    Ok(found)
}

/// Voluntary and involuntary switches, out of `/proc/PID/task/TID/status`.
fn switches(status: &str) -> Option<(u64, u64)> {
    let number = |name| field(status, name)?.parse().ok();
    Some((
        number("voluntary_ctxt_switches:")?,
        number("nonvoluntary_ctxt_switches:")?,
    ))
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.map(str::trim)
}

/// Counters are far from where a float begins to round.
#[expect(
    clippy::as_conversions,
    reason = "there is no other conversion, and a bench is no more exact than that"
)]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
