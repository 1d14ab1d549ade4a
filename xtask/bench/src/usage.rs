//! CPU time, context switches and memory of processes, from `/proc`.

use std::collections::BTreeMap;
use std::fs;

use xtask_harness::failure::{Context, Failure};

/// Microseconds of a tick, the unit of CPU time in `/proc`: USER_HZ is 100 on every platform of the service.
const TICK: f64 = 10_000.0;

/// The usage of all descendants of a process since they started.
#[derive(Default)]
pub(crate) struct Usage {
    /// Ticks of CPU time, including those of children that have exited.
    ticks: u64,
    switches: Switches,
}

/// Voluntary switches (the thread waited) and involuntary ones (another was scheduled), by process and thread.
type Switches = BTreeMap<(u32, u32), (u64, u64)>;

/// The usage between two snapshots.
#[derive(Clone, Copy, Default)]
pub(crate) struct Taken {
    pub(crate) microseconds: f64,
    pub(crate) voluntary: f64,
    pub(crate) involuntary: f64,
}

impl Usage {
    /// A snapshot of all descendants of this process.
    pub(crate) fn below(root: u32) -> Result<Self, Failure> {
        let mut usage = Self::default();
        for process in processes_below(root)? {
            usage.ticks += process.ticks;
            usage.add_switches(process.id);
        }
        Ok(usage)
    }

    /// Skips processes and threads that exit while their files are read.
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
    pub(crate) fn since(&self, earlier: &Self) -> Taken {
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

/// The CPU time of exited children of this process, in microseconds.
pub(crate) fn of_ended_children() -> Result<f64, Failure> {
    let stat = fs::read_to_string("/proc/self/stat").context("cannot read /proc/self/stat")?;
    let process =
        Process::parse(&stat).ok_or_else(|| Failure::new("cannot parse /proc/self/stat"))?;
    Ok(float(process.of_children) * TICK)
}

/// The resident memory of the largest descendant of a process, in MiB.
pub(crate) fn resident(root: u32) -> Result<f64, Failure> {
    memory(root, "VmRSS:")
}

/// The highest peak of resident memory of a descendant, in MiB.
pub(crate) fn peak(root: u32) -> Result<f64, Failure> {
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

/// The fields of `/proc/PID/stat` that are needed.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    id: u32,
    parent: u32,
    ticks: u64,
    /// The ticks of its children that have exited, which are included in `ticks`.
    of_children: u64,
}

impl Process {
    fn parse(stat: &str) -> Option<Self> {
        let (id, rest) = stat.split_once(" (")?;
        // The name may contain parentheses and spaces.
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

/// Voluntary and involuntary switches in `/proc/PID/task/TID/status`.
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

/// Converts a counter, which is too small to be rounded.
#[expect(
    clippy::as_conversions,
    reason = "there is no other conversion, and these counters are exact in a float"
)]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
