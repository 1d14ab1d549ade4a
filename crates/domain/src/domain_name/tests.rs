use super::*;

#[test]
fn attack_5_case_normalization_and_label_kind_are_ignored() {
    for (text, name) in [
        ("example.com", "example.com"),
        ("EXAMPLE.Com", "example.com"),
        ("fa\u{df}.de", "xn--fa-hia.de"),
        ("XN--FA-HIA.de", "xn--fa-hia.de"),
        ("B\u{dc}CHER.example", "xn--bcher-kva.example"),
        ("bu\u{308}cher.example", "xn--bcher-kva.example"),
        ("example\u{3002}com", "example.com"),
        ("\u{ff45}xample.com", "example.com"),
        ("example.\u{440}\u{444}", "example.xn--p1ai"),
        ("localhost", "localhost"),
    ] {
        assert_eq!(a_labels(text).as_deref(), Some(name), "{text:?}");
    }
    assert_eq!(u_labels("xn--fa-hia.de"), "fa\u{df}.de");
    assert_eq!(u_labels("example.com"), "example.com");
}

#[test]
fn attack_5_invalid_names_are_rejected() {
    let long_label = format!("{}.example", "a".repeat(64));
    let long_name = format!("{}example", "abcdefgh.".repeat(28));
    for text in [
        "",
        ".",
        "example.com.",
        ".example.com",
        "example..com",
        "exa_mple.com",
        "exa mple.com",
        "-a.example",
        "a-.example",
        "ab--c.example",
        "xn--.example",
        "xn--a.example",
        "xn--example-.com",
        "xn--\u{fc}.example",
        "a\u{200d}b.example",
        "\u{301}a.example",
        "a\u{2260}b\u{ff20}.example",
        // Addresses, and names that end like one.
        "192.0.2.1",
        "192.0.2.0x1",
        "0x7f",
        "1.2.3",
        "example.123",
        "example.\u{967}\u{968}",
        "example.\u{2460}",
        "[2001:db8::1]",
        "2001:db8::1",
        &long_label,
        &long_name,
    ] {
        assert_eq!(a_labels(text), None, "{text:?}");
    }
}
