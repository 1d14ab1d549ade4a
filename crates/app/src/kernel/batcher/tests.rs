//! Tests of batching: who is served together, who waits, and how failures are reported.

use vestry_domain::Timestamp;
use vestry_domain::ids::Id;

use super::*;

/// Doubles numbers and records the batch size. Panics at 13.
#[derive(Default)]
struct Doubles {
    sizes: Mutex<Vec<usize>>,
}

impl Batch for Doubles {
    type Asked = u32;
    type Answer = (u32, usize);
    /// Batches so far.
    type Memory = usize;

    const MAX_SIZE: usize = 4;

    /// Numbers from 100 on belong to other Apps, one for each hundred.
    fn app(number: &u32) -> AppId {
        let hundred = u8::try_from(number / 100).unwrap();
        AppId::new(Timestamp::from_unix(1_800_000_000), [hundred; 16])
    }

    async fn serve(&self, asked: Vec<u32>, memory: &mut usize) -> Vec<(u32, usize)> {
        assert!(!asked.contains(&13), "injected panic");
        self.sizes.lock().unwrap().push(asked.len());
        *memory += 1;
        asked.iter().map(|number| (number * 2, *memory)).collect()
    }
}

type Answers = Vec<oneshot::Receiver<(u32, usize)>>;

/// Has all of them ask; the flush is the first one's.
fn ask(batcher: &Arc<Batcher<Doubles>>, numbers: &[u32]) -> (Answers, Flush<Doubles>) {
    let mut joined = numbers.iter().map(|number| batcher.join(*number));
    let (first, flush) = joined.next().unwrap();
    let mut answers = vec![first];
    for (answer, flush) in joined {
        assert!(flush.is_none(), "a second task would serve");
        answers.push(answer);
    }
    (answers, flush.expect("no task serves"))
}

#[tokio::test]
async fn everybody_is_served_in_order_and_no_more_than_fit() {
    let batcher = Arc::new(Batcher::new(Doubles::default(), Partitions::One));
    let (answers, flush) = ask(&batcher, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    flush.serve().await;
    let mut results = Vec::new();
    for answer in answers {
        results.push(answer.await.unwrap());
    }
    let expected = [
        (2, 1),
        (4, 1),
        (6, 1),
        (8, 1),
        (10, 2),
        (12, 2),
        (14, 2),
        (16, 2),
        (18, 3),
        (20, 3),
    ];
    assert_eq!(results, expected);
    assert_eq!(*batcher.batch.sizes.lock().unwrap(), [4, 4, 2]);
    // The next batch finds the memory of the last one.
    let (answers, flush) = ask(&batcher, &[21]);
    flush.serve().await;
    for answer in answers {
        assert_eq!(answer.await, Ok((42, 4)));
    }
}

/// A dropped receiver does not delay the others.
#[tokio::test]
async fn a_dropped_receiver_does_not_delay_the_others() {
    let batcher = Arc::new(Batcher::new(Doubles::default(), Partitions::One));
    let (mut answers, flush) = ask(&batcher, &[1, 2, 3]);
    drop(answers.remove(1));
    flush.serve().await;
    for (answer, expected) in answers.into_iter().zip([2, 6]) {
        assert_eq!(answer.await, Ok((expected, 1)));
    }
}

/// A batch that panics, or a flush that never runs, closes the channels of all waiting requests; the next request is served.
#[tokio::test]
async fn a_broken_batch_closes_all_waiting_channels() {
    let batcher = Arc::new(Batcher::new(Doubles::default(), Partitions::One));
    for numbers in [&[1][..], &[13, 1, 2, 3, 4, 5]] {
        let (answers, flush) = ask(&batcher, numbers);
        match numbers {
            [13, ..] => assert!(tokio::spawn(flush.serve()).await.unwrap_err().is_panic()),
            _ => drop(flush),
        }
        for answer in answers {
            answer.await.unwrap_err();
        }
        let (answers, flush) = ask(&batcher, &[8]);
        flush.serve().await;
        for answer in answers {
            assert_eq!(answer.await, Ok((16, 1)), "the memory was not reset");
        }
        // As after a panic, so that both rounds start alike.
        drop(batcher.join(0));
    }
}

/// With a queue per App, a flush that never runs delays only its own App. The memory between batches is per App.
#[tokio::test]
async fn each_app_has_its_own_turn() {
    let batcher = Arc::new(Batcher::new(Doubles::default(), Partitions::PerApp));
    let (held_up, stuck) = batcher.join(1);
    let (first, flush) = batcher.join(101);
    let (second, none) = batcher.join(102);
    assert!(none.is_none(), "a second task would serve");
    flush.unwrap().serve().await;
    assert_eq!(first.await, Ok((202, 1)));
    assert_eq!(second.await, Ok((204, 1)));
    assert_eq!(*batcher.batch.sizes.lock().unwrap(), [2]);
    stuck.unwrap().serve().await;
    assert_eq!(held_up.await, Ok((2, 1)));
    let (again, flush) = batcher.join(103);
    flush.unwrap().serve().await;
    assert_eq!(again.await, Ok((206, 2)));
}
