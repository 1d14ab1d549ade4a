//! Sign-in messages (EIP-4361 and its Solana form): no message has two meanings.
//!
//! A parsed message is written according to the grammar, and must parse to the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vestry_domain::rfc3339;
use vestry_domain::siwe::SignInMessage;
use vestry_domain::wallet::WalletType;

/// The message according to the grammar, with times in UTC.
fn written(message: &SignInMessage, chain: &str) -> String {
    let scheme = message.scheme.as_ref().map(|scheme| format!("{scheme}://"));
    let mut text = format!(
        "{}{} wants you to sign in with your {chain} account:\n{}\n\n",
        scheme.unwrap_or_default(),
        message.domain,
        message.address
    );
    if let Some(statement) = &message.statement {
        text.push_str(&format!("{statement}\n"));
    }
    if message.statement.is_some() || chain == "Ethereum" {
        text.push('\n');
    }
    let at = |time| rfc3339::format(time);
    let fields = [
        ("URI", message.uri.clone()),
        ("Version", message.version.clone()),
        ("Chain ID", message.chain_id.clone()),
        ("Nonce", Some(message.nonce.clone())),
        ("Issued At", message.issued_at.map(at)),
        ("Expiration Time", message.expiration_time.map(at)),
        ("Not Before", message.not_before.map(at)),
        ("Request ID", message.request_id.clone()),
    ];
    let mut lines = Vec::new();
    for (name, value) in fields {
        lines.extend(value.map(|value| format!("{name}: {value}")));
    }
    if !message.resources.is_empty() {
        lines.push("Resources:".to_owned());
        lines.extend(
            message
                .resources
                .iter()
                .map(|resource| format!("- {resource}")),
        );
    }
    text + &lines.join("\n")
}

fuzz_target!(|text: &str| {
    for (wallet_type, chain) in [
        (WalletType::Ethereum, "Ethereum"),
        (WalletType::Solana, "Solana"),
    ] {
        let Ok(message) = SignInMessage::parse(text, wallet_type) else {
            continue;
        };
        let written = written(&message, chain);
        let again = SignInMessage::parse(&written, wallet_type);
        assert_eq!(again.as_ref(), Ok(&message), "{written:?}");
    }
});
