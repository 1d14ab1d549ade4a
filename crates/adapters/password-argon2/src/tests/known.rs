//! Hashes made by other programs: the reference implementation of Argon2, libxcrypt, Python's hashlib, Firebase.

use super::*;

const PHRASE: &str = "correct horse battery staple é";

/// For each scheme, a password and its hash by another program.
const KNOWN: &[(&str, &str)] = &[
    // Argon2's reference implementation, `src/test.c`.
    (
        "password",
        "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
    ),
    (
        "password",
        "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA",
    ),
    (
        "password",
        "$argon2i$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ",
    ),
    // libxcrypt's crypt(3).
    (
        PHRASE,
        "$2a$04$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ssIi",
    ),
    (
        PHRASE,
        "$2b$04$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ssIi",
    ),
    (
        PHRASE,
        "$2y$04$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ssIi",
    ),
    (
        "",
        "$2b$04$abcdefghijklmnopqrstuubyCG3zY1GIXMyxfivm.ClDiInHzxjiq",
    ),
    // Python's hashlib.
    (
        PHRASE,
        "$scrypt$ln=10,r=8,p=1$MDEyMzQ1Njc4OWFiY2RlZg$nMXeiksZNDF6kt9MBZQF+kudDabT6b3x01jcWbxSlJg",
    ),
    (
        PHRASE,
        "$pbkdf2-sha1$i=1000,l=32$MDEyMzQ1Njc4OWFiY2RlZg$XF7MnVgxuJvq7b0UcFdZJKLh0VHuaT7D7y0EOIM58P4",
    ),
    (
        PHRASE,
        "$pbkdf2-sha256$i=1000,l=32$MDEyMzQ1Njc4OWFiY2RlZg$u7E/u6S0nYfcBPOuT45rLcIC9YWuIkITunzFCq1Akow",
    ),
    (
        PHRASE,
        "$pbkdf2-sha512$i=1000,l=32$MDEyMzQ1Njc4OWFiY2RlZg$glru3BoS6TC9hH1S47PMIVv2gHcLP2eBhp7cjfolD1w",
    ),
    // The same in the formats of passlib and Django.
    (
        PHRASE,
        "$pbkdf2$1000$MDEyMzQ1Njc4OWFiY2RlZg$XF7MnVgxuJvq7b0UcFdZJKLh0VHuaT7D7y0EOIM58P4",
    ),
    (
        PHRASE,
        "$pbkdf2-sha512$1000$MDEyMzQ1Njc4OWFiY2RlZg$glru3BoS6TC9hH1S47PMIVv2gHcLP2eBhp7cjfolD1w",
    ),
    (
        PHRASE,
        "pbkdf2_sha256$1000$0123456789abcdef$u7E/u6S0nYfcBPOuT45rLcIC9YWuIkITunzFCq1Akow=",
    ),
    (
        PHRASE,
        "pbkdf2_sha1$1000$0123456789abcdef$XF7MnVgxuJvq7b0UcFdZJKLh0VHuaT7D7y0EOIM58P4=",
    ),
    // The example of Firebase's own scrypt tool.
    (
        "user1password",
        "$firebase-scrypt$ln=14,r=8,sep=Bw==,key=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
    ),
];

/// P-4: each hash verifies as imported and in its stored form, and the stored form stays unchanged.
#[tokio::test]
async fn p_4_hashes_of_other_services_verify() {
    let hasher = weak();
    for (text, hash) in KNOWN {
        let theirs = raw(hash);
        let kept = hasher.admit(&theirs);
        let kept = kept.unwrap_or_else(|why| panic!("{hash}: {why}"));
        for hash in [&theirs, &kept] {
            assert!(hasher.is_outdated(hash), "{hash:?}");
            assert!(
                hasher.verify(&password(text), hash).await.unwrap(),
                "{}",
                theirs.text.expose()
            );
            let other = format!("{text}x");
            assert!(
                !hasher.verify(&password(&other), hash).await.unwrap(),
                "{}",
                theirs.text.expose()
            );
        }
        let again = hasher.admit(&kept).unwrap();
        assert_eq!(again.text.expose(), kept.text.expose());
    }
}

/// attack-21: bcrypt uses 72 bytes. A longer password never matches, although the other service may have accepted it.
#[tokio::test]
async fn attack_21_a_password_of_more_than_72_bytes_never_fits_an_imported_bcrypt_hash() {
    let hasher = weak();
    // 71, 72 and 80 times x; the last two have the same hash.
    let of_71 = raw("$2b$04$abcdefghijklmnopqrstuu.gc7UY/21CSNJGJg21jJzx9QiOpJ9bO");
    let of_72 = raw("$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i");
    let verify = async |times, hash| {
        hasher
            .verify(&password(&"x".repeat(times)), hash)
            .await
            .unwrap()
    };
    assert!(verify(71, &of_71).await && verify(72, &of_72).await);
    for times in [73, 80, 1024] {
        assert!(!verify(times, &of_72).await, "{times}");
    }
    assert!(!verify(72, &of_71).await && !verify(71, &of_72).await);
}

/// P-6: hashes with parameters that would make verification a denial-of-service weapon are refused at import.
#[test]
fn p_6_hashes_that_cost_too_much_are_refused() {
    let hasher = weak();
    let salt = "MDEyMzQ1Njc4OWFiY2RlZg";
    let output = "nMXeiksZNDF6kt9MBZQF+kudDabT6b3x01jcWbxSlJg";
    for expensive in [
        format!("$argon2id$v=19$m=4194304,t=1,p=1${salt}${output}"),
        format!("$argon2id$v=19$m=131073,t=1,p=1${salt}${output}"),
        format!("$argon2id$v=19$m=65536,t=9,p=1${salt}${output}"),
        format!("$argon2id$v=19$m=8,t=4294967295,p=1${salt}${output}"),
        format!("$scrypt$ln=18,r=8,p=1${salt}${output}"),
        format!("$scrypt$ln=63,r=8,p=1${salt}${output}"),
        format!("$scrypt$ln=14,r=8,p=1000000${salt}${output}"),
        format!("$scrypt$ln=1,r=4194304,p=1${salt}${output}"),
        // A tiny table with 256 MiB of lanes, and the first size above the limit for lanes.
        format!("$scrypt$ln=1,r=1,p=2097152${salt}${output}"),
        format!("$scrypt$ln=1,r=1,p=513${salt}${output}"),
        format!("$scrypt$ln=1,r=513,p=1${salt}${output}"),
        format!("$firebase-scrypt$ln=1,r=513,sep=Bw,key={output}${salt}${output}"),
        // Each block of a long output costs all the rounds.
        format!("$pbkdf2-sha256$i=1000001${salt}${}", "A".repeat(44)),
        format!("$pbkdf2-sha1$i=1000001${salt}${output}"),
        format!("$pbkdf2-sha512$i=1000001${salt}${}", "A".repeat(88)),
        format!("$pbkdf2-sha256$i=2147483648${salt}${output}"),
        format!("$pbkdf2-sha512$i=2000001${salt}${output}"),
        format!("$firebase-scrypt$ln=20,r=8,sep=Bw,key={output}${salt}${output}"),
        "$2b$15$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ssIi".to_owned(),
    ] {
        let refused = hasher.admit(&raw(&expensive)).unwrap_err();
        assert_eq!(refused, ForeignHashError::TooExpensive, "{expensive}");
    }
    for allowed in [
        format!("$argon2id$v=19$m=131072,t=4,p=4${salt}${output}"),
        format!("$scrypt$ln=17,r=8,p=1${salt}${output}"),
        format!("$pbkdf2-sha256$i=2000000${salt}${output}"),
        format!("$pbkdf2-sha1$i=1000000${salt}${output}"),
        format!("$pbkdf2-sha512$i=2000000${salt}${}", "A".repeat(86)),
        format!("$scrypt$ln=12,r=8,p=64${salt}${output}"),
        "$2b$14$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ssIi".to_owned(),
    ] {
        assert!(hasher.admit(&raw(&allowed)).is_ok(), "{allowed}");
    }
}

#[test]
fn attack_26_invalid_hashes_are_refused_without_panics() {
    let hasher = weak();
    for unknown in [
        "",
        "$",
        "$$$$",
        "hunter2",
        "$1$abc$def",
        "$2$04$x",
        "$2x$04$x",
        "$argon2d$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA",
        "{SSHA}abc",
        "5f4dcc3b5aa765d61d8327deb882cf99",
    ] {
        let refused = hasher.admit(&raw(unknown)).unwrap_err();
        assert_eq!(refused, ForeignHashError::UnknownScheme, "{unknown}");
    }
    // Each truncated, and each with one wrong byte.
    for (_, known) in KNOWN {
        for end in 0..known.len() {
            let _ = hasher.admit(&raw(&known[..end]));
        }
        for place in 0..known.len() {
            for odd in ["$", "=", ",", "-", "é", "\u{0}", "9999999999"] {
                let text = format!("{}{odd}{}", &known[..place], &known[place + 1..]);
                let _ = hasher.admit(&raw(&text));
            }
        }
    }
    let salt = "MDEyMzQ1Njc4OWFiY2RlZg";
    let output = "nMXeiksZNDF6kt9MBZQF+kudDabT6b3x01jcWbxSlJg";
    for malformed in [
        format!("$argon2id$v=19$m=8,t=1${salt}${output}"),
        format!("$argon2id$v=19$m=8,t=1,p=1,t=1${salt}${output}"),
        format!("$argon2id$v=18$m=8,t=1,p=1${salt}${output}"),
        format!("$argon2id$v=19$m=+8,t=1,p=1${salt}${output}"),
        format!("$argon2id$v=19$m=4,t=1,p=1${salt}${output}"),
        format!("$argon2id$v=19$m=8,t=1,p=1$c2FsdA${output}"),
        // A 4-byte hash can match by chance.
        format!("$argon2id$v=19$m=8,t=1,p=1${salt}$AAAAAA"),
        format!("$pbkdf2-sha256$i=0${salt}${output}"),
        format!("$pbkdf2-sha256$i=1000,l=20${salt}${output}"),
        format!("$scrypt$ln=0,r=8,p=1${salt}${output}"),
        format!("$scrypt$ln=10,r=0,p=1${salt}${output}"),
        format!("$firebase-scrypt$ln=14,r=8,sep=Bw,key=AAAA${salt}${output}"),
        // Found by `cargo xtask fuzz`: Django's salt is text, and is stored as base64 of a bounded length.
        format!("pbkdf2_sha256$1000${}${output}", "s".repeat(257)),
        "$2b$03$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ssIi".to_owned(),
        "$2b$12$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ss".to_owned(),
    ] {
        let refused = hasher.admit(&raw(&malformed)).unwrap_err();
        assert_eq!(refused, ForeignHashError::Malformed, "{malformed}");
    }
    // The stored form can always be parsed again.
    let longest = format!("pbkdf2_sha256$1000${}${output}", "s".repeat(256));
    let kept = hasher.admit(&raw(&longest)).unwrap();
    let again = hasher.admit(&kept).unwrap();
    assert_eq!(again.text.expose(), kept.text.expose());
}
