use proptest::prelude::*;

use super::*;
use crate::Environment;
use crate::ids::{AppId, Id};

fn id<I: Id>(number: u8) -> I {
    I::new(Timestamp::from_unix(1_800_000_000), [number; 16])
}

fn checkpoint() -> Checkpoint {
    let world = World::new(id(1), Environment::Live);
    Checkpoint {
        deployment: "auth.example.com".to_owned(),
        number: 7,
        at: Timestamp::from_unix(1_800_000_060),
        previous: [0xab; 32],
        lines: vec![
            Line::Chain {
                world,
                chain: id(2),
                sequence: 41,
                hash: [0x0f; 32],
            },
            Line::Events {
                world: World::new(id(1), Environment::Test),
                log: 1,
                position: 1042,
                newest: id(3),
            },
            Line::Other("guards of a later version".to_owned()),
        ],
    }
}

/// The format of section 3.3, letter by letter. Others sign and store it: never change it.
#[test]
fn the_text_is_the_published_format() {
    let app: AppId = id(1);
    let chain: AuditChainId = id(2);
    let event: EventId = id(3);
    let text = format!(
        "vestry-audit-checkpoint-v1\n\
         auth.example.com\n\
         7 1800000060 {}\n\
         chain {app} live {chain} 41 {}\n\
         events {app} test 1 1042 {event}\n\
         guards of a later version\n",
        "ab".repeat(32),
        "0f".repeat(32),
    );
    assert_eq!(checkpoint().text(), text);
    assert_eq!(Checkpoint::parse(&text), Ok(checkpoint()));
}

#[test]
fn the_first_checkpoint_names_zeros() {
    let first = Checkpoint {
        number: 1,
        previous: Checkpoint::NONE_BEFORE,
        lines: Vec::new(),
        ..checkpoint()
    };
    let text = format!(
        "vestry-audit-checkpoint-v1\nauth.example.com\n1 1800000060 {}\n",
        "0".repeat(64)
    );
    assert_eq!(first.text(), text);
    assert_eq!(Checkpoint::parse(&text), Ok(first));
}

/// The hash equals that of `sha256sum` over the text alone.
#[test]
fn a_checkpoint_is_named_by_sha_256_of_its_text() {
    let hash = Checkpoint::hash_of("abc");
    assert_eq!(
        HEXLOWER.encode(&hash),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

/// Each of these differs from a valid checkpoint in one place, given second.
#[test]
fn malformed_checkpoints_are_rejected() {
    let good = checkpoint().text();
    let zeros = "0".repeat(64);
    for (from, to) in [
        ("-v1\n", "-v2\n"),
        ("vestry-audit", " vestry-audit"),
        ("auth.example.com", "auth example.com"),
        ("auth.example.com", "Auth.example.com"),
        ("auth.example.com\n", "\n"),
        ("\n7 ", "\n07 "),
        ("\n7 ", "\n+7 "),
        ("\n7 ", "\n-7 "),
        ("\n7 ", "\n0 "),
        ("\n7 ", "\n 7 "),
        ("\n7 ", "\n7  "),
        ("\n7 ", "\n7\u{a0}"),
        ("\n7 ", "\n\u{667} "),
        ("\n7 ", "\n9223372036854775808 "),
        (" 1800000060 ", " -1 "),
        (" 1800000060 ", " 1e9 "),
        (" 1800000060 ", " "),
        ("abab\n", "abaB\n"),
        ("abab\n", "abab \n"),
        ("abab\n", "ab\n"),
        ("abab\n", "ababab\n"),
        ("\nchain app_", "\nchain user_"),
        ("\nchain ", "\nchain  "),
        ("\nchain ", "\nChain "),
        ("\nchain ", "\n chain "),
        ("\nchain ", "\nchain\t"),
        ("\nchain ", "\nch\u{e4}in "),
        (" live ", " LIVE "),
        (" live ", " prod "),
        (" auditchain_", " aud_"),
        (" 41 ", " 0 "),
        (" 41 ", " 041 "),
        (" 41 ", " 41.0 "),
        ("0f0f\n", "0f0\n"),
        ("0f0f\n", "0f0f more\n"),
        ("0f0f\n", "0f0f\r\n"),
        ("0f0f\n", "0f0f\n\n"),
        (" test 1 ", " test 0 "),
        (" 1042 ", " 0 "),
        (" 1042 ", " "),
        (" event_", " evt_"),
        ("version\n", "version"),
        ("version\n", "version\n\n"),
        ("version\n", "version\u{7}\n"),
        ("version\n", "version\u{85}\n"),
        ("version\n", "version\nchain\n"),
        ("version\n", "version\nevents\n"),
    ] {
        assert!(good.contains(from), "{from:?}");
        let text = good.replacen(from, to, 1);
        let refused = Checkpoint::parse(&text);
        let refused = refused.expect_err(&text);
        assert_eq!(refused.param, "checkpoint", "{text}");
    }
    for text in [
        "",
        "\n",
        "vestry-audit-checkpoint-v1",
        "vestry-audit-checkpoint-v1\n",
        "vestry-audit-checkpoint-v1\nlocalhost\n",
        &format!("vestry-audit-checkpoint-v1\nlocalhost\n1 0 {zeros}"),
    ] {
        assert!(Checkpoint::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn unknown_kinds_are_kept_and_ignored() {
    for line in [
        "guards app_x live 1 2 3",
        "later",
        "chains",
        "event_s 1",
        "v2 trailing space ",
        "v2  two spaces",
        "v2 \u{e9}\u{2014}+",
    ] {
        let text = format!("{}{line}\n", checkpoint().text());
        let read = Checkpoint::parse(&text).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        assert_eq!(read.lines.last(), Some(&Line::Other(line.to_owned())));
        assert_eq!(read.text(), text);
    }
}

#[test]
fn errors_name_the_line_and_repeat_nothing() {
    let text = checkpoint()
        .text()
        .replace(" 1042 ", " secret ")
        .replace("guards", "secret");
    let refused = Checkpoint::parse(&text).unwrap_err();
    assert_eq!(refused.message, "line 5 is malformed for its kind");
}

#[test]
fn deployments_are_named_like_hosts() {
    let longest = format!("{}:65535", "a".repeat(253));
    for name in [
        "auth.example.com",
        "localhost",
        "localhost:8080",
        "127.0.0.1:1",
        "[::1]:80",
        "xn--bcher-kva.example:65535",
        "service_a",
        &longest,
    ] {
        assert_eq!(check_deployment(name), Ok(()), "{name}");
        assert!(VerifierKey::new(name, [0; 32]).is_ok(), "{name}");
    }
    for name in [
        "",
        "Auth.example",
        "b\u{fc}cher.example",
        "a b",
        "a+b",
        "a\n",
        "a/b",
        "a@b",
        "https://a",
        &format!("{longest}0"),
    ] {
        let refused = check_deployment(name).expect_err(name);
        assert_eq!(refused.param, "deployment");
    }
}

fn any_id<I: Id + fmt::Debug>() -> impl Strategy<Value = I> {
    let moment = (0_i64..1 << 33).prop_map(Timestamp::from_unix);
    (moment, any::<[u8; 16]>()).prop_map(|(moment, random)| I::new(moment, random))
}

fn any_world() -> impl Strategy<Value = World> {
    let environment = prop::sample::select(&Environment::ALL);
    (any_id(), environment).prop_map(|(app, environment)| World::new(app, environment))
}

fn any_line() -> impl Strategy<Value = Line> {
    let count = || 1..=i64::MAX;
    let chain = (any_world(), any_id(), count(), any::<[u8; 32]>());
    let chain = chain.prop_map(|(world, chain, sequence, hash)| Line::Chain {
        world,
        chain,
        sequence,
        hash,
    });
    let events = (any_world(), count(), count(), any_id());
    let events = events.prop_map(|(world, log, position, newest)| Line::Events {
        world,
        log,
        position,
        newest,
    });
    let other = "[a-z_]{1,5}[0-9]( \\PC*)?".prop_map(Line::Other);
    prop_oneof![chain, events, other]
}

fn any_checkpoint() -> impl Strategy<Value = Checkpoint> {
    let deployment = "[a-z0-9]{1,9}(\\.[a-z0-9]{1,9}){0,3}(:[1-9][0-9]{0,3})?";
    let lines = prop::collection::vec(any_line(), 0..9);
    let all = (
        deployment,
        1..=i64::MAX,
        0..=i64::MAX,
        any::<[u8; 32]>(),
        lines,
    );
    all.prop_map(|(deployment, number, at, previous, lines)| Checkpoint {
        deployment,
        number,
        at: Timestamp::from_unix(at),
        previous,
        lines,
    })
}

proptest! {
    #[test]
    fn written_checkpoints_can_be_parsed(checkpoint in any_checkpoint()) {
        prop_assert_eq!(Checkpoint::parse(&checkpoint.text()), Ok(checkpoint));
    }

    /// Every accepted text has only one form, even after a modification.
    #[test]
    fn parsed_checkpoints_are_canonical(
        checkpoint in any_checkpoint(),
        place in any::<prop::sample::Index>(),
        other in "[ -~\\n]",
    ) {
        let mut text = checkpoint.text();
        let place = place.index(text.len());
        if text.is_char_boundary(place) && text.is_char_boundary(place + 1) {
            text.replace_range(place..=place, &other);
        }
        if let Ok(read) = Checkpoint::parse(&text) {
            prop_assert_eq!(read.text(), text);
        }
    }

    #[test]
    fn no_text_causes_a_panic(text in "\\PC*|(vestry-audit-checkpoint-v1\\n)?([a-z0-9_]{0,9}[ \\n]){0,9}") {
        if let Ok(read) = Checkpoint::parse(&text) {
            prop_assert_eq!(read.text(), text);
        }
    }
}
