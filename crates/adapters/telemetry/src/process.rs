//! Values that are read at each scrape: what the kernel says about this process, and the log lines that it dropped.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use vestry_domain::Timestamp;

/// Ticks of the kernel's clock in a second (`sysconf(_SC_CLK_TCK)`), 100 on every architecture that Linux supports.
const TICKS: f64 = 100.0;

/// What the kernel says about this process, under the names of the Prometheus client libraries. Values that the system does not have are
/// missing.
#[derive(Debug)]
pub(crate) struct Process {
    started: f64,
}

impl Process {
    pub(crate) fn started(at: Timestamp) -> Self {
        // Enough until 2106.
        let started = u32::try_from(at.unix()).unwrap_or_default();
        Self {
            started: f64::from(started),
        }
    }
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut gauge = |name, help, value: Option<f64>| match value {
            None => Ok(()),
            Some(value) => {
                let family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
                ConstGauge::new(value).encode(family)
            }
        };
        let started = "When the process started, in Unix seconds";
        gauge("process_start_time_seconds", started, Some(self.started))?;
        let memory = "Resident memory in bytes";
        gauge("process_resident_memory_bytes", memory, resident_bytes())?;
        let open = "Open file descriptors";
        gauge("process_open_fds", open, open_files())?;
        let most = "Maximum number of open file descriptors";
        gauge("process_max_fds", most, max_files())?;
        gauge("process_threads", "Threads", status("Threads:"))?;
        if let Some(seconds) = processor_seconds() {
            let help = "Processor time in seconds, of user and system";
            let kind = MetricType::Counter;
            let family = encoder.encode_descriptor("process_cpu_seconds", help, None, kind)?;
            ConstCounter::new(seconds).encode(family)?;
        }
        Ok(())
    }
}

fn resident_bytes() -> Option<f64> {
    status("VmRSS:").map(|kib| kib * 1_024.0)
}

/// The number in a line of `/proc/self/status`.
fn status(name: &str) -> Option<f64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn open_files() -> Option<f64> {
    let count = fs::read_dir("/proc/self/fd").ok()?.count();
    // The directory itself is open too.
    u32::try_from(count.saturating_sub(1)).ok().map(f64::from)
}

fn max_files() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let mut lines = text.lines();
    let limits = lines.find_map(|line| line.strip_prefix("Max open files"))?;
    limits.split_ascii_whitespace().next()?.parse().ok()
}

fn processor_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the process, in parentheses, may contain spaces. The user and system times are fields 14 and 15, and the third is the first
    // after the name.
    let (_, rest) = text.rsplit_once(')')?;
    let mut times = rest.split_ascii_whitespace().skip(11).take(2);
    let mut ticks = || times.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS)
}

/// How many log lines the process has dropped: those of `info` and below, and those of `warn` and `error`.
pub type DroppedLines = fn() -> [u64; 2];

pub(crate) struct Dropped(pub(crate) DroppedLines);

impl fmt::Debug for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dropped")
    }
}

impl Collector for Dropped {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Log lines that were dropped, because stderr was blocked";
        let kind = MetricType::Counter;
        let mut family = encoder.encode_descriptor("vestry_log_lines_dropped", help, None, kind)?;
        for (level, count) in ["info", "warn"].into_iter().zip((self.0)()) {
            let counter = ConstCounter::new(count);
            counter.encode(family.encode_family(&[("level", level)])?)?;
        }
        Ok(())
    }
}
