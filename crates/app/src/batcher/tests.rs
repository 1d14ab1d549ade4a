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

/// Has all of them ask; the turn is the first one's.
fn ask(desk: &Arc<Batcher<Doubles>>, numbers: &[u32]) -> (Answers, Flush<Doubles>) {
    let mut joined = numbers.iter().map(|number| desk.join(*number));
    let (first, turn) = joined.next().unwrap();
    let mut answers = vec![first];
    for (answer, turn) in joined {
        assert!(turn.is_none(), "a second task would serve");
        answers.push(answer);
    }
    (answers, turn.expect("no task serves"))
}

#[tokio::test]
async fn everybody_is_served_in_order_and_no_more_than_fit() {
    let desk = Arc::new(Batcher::new(Doubles::default(), false));
    let (answers, turn) = ask(&desk, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    turn.serve().await;
    let mut told = Vec::new();
    for answer in answers {
        told.push(answer.await.unwrap());
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
    assert_eq!(told, expected);
    assert_eq!(*desk.batch.sizes.lock().unwrap(), [4, 4, 2]);
    // The next batch finds the memory of the last one.
    let (answers, turn) = ask(&desk, &[21]);
    turn.serve().await;
    for answer in answers {
        assert_eq!(answer.await, Ok((42, 4)));
    }
}

/// A dropped receiver does not delay the others.
#[tokio::test]
async fn a_dropped_receiver_does_not_delay_the_others() {
    let desk = Arc::new(Batcher::new(Doubles::default(), false));
    let (mut answers, turn) = ask(&desk, &[1, 2, 3]);
    drop(answers.remove(1));
    turn.serve().await;
    for (answer, expected) in answers.into_iter().zip([2, 6]) {
        assert_eq!(answer.await, Ok((expected, 1)));
    }
}

/// A batch that panics, or a turn that never runs, closes the channels of all waiting requests; the next request is served.
#[tokio::test]
async fn a_broken_batch_closes_all_waiting_channels() {
    let desk = Arc::new(Batcher::new(Doubles::default(), false));
    for numbers in [&[1][..], &[13, 1, 2, 3, 4, 5]] {
        let (answers, turn) = ask(&desk, numbers);
        match numbers {
            [13, ..] => assert!(tokio::spawn(turn.serve()).await.unwrap_err().is_panic()),
            _ => drop(turn),
        }
        for answer in answers {
            answer.await.unwrap_err();
        }
        let (answers, turn) = ask(&desk, &[8]);
        turn.serve().await;
        for answer in answers {
            assert_eq!(answer.await, Ok((16, 1)), "the memory was not reset");
        }
        // As after a panic, so that both rounds start alike.
        drop(desk.join(0));
    }
}

/// With a queue per App, a turn that never runs delays only its own App. The memory between batches is per App.
#[tokio::test]
async fn each_app_has_its_own_turn() {
    let desk = Arc::new(Batcher::new(Doubles::default(), true));
    let (held_up, stuck) = desk.join(1);
    let (first, turn) = desk.join(101);
    let (second, none) = desk.join(102);
    assert!(none.is_none(), "a second task would serve");
    turn.unwrap().serve().await;
    assert_eq!(first.await, Ok((202, 1)));
    assert_eq!(second.await, Ok((204, 1)));
    assert_eq!(*desk.batch.sizes.lock().unwrap(), [2]);
    stuck.unwrap().serve().await;
    assert_eq!(held_up.await, Ok((2, 1)));
    let (again, turn) = desk.join(103);
    turn.unwrap().serve().await;
    assert_eq!(again.await, Ok((206, 2)));
}
