use super::*;

const START: Timestamp = Timestamp::from_unix(1_800_000_000);

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Once a minute's failures are used up, one look-up a second is allowed until the window closes.
#[test]
fn s_16_too_many_failures_leave_one_look_up_a_second() {
    let throttle = AuthThrottle::new(3);
    let from = ip("203.0.113.9");
    for _ in 0..3 {
        assert_eq!(throttle.may_look_up(from, START), Ok(()));
        throttle.failed(from, START);
    }
    assert_eq!(throttle.may_look_up(from, START), Err(Seconds(60)));
    assert_eq!(throttle.may_look_up(ip("203.0.113.10"), START), Ok(()));
    for second in 1..60 {
        let now = START + Seconds(second);
        assert_eq!(throttle.may_look_up(from, now), Ok(()));
        for _ in 0..5 {
            let left = Seconds(60 - second);
            assert_eq!(throttle.may_look_up(from, now), Err(left));
        }
        throttle.failed(from, now);
    }
    let over = START + Seconds(60);
    for _ in 0..3 {
        assert_eq!(throttle.may_look_up(from, over), Ok(()));
        throttle.failed(from, over);
    }
    assert_eq!(throttle.may_look_up(from, over), Err(Seconds(60)));
}

/// Successful look-ups are not counted.
#[test]
fn only_failures_are_counted() {
    let throttle = AuthThrottle::new(1);
    for _ in 0..100 {
        assert_eq!(throttle.may_look_up(ip("203.0.113.9"), START), Ok(()));
    }
    let off = AuthThrottle::new(0);
    for _ in 0..100 {
        off.failed(ip("203.0.113.9"), START);
        assert_eq!(off.may_look_up(ip("203.0.113.9"), START), Ok(()));
    }
}

#[test]
fn an_ipv6_network_counts_as_one_address() {
    let throttle = AuthThrottle::new(1);
    throttle.failed(ip("2001:db8:1:2::1"), START);
    assert!(
        throttle
            .may_look_up(ip("2001:db8:1:2:f::9"), START)
            .is_err()
    );
    assert!(throttle.may_look_up(ip("2001:db8:1:3::1"), START).is_ok());
    throttle.failed(ip("::ffff:203.0.113.9"), START);
    assert!(throttle.may_look_up(ip("203.0.113.9"), START).is_err());
    assert!(throttle.may_look_up(ip("203.0.113.8"), START).is_ok());
}

/// Memory is bounded, however many addresses there are.
#[test]
fn memory_is_bounded() {
    let throttle = AuthThrottle::new(1);
    for number in 0..=MAX_ADDRESSES {
        let address = u32::try_from(number).unwrap();
        throttle.failed(IpAddr::V4(address.into()), START);
    }
    assert_eq!(throttle.windows.lock().unwrap().len(), 1);
}
