//! The examples of EIP-4361, its grammar line by line, and the Solana format.

use super::*;

const ADDRESS: &str = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
const NOW: Timestamp = Timestamp::from_unix(1_633_019_100);

/// EIP-4361, "Examples": implicit scheme, as in the text of the standard.
const IMPLICIT: &str = "example.com wants you to sign in with your Ethereum account:
0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2

I accept the ExampleOrg Terms of Service: https://example.com/tos

URI: https://example.com/login
Version: 1
Chain ID: 1
Nonce: 32891756
Issued At: 2021-09-30T16:25:24Z
Resources:
- ipfs://bafybeiemxf5abjwjbikoz4mc3a3dla6ual3jsgpdr4cjr3oz3evfyavhwq/
- https://example.com/my-web2-claim.json";

fn ethereum(text: &str) -> Result<SignInMessage, Invalid> {
    SignInMessage::parse(text, WalletType::Ethereum)
}

fn check(message: &SignInMessage, domain: &str) -> Result<(), Invalid> {
    message.check(&[domain.to_owned()], &["1".to_owned()], ADDRESS, NOW, NOW)
}

#[test]
fn eip_4361_examples_are_parsed() {
    let message = ethereum(IMPLICIT).unwrap();
    assert_eq!(
        message,
        SignInMessage {
            scheme: None,
            domain: "example.com".into(),
            address: ADDRESS.into(),
            statement: Some(
                "I accept the ExampleOrg Terms of Service: https://example.com/tos".into()
            ),
            uri: Some("https://example.com/login".into()),
            version: Some("1".into()),
            chain_id: Some("1".into()),
            nonce: "32891756".into(),
            issued_at: Some(Timestamp::from_unix(1_633_019_124)),
            expiration_time: None,
            not_before: None,
            request_id: None,
            resources: vec![
                "ipfs://bafybeiemxf5abjwjbikoz4mc3a3dla6ual3jsgpdr4cjr3oz3evfyavhwq/".into(),
                "https://example.com/my-web2-claim.json".into(),
            ],
        }
    );
    check(&message, "example.com").unwrap();

    // The other two examples of the standard: a port, and an explicit scheme.
    let port = IMPLICIT
        .replacen("example.com wants", "example.com:3388 wants", 1)
        .replace("/login", ":3388/login");
    let message = ethereum(&port).unwrap();
    assert_eq!(message.domain, "example.com:3388");
    check(&message, "example.com:3388").unwrap();
    check(&message, "example.com").unwrap_err();
    let scheme = IMPLICIT.replacen("example.com wants", "https://example.com wants", 1);
    let message = ethereum(&scheme).unwrap();
    assert_eq!(message.scheme.as_deref(), Some("https"));
    check(&message, "example.com").unwrap();
}

#[test]
fn every_field_of_the_grammar_is_parsed() {
    let full = IMPLICIT.replace(
        "Resources:",
        "Expiration Time: 2021-09-30T16:35:24Z\nNot Before: 2021-09-30T16:15:24.123Z\nRequest ID: a b\nResources:",
    );
    let message = ethereum(&full).unwrap();
    assert_eq!(message.expiration_time.unwrap().unix(), 1_633_019_724);
    assert_eq!(message.not_before.unwrap().unix(), 1_633_018_524);
    assert_eq!(message.request_id.as_deref(), Some("a b"));
    // Without a statement there are two empty lines.
    let bare = IMPLICIT.replace(
        "I accept the ExampleOrg Terms of Service: https://example.com/tos\n",
        "",
    );
    assert_eq!(ethereum(&bare).unwrap().statement, None);
    let (bare, _) = bare.split_once("\nResources:").unwrap();
    assert_eq!(ethereum(bare).unwrap().resources, Vec::<String>::new());
    let none = format!("{bare}\nResources:");
    ethereum(&none).unwrap();
}

/// Missing, duplicate, misplaced and extra parts are rejected.
#[test]
fn deviations_from_the_grammar_are_rejected() {
    let edits = [
        ("Ethereum account", "Solana account"),
        ("Ethereum account:", "Ethereum account: "),
        ("\n\nI accept", "\nI accept"),
        ("tos\n\nURI", "tos\nURI"),
        ("tos\n\nURI", "tos\nmore\n\nURI"),
        ("tos\n\nURI", "tos\n\n\nURI"),
        ("URI: https://example.com/login\n", ""),
        ("URI: ", "uri: "),
        ("URI: ", "URI:"),
        ("Version: 1\n", ""),
        ("Version: 1", "Version: 2"),
        ("Version: 1", "Version: 01"),
        ("Chain ID: 1\n", ""),
        ("Chain ID: 1", "Chain ID: mainnet"),
        ("Chain ID: 1", "Chain ID: "),
        ("Nonce: 32891756\n", ""),
        ("Nonce: 32891756", "Nonce: 3289175"),
        ("Nonce: 32891756", "Nonce: 3289 1756"),
        ("Nonce: 32891756", "Nonce: 32891756\nNonce: 32891756"),
        ("Issued At: 2021-09-30T16:25:24Z\n", ""),
        ("2021-09-30T16:25:24Z", "yesterday"),
        ("Version: 1\nChain ID: 1", "Chain ID: 1\nVersion: 1"),
        (
            "Resources:",
            "Request ID: 1\nNot Before: 2021-09-30T16:25:24Z\nResources:",
        ),
        ("Resources:", "Anything: else\nResources:"),
        ("- ipfs", "ipfs"),
        ("- https://example.com/my-web2-claim.json", "- no uri"),
        ("claim.json", "claim.json\n"),
        ("tos\n", "tos\r\n"),
        ("ExampleOrg", "Example\0Org"),
        ("ExampleOrg", "Example\u{85}Org"),
    ];
    for (from, to) in edits {
        let edited = IMPLICIT.replacen(from, to, 1);
        assert_ne!(edited, IMPLICIT, "{from}");
        let refused = ethereum(&edited).unwrap_err();
        assert_eq!(refused.param, "siwe_challenge", "{from} -> {to}");
    }
    for odd in [
        "",
        "\n",
        &IMPLICIT[..40],
        &format!("{IMPLICIT}{}", "a".repeat(9_000)),
    ] {
        ethereum(odd).unwrap_err();
    }
    SignInMessage::parse(IMPLICIT, WalletType::Solana).unwrap_err();
    SignInMessage::parse(IMPLICIT, WalletType::Bitcoin).unwrap_err();
}

#[test]
fn another_site_account_or_time_is_refused() {
    let refused = |from: &str, to: &str| {
        let edited = IMPLICIT.replacen(from, to, 1);
        assert_ne!(edited, IMPLICIT);
        let message = ethereum(&edited).unwrap();
        check(&message, "example.com").unwrap_err()
    };
    for site in [
        "evil.com",
        "example.com.evil.com",
        "sub.example.com",
        "example.com:8443",
        "user@example.com",
        "example.com/",
        "",
    ] {
        refused("example.com wants", &format!("{site} wants"));
    }
    refused("example.com wants", "http://example.com wants");
    refused("example.com wants", "ftp://example.com wants");
    for uri in [
        "https://evil.com/login",
        "http://example.com/login",
        "https://example.com@evil.com/",
        "https://user@example.com/",
        "https://example.com:8443/",
        "example.com/login",
        "data:text/plain,x",
        "",
    ] {
        refused("URI: https://example.com/login", &format!("URI: {uri}"));
    }
    refused(ADDRESS, &ADDRESS.to_lowercase());
    refused(ADDRESS, "0x0000000000000000000000000000000000000000");
    refused("16:25:24Z", "16:30:01Z");
    refused("16:25:24Z", "16:19:59Z");
    refused(
        "Resources:",
        "Expiration Time: 2021-09-30T16:25:00Z\nResources:",
    );
    refused("Resources:", "Not Before: 2021-09-30T16:25:01Z\nResources:");
    let message = ethereum(IMPLICIT).unwrap();
    let mainnet = ["1".to_owned()];
    message.check(&[], &mainnet, ADDRESS, NOW, NOW).unwrap_err();
    check(&message, "EXAMPLE.com").unwrap();
}

#[test]
fn a_developers_machine_may_use_plain_http() {
    let local = IMPLICIT
        .replacen("example.com wants", "http://localhost:3000 wants", 1)
        .replace("URI: https://example.com", "URI: http://localhost:3000");
    check(&ethereum(&local).unwrap(), "localhost:3000").unwrap();
}

/// The Solana format: all fields except the nonce are optional, and without a statement they follow directly.
#[test]
fn the_solana_form_is_parsed() {
    const ACCOUNT: &str = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM";
    let solana = |text: &str| SignInMessage::parse(text, WalletType::Solana);
    let first =
        format!("example.com wants you to sign in with your Solana account:\n{ACCOUNT}\n\n");
    let full = format!(
        "{first}Sign in.\n\nURI: https://example.com\nVersion: 1\nChain ID: solana:mainnet\nNonce: oNCEHm5jzQU2WvuBB\n\
         Issued At: 2021-09-30T16:25:24.000Z\nResources:\n- https://example.com"
    );
    let message = solana(&full).unwrap();
    assert_eq!(message.chain_id.as_deref(), Some("solana:mainnet"));
    let (ours, chains) = (["example.com".to_owned()], ["mainnet".to_owned()]);
    message.check(&ours, &chains, ACCOUNT, NOW, NOW).unwrap();
    for short in [
        "Nonce: oNCEHm5jzQU2WvuBB",
        "Sign in.\n\nNonce: oNCEHm5jzQU2WvuBB",
    ] {
        let message = solana(&format!("{first}{short}")).unwrap();
        assert_eq!(message.nonce, "oNCEHm5jzQU2WvuBB");
        message.check(&ours, &chains, ACCOUNT, NOW, NOW).unwrap();
    }
    for odd in [
        "Sign in.",
        "Sign in.\n\n",
        "Version: 2\nNonce: oNCEHm5jzQU2WvuBB",
        "",
    ] {
        solana(&format!("{first}{odd}")).unwrap_err();
    }
    ethereum(&full).unwrap_err();
}

#[test]
fn lists_of_domains() {
    for good in [
        vec![],
        vec!["example.com"],
        vec!["localhost:3000", "a.b.c", "127.0.0.1"],
    ] {
        let good: Vec<String> = good.into_iter().map(str::to_owned).collect();
        check_domains(&good).unwrap();
    }
    for bad in [
        "",
        "https://example.com",
        "example.com/",
        "a b",
        "bücher.example",
        "x@y",
        "a:443",
    ] {
        let refused = check_domains(&[bad.to_owned()]).unwrap_err();
        assert_eq!(refused.param, "siwe_domains", "{bad}");
    }
    check_domains(&vec!["a.example".to_owned(); 21]).unwrap_err();
}

#[test]
fn m_10_lists_of_chains() {
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let mainnet = names(&["mainnet"]);
    for good in [vec![1], vec![8453, 1], vec![u64::MAX]] {
        check_chains(&good, &mainnet).unwrap();
    }
    for bad in [vec![], vec![0], vec![1; 21]] {
        let refused = check_chains(&bad, &mainnet).unwrap_err();
        assert_eq!(refused.param, "siwe_chain_ids", "{bad:?}");
    }
    check_chains(&[1], &names(&["devnet", "localnet"])).unwrap();
    for bad in [
        &[][..],
        &["mainnet-beta"],
        &["solana:mainnet"],
        &["1"],
        &["mainnet"; 5],
    ] {
        let refused = check_chains(&[1], &names(bad)).unwrap_err();
        assert_eq!(refused.param, "siws_clusters", "{bad:?}");
    }
}
