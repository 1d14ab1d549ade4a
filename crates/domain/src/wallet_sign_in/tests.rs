//! Texts that people are asked to sign.

use super::*;

const ACCOUNT: &str = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
const NOW: Timestamp = Timestamp::from_unix(1_633_019_100);

/// Whatever an App's name, its challenges are exact sign-in messages, of the App and for its chain.
#[test]
fn m_10_every_challenge_is_a_sign_in_message() {
    for (wallet_type, chain, other, account) in [
        (WalletType::Ethereum, "8453", "1", ACCOUNT),
        (
            WalletType::Solana,
            "devnet",
            "mainnet",
            "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM",
        ),
    ] {
        for (name, shown) in [
            ("Demo", "Sign in to Demo. "),
            ("Tom & Co (EU)", "Sign in to Tom & Co (EU). "),
            ("Café", "Sign in. "),
            ("a\nURI: https://evil.example", "Sign in. "),
            ("\"quoted\"", "Sign in. "),
            ("", "Sign in. "),
        ] {
            let asker = Asker {
                name: name.to_owned(),
                domain: "localhost:3000".to_owned(),
                uri: siwe::site_url("localhost:3000"),
                chain: chain.to_owned(),
            };
            let text = challenge_text(&asker, wallet_type, account, "32891756000", NOW);
            let message = SignInMessage::parse(&text, wallet_type).unwrap();
            assert!(
                message.statement.as_ref().unwrap().starts_with(shown),
                "{text}"
            );
            let ours = ["localhost:3000".to_owned()];
            let on = |chain: &str| message.check(&ours, &[chain.to_owned()], account, NOW, NOW);
            on(chain).unwrap();
            on(other).unwrap_err();
        }
    }
}
