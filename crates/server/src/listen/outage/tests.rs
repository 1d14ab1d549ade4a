use super::*;

#[test]
fn pauses_grow_and_honour_retry_after() {
    let milliseconds = |misses| pause(misses, None).as_millis();
    assert_eq!(
        [1, 2, 3, 4, 5, 6, 7, u32::MAX].map(milliseconds),
        [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]
    );
    let asked = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(pause(1, asked(0)), MIN_PAUSE);
    assert_eq!(pause(1, asked(60)), Duration::from_secs(60));
    assert_eq!(pause(9, asked(1)), MAX_PAUSE);
    assert_eq!(pause(1, asked(86_400)), MAX_REQUESTED);
}
