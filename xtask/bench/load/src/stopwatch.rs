//! Makes many calls over several connections and times each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Failure;
use crate::api::{Api, Call};

/// The amount of load.
#[derive(Clone, Copy)]
pub(crate) struct Stopwatch {
    /// Calls of one operation.
    pub(crate) calls: usize,
    /// The number of concurrent calls.
    pub(crate) connections: usize,
}

/// The calls not made yet, with their indexes.
type Queue = Arc<Mutex<VecDeque<(usize, Call)>>>;

/// A response, the index of its call, and its duration.
type Timed = (usize, Value, Duration);

impl Stopwatch {
    /// The responses in the order of the calls, untimed, for preparation.
    pub(crate) async fn prepare(self, api: &Api, calls: Vec<Call>) -> Result<Vec<Value>, Failure> {
        let answers = self.all(api, calls).await?;
        Ok(answers.into_iter().map(|(_, answer, _)| answer).collect())
    }

    /// Like [`Self::prepare`], but prints the times.
    pub(crate) async fn measure(
        self,
        api: &Api,
        name: &str,
        calls: Vec<Call>,
    ) -> Result<Vec<Value>, Failure> {
        let begun = Instant::now();
        let answers = self.all(api, calls).await?;
        let times = answers.iter().map(|(_, _, time)| *time).collect();
        print(name, begun.elapsed(), times)?;
        Ok(answers.into_iter().map(|(_, answer, _)| answer).collect())
    }

    /// Makes one call after the other, each `pace` after the end of the previous one, and prints the times.
    pub(crate) async fn paced(
        self,
        api: &Api,
        name: &str,
        pace: Duration,
        calls: Vec<Call>,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let mut times = Vec::new();
        for call in calls {
            let begun = Instant::now();
            api.make(call).await?;
            times.push(begun.elapsed());
            tokio::time::sleep(pace).await;
        }
        print(name, started.elapsed(), times)
    }

    async fn all(self, api: &Api, calls: Vec<Call>) -> Result<Vec<Timed>, Failure> {
        let queue = Queue::new(Mutex::new(calls.into_iter().enumerate().collect()));
        let workers: Vec<_> = (0..self.connections)
            .map(|_| tokio::spawn(work(api.clone(), Arc::clone(&queue))))
            .collect();
        let mut answers = Vec::new();
        for worker in workers {
            answers.extend(worker.await??);
        }
        answers.sort_unstable_by_key(|(place, _, _)| *place);
        Ok(answers)
    }
}

/// Prints the rate over the whole time, and the percentiles of single calls.
pub(crate) fn print(name: &str, whole: Duration, mut times: Vec<Duration>) -> Result<(), Failure> {
    times.sort_unstable();
    let count = f64::from(u32::try_from(times.len())?);
    println!(
        "{name}\t{:.1}\t{:.3}\t{:.3}",
        count / whole.as_secs_f64(),
        percentile(&times, 50),
        percentile(&times, 99)
    );
    Ok(())
}

async fn work(api: Api, queue: Queue) -> Result<Vec<Timed>, Failure> {
    let mut answers = Vec::new();
    while let Some((place, call)) = next(&queue) {
        let begun = Instant::now();
        let answer = api.make(call).await?;
        answers.push((place, answer, begun.elapsed()));
    }
    Ok(answers)
}

fn next(queue: &Queue) -> Option<(usize, Call)> {
    queue.lock().ok()?.pop_front()
}

/// A percentile of sorted times, in milliseconds.
pub(crate) fn percentile(times: &[Duration], percent: usize) -> f64 {
    let place = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    let time = times.get(place).copied().unwrap_or_default();
    time.as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_time_below_which_so_many_are() {
        let times: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 50), 101.0);
        assert_eq!(percentile(&times, 99), 199.0);
        assert_eq!(percentile(&times, 100), 200.0);
        assert_eq!(percentile(&times[..1], 99), 1.0);
        assert_eq!(percentile(&[], 99), 0.0);
    }
}
