//! P-7 and attack-22: how many hashes run, how many wait, and what happens when callers leave.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use super::*;

fn few(threads: usize, waiting: usize) -> Threads {
    let settings = Settings {
        threads: NonZeroUsize::new(threads).unwrap(),
        waiting,
        ..Settings::weakest()
    };
    Threads::start(settings).unwrap()
}

/// A job that signals its start, and ends on request.
struct Gate {
    begun: mpsc::Receiver<()>,
    open: mpsc::Sender<()>,
}

fn gated() -> (Gate, impl FnOnce(&mut Memory) + Send + 'static) {
    let (begin, begun) = mpsc::channel();
    let (open, opened) = mpsc::channel();
    let job = move |_: &mut Memory| {
        begin.send(()).unwrap();
        opened.recv().unwrap();
    };
    (Gate { begun, open }, job)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p_7_concurrent_hashes_are_limited_by_the_threads() {
    let threads = Arc::new(few(3, 1_000));
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let jobs = (0..200).map(|_| {
        let (threads, running, most) = (
            Arc::clone(&threads),
            Arc::clone(&running),
            Arc::clone(&most),
        );
        async move {
            let job = move |memory: &mut Memory| {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let scheme = Argon2Hasher::scheme(Settings::weakest(), vec![0; 16], vec![0; 32]);
                memory.compute(&scheme, b"x").unwrap();
                running.fetch_sub(1, Ordering::SeqCst);
            };
            threads.run(job).await
        }
    });
    let outcomes = vestry_contract::race::race(jobs).await;
    assert!(outcomes.iter().all(Result::is_ok));
    let most = most.load(Ordering::SeqCst);
    assert!((1..=3).contains(&most), "{most} ran at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p_7_a_full_queue_refuses_at_once_and_recovers() {
    let threads = Arc::new(few(1, 2));
    let (gate, job) = gated();
    let first = tokio::spawn({
        let threads = Arc::clone(&threads);
        async move { threads.run(job).await }
    });
    gate.begun.recv().unwrap();
    // Two wait; a future enters the queue when it is first polled.
    let mut waiting: Vec<_> = (0..2)
        .map(|number| Box::pin(threads.run(move |_: &mut Memory| number)))
        .collect();
    for future in &mut waiting {
        assert!(is_pending(future.as_mut()).await);
    }
    assert!(!threads.have_room());
    let refused = threads.run(|_: &mut Memory| ()).await;
    assert!(matches!(refused, Err(HasherError::Busy)), "{refused:?}");
    gate.open.send(()).unwrap();
    first.await.unwrap().unwrap();
    for (number, future) in waiting.into_iter().enumerate() {
        assert_eq!(future.await.unwrap(), number);
    }
    assert!(threads.have_room());
    threads.run(|_: &mut Memory| ()).await.unwrap();
}

/// attack-22: a caller that leaves while its hash runs does not free the thread for the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p_7_an_aborted_call_keeps_its_place_until_its_hash_ends() {
    let threads = Arc::new(few(1, 10));
    let (gate, job) = gated();
    let ended = Arc::new(AtomicUsize::new(0));
    let mark = Arc::clone(&ended);
    let mut first = Box::pin(threads.run(move |memory: &mut Memory| {
        job(memory);
        mark.fetch_add(1, Ordering::SeqCst);
    }));
    assert!(is_pending(first.as_mut()).await);
    gate.begun.recv().unwrap();
    drop(first);
    let seen = Arc::clone(&ended);
    let mut second = Box::pin(threads.run(move |_: &mut Memory| seen.load(Ordering::SeqCst)));
    assert!(is_pending(second.as_mut()).await);
    gate.open.send(()).unwrap();
    assert_eq!(
        second.await.unwrap(),
        1,
        "the second began before the first had ended"
    );
}

/// A caller that leaves the queue costs nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p_7_an_aborted_call_in_the_queue_is_skipped() {
    let threads = Arc::new(few(1, 10));
    let (gate, job) = gated();
    let mut first = Box::pin(threads.run(job));
    assert!(is_pending(first.as_mut()).await);
    gate.begun.recv().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let mark = Arc::clone(&ran);
    let mut second =
        Box::pin(threads.run(move |_: &mut Memory| mark.fetch_add(1, Ordering::SeqCst)));
    assert!(is_pending(second.as_mut()).await);
    drop(second);
    gate.open.send(()).unwrap();
    first.await.unwrap();
    threads.run(|_: &mut Memory| ()).await.unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_loses_one_result_and_no_thread() {
    let threads = few(1, 10);
    let outcome = threads
        .run(|_: &mut Memory| -> () { panic!("for the test") })
        .await;
    assert!(matches!(outcome, Err(HasherError::Failed(_))));
    threads.run(|_: &mut Memory| ()).await.unwrap();
}

/// Whether a future is pending after it was polled.
async fn is_pending<F: Future>(mut future: std::pin::Pin<&mut F>) -> bool {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(future.as_mut().poll(context).is_pending())
    })
    .await
}
