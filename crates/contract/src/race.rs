//! Tasks that start at the same instant.

use std::sync::Arc;

use tokio::sync::Barrier;

/// Runs all tasks at once, none before all are ready, and returns their results in order.
///
/// # Panics
/// If one of the tasks panics.
pub async fn race<T, F>(tasks: impl IntoIterator<Item = F>) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = tasks.into_iter().collect();
    let start = Arc::new(Barrier::new(tasks.len()));
    let running: Vec<_> = tasks
        .into_iter()
        .map(|task| {
            let start = Arc::clone(&start);
            tokio::spawn(async move {
                start.wait().await;
                task.await
            })
        })
        .collect();
    let mut outcomes = Vec::with_capacity(running.len());
    for task in running {
        match task.await {
            Ok(outcome) => outcomes.push(outcome),
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(cancelled) => panic!("a task was cancelled: {cancelled}"),
            },
        }
    }
    outcomes
}

/// The number of outcomes that equal the given one.
pub fn count<T: PartialEq>(outcomes: &[T], wanted: &T) -> usize {
    outcomes.iter().filter(|outcome| *outcome == wanted).count()
}
