use std::collections::BTreeSet;

use vestry_domain::ids::Id;
use vestry_domain::{Environment, Timestamp};
use vestry_ports::store::Lane;

use super::*;

fn queue(app: u8, endpoint: u8, is_later: bool) -> Queue {
    let at = Timestamp::from_unix(1_800_000_000);
    Queue {
        world: World::new(AppId::new(at, [app; 16]), Environment::Live),
        endpoint_id: WebhookEndpointId::new(at, [endpoint; 16]),
        lane: if is_later { Lane::Timed } else { Lane::First },
    }
}

/// Makes every endpoint respond once.
fn known(scheduler: &DeliveryScheduler, queues: &[Queue]) {
    for queue in queues {
        scheduler.begin(queue);
        scheduler.end(queue, Showing::Took);
    }
}

/// Starts as many attempts as there is capacity for, with endless queues.
fn fill(scheduler: &DeliveryScheduler, queues: &[Queue]) -> Vec<Queue> {
    let mut begun = Vec::new();
    scheduler.ring(queues.iter().copied());
    while let Some((queue, room)) = scheduler.next() {
        for _ in 0..room {
            scheduler.begin(&queue);
            begun.push(queue);
        }
        scheduler.ring([queue]);
    }
    begun
}

fn count(begun: &[Queue], is_wanted: impl Fn(&Queue) -> bool) -> usize {
    begun.iter().filter(|queue| is_wanted(queue)).count()
}

#[test]
fn an_endpoint_is_limited_to_its_window() {
    let scheduler = DeliveryScheduler::new(256);
    let one = queue(1, 1, false);
    assert_eq!(fill(&scheduler, &[one]), [one]);
    scheduler.end(&one, Showing::Took);
    let begun = fill(&scheduler, &[one]);
    assert_eq!(begun.len(), 8);
    assert_eq!(scheduler.next(), None);
    scheduler.end(&one, Showing::Took);
    assert_eq!(scheduler.next(), Some((one, 2)));
}

#[test]
fn retries_leave_half_of_the_window() {
    let scheduler = DeliveryScheduler::new(256);
    let (first, later) = (queue(1, 1, false), queue(1, 1, true));
    known(&scheduler, &[first]);
    scheduler.ring([later]);
    assert_eq!(scheduler.next(), Some((later, 4)));
    for _ in 0..4 {
        scheduler.begin(&later);
    }
    scheduler.ring([later]);
    assert_eq!(scheduler.next(), None);
    scheduler.ring([first]);
    assert_eq!(scheduler.next(), Some((first, 4)));
}

/// Any number of dead endpoints leave half of all attempts to those that respond (WH-4).
#[test]
fn wh_4_dead_endpoints_leave_half_of_the_room() {
    let scheduler = DeliveryScheduler::new(64);
    // Spread over many Apps, so that the limit per App does not apply.
    let dead = (0..100).map(|number| queue(number % 10, number, false));
    let dead: Vec<_> = dead.collect();
    for one in &dead {
        for _ in 0..5 {
            scheduler.begin(one);
            scheduler.end(one, Showing::Failed { is_overload: false });
        }
    }
    let begun = fill(&scheduler, &dead);
    assert_eq!(begun.len(), 32);
    let alive = queue(200, 200, false);
    known(&scheduler, &[alive]);
    scheduler.ring([alive]);
    assert_eq!(scheduler.next(), Some((alive, 8)));
}

/// Untested endpoints may turn out to be dead, so they leave a quarter free. One that is tried late still gets its turn beside dead ones.
#[test]
fn wh_4_new_endpoints_leave_a_quarter_of_the_room() {
    let scheduler = DeliveryScheduler::new(64);
    let alive = queue(200, 200, false);
    known(&scheduler, &[alive]);
    let new: Vec<_> = (0..100)
        .map(|number| queue(number % 10, number, false))
        .collect();
    let begun = fill(&scheduler, &new);
    assert_eq!(begun.len(), 48);
    let each: BTreeSet<_> = begun.iter().copied().collect();
    assert_eq!(each.len(), 48, "one attempt each");
    scheduler.ring([alive]);
    assert_eq!(scheduler.next(), Some((alive, 8)));

    // Once they have failed, they share half.
    let scheduler = DeliveryScheduler::new(64);
    for one in &begun {
        scheduler.begin(one);
        scheduler.end(one, Showing::Failed { is_overload: false });
    }
    assert_eq!(fill(&scheduler, &begun).len(), 32);
    let late = queue(201, 201, false);
    scheduler.ring([late]);
    assert_eq!(scheduler.next(), Some((late, 1)));
}

#[test]
fn no_app_has_more_than_half() {
    let scheduler = DeliveryScheduler::new(64);
    let greedy = (0..100).map(|number| queue(1, number, false));
    let queues: Vec<_> = greedy.chain([queue(2, 1, false)]).collect();
    known(&scheduler, &queues);
    let begun = fill(&scheduler, &queues);
    let app = queue(1, 0, false).world.app_id;
    assert_eq!(count(&begun, |queue| queue.world.app_id == app), 32);
    assert_eq!(count(&begun, |queue| queue.world.app_id != app), 8);
    let alone = DeliveryScheduler::new(64);
    known(&alone, &queues[..100]);
    assert_eq!(fill(&alone, &queues[..100]).len(), 32);
}

#[test]
fn queues_are_served_in_turn() {
    let scheduler = DeliveryScheduler::new(256);
    let queues = [queue(1, 1, false), queue(1, 2, false), queue(2, 1, false)];
    scheduler.ring(queues);
    let mut served = Vec::new();
    for _ in 0..6 {
        let (queue, _) = scheduler.next().unwrap();
        served.push(queue);
        scheduler.ring([queue]);
    }
    assert_eq!(served[..3], queues);
    assert_eq!(served[3..], queues);
}
