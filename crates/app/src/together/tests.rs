//! Who is served with whom, who is waited for, and what becomes of them when it fails.

use futures_util::FutureExt;

use super::*;

/// Doubles numbers, and remembers how many came at once. Panics at 13.
#[derive(Default)]
struct Doubles<const ENOUGH: usize> {
    sizes: Mutex<Vec<usize>>,
}

impl<const ENOUGH: usize> Batch for Doubles<ENOUGH> {
    type Asked = u32;
    type Answer = (u32, usize);
    /// Batches so far.
    type Memory = usize;

    const MOST: usize = 4;
    const ENOUGH: usize = ENOUGH;

    async fn serve(&self, asked: Vec<u32>, memory: &mut usize) -> Vec<(u32, usize)> {
        assert!(!asked.contains(&13), "the test pulls the plug");
        self.sizes.lock().unwrap().push(asked.len());
        *memory += 1;
        asked.iter().map(|number| (number * 2, *memory)).collect()
    }
}

type Answers = Vec<oneshot::Receiver<(u32, usize)>>;

/// Has all of them ask; the turn is the first one's.
fn ask<const ENOUGH: usize>(
    desk: &Arc<Together<Doubles<ENOUGH>>>,
    numbers: &[u32],
) -> (Answers, Turn<Doubles<ENOUGH>>) {
    let mut joined = numbers.iter().map(|number| desk.join(*number));
    let (first, turn) = joined.next().unwrap();
    let mut answers = vec![first];
    for (answer, turn) in joined {
        assert!(turn.is_none(), "two would serve");
        answers.push(answer);
    }
    (answers, turn.expect("nobody serves"))
}

#[tokio::test]
async fn everybody_is_served_in_order_and_no_more_than_fit() {
    let desk = Arc::new(Together::new(Doubles::<1>::default()));
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
    // The next one finds the memory of the last one.
    let (answers, turn) = ask(&desk, &[21]);
    turn.serve().await;
    for answer in answers {
        assert_eq!(answer.await, Ok((42, 4)));
    }
}

/// Whoever is no longer there to be told holds nobody up.
#[tokio::test]
async fn one_who_left_costs_the_others_nothing() {
    let desk = Arc::new(Together::new(Doubles::<1>::default()));
    let (mut answers, turn) = ask(&desk, &[1, 2, 3]);
    drop(answers.remove(1));
    turn.serve().await;
    for (answer, expected) in answers.into_iter().zip([2, 6]) {
        assert_eq!(answer.await, Ok((expected, 1)));
    }
}

/// A batch that panics, and a turn that is never taken, end with everybody who waits told so, and the next one served.
#[tokio::test]
async fn who_waits_for_a_broken_batch_is_told() {
    let desk = Arc::new(Together::new(Doubles::<1>::default()));
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
            assert_eq!(answer.await, Ok((16, 1)), "the memory was not begun anew");
        }
        // As after a panic, so that both rounds begin alike.
        drop(desk.join(0));
    }
}

/// A batch waits for those who are announced until they ask or will not, and for nobody when enough are there.
#[tokio::test]
async fn those_who_are_announced_are_waited_for() {
    for (waiting, announced, waits) in [
        (0, 0, false),
        (1, 0, false),
        (3, 1, true),
        (1, 9, true),
        (0, 1, true),
        (4, 1, false),
        (5, 9, false),
    ] {
        let case = format!("{waiting} waiting, {announced} announced");
        let desk = Arc::new(Together::new(Doubles::<4>::default()));
        let mut joined: Vec<_> = (0..waiting).map(|number| desk.join(number)).collect();
        let coming: Vec<_> = (0..announced).map(|_| desk.announce()).collect();
        // A ring that nobody heard, of a moment that has passed.
        desk.bell.notify_one();
        let mut gathers = Box::pin(desk.gather());
        let mut is_done = || gathers.as_mut().now_or_never().is_some();
        assert_eq!(!is_done(), waits, "{case}");
        if !waits {
            continue;
        }
        let mut left = announced;
        for (number, announced) in coming.into_iter().enumerate() {
            // Every other one fails, and will not ask.
            if number % 2 == 0 {
                joined.push(desk.join(0));
            }
            drop(announced);
            left -= 1;
            let is_served = left == 0 || joined.len() >= 4;
            assert_eq!(is_done(), is_served, "{case}, {left} left");
            if is_served {
                break;
            }
        }
    }
}

/// Somebody who was not announced makes them enough.
#[tokio::test]
async fn nobody_is_waited_for_any_longer_when_they_are_enough() {
    let desk = Arc::new(Together::new(Doubles::<4>::default()));
    let _held_up = desk.announce();
    let mut joined: Vec<_> = (0..3).map(|number| desk.join(number)).collect();
    let mut gathers = Box::pin(desk.gather());
    assert!(gathers.as_mut().now_or_never().is_none());
    joined.push(desk.join(3));
    assert!(gathers.now_or_never().is_some(), "nobody rang");
}

/// One who was announced and is held up delays the others by little.
#[tokio::test]
async fn a_batch_does_not_wait_for_ever() {
    let desk = Arc::new(Together::new(Doubles::<4>::default()));
    let _held_up = desk.announce();
    let (answers, turn) = ask(&desk, &[1, 2]);
    turn.serve().await;
    for (answer, expected) in answers.into_iter().zip([2, 4]) {
        assert_eq!(answer.await, Ok((expected, 1)));
    }
}
