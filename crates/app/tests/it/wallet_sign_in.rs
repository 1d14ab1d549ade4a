//! Signing in with a self-custodied wallet: challenges, sign-in messages, single use, and whose address it is.

use std::sync::Arc;

use ed25519_dalek::{Signer as _, SigningKey};
use vestry_app::identity::sessions::SessionFields;
use vestry_app::identity::wallet_sign_in::{
    BeginWalletSignIn, SignedText, VerifiedWallet, VerifyWallet,
};
use vestry_app::wallets::{ListWallets, SignError, UnusableWallet};
use vestry_app::{Caller, Refusal};
use vestry_chains::{Chains, PrivateKey, Signer};
use vestry_contract::race::race;
use vestry_domain::ids::{Id, UserId};
use vestry_domain::session::{DeviceFingerprint, Proof};
use vestry_domain::signing::SigningRequest;
use vestry_domain::siwe::SignInMessage;
use vestry_domain::user::UserStatus;
use vestry_domain::wallet::{AddressForm, WalletType};
use vestry_domain::wallet_sign_in::WalletChallenge;
use vestry_domain::{Environment, Secret, rfc3339};

use crate::harness::{Harness, ISSUER_HOST, START, lasting};
use crate::wallets::text;

/// A wallet that a person holds.
enum Pocket {
    Ethereum(Chains, PrivateKey),
    Solana(Box<SigningKey>),
}

impl Pocket {
    fn ethereum(seed: u8) -> Self {
        let chains = Chains::new(&Secret::new([1; 32]));
        let chain = chains.get(WalletType::Ethereum);
        let key = chain.private_key(&[seed; 32]).unwrap();
        Self::Ethereum(chains, key)
    }

    fn solana(seed: u8) -> Self {
        Self::Solana(Box::new(SigningKey::from_bytes(&[seed; 32])))
    }

    const fn wallet_type(&self) -> WalletType {
        match self {
            Self::Ethereum(..) => WalletType::Ethereum,
            Self::Solana(_) => WalletType::Solana,
        }
    }

    fn address(&self) -> String {
        match self {
            Self::Ethereum(chains, key) => {
                let chain = chains.get(WalletType::Ethereum);
                chain
                    .address(&chain.public_key(key).unwrap(), Environment::Test)
                    .unwrap()
            }
            Self::Solana(key) => bs58::encode(key.verifying_key().as_bytes()).into_string(),
        }
    }

    fn sign(&self, message: &str) -> String {
        match self {
            Self::Ethereum(chains, key) => {
                let chain = chains.get(WalletType::Ethereum);
                let public_key = chain.public_key(key).unwrap();
                let signer = Signer {
                    public_key: &public_key,
                    address: &self.address(),
                    environment: Environment::Test,
                };
                let request = SigningRequest::message(message);
                let prepared = chain.prepare(&request, signer).unwrap();
                let signed = prepared.sign(key, &mut |_: &mut [u8]| {}).unwrap();
                signed.text("signature").unwrap().to_owned()
            }
            Self::Solana(key) => {
                bs58::encode(key.sign(message.as_bytes()).to_bytes()).into_string()
            }
        }
    }

    fn begin(&self, user_id: Option<UserId>) -> BeginWalletSignIn {
        BeginWalletSignIn {
            wallet_type: self.wallet_type(),
            public_address: self.address(),
            user_id,
        }
    }

    /// A signature over a text, as presented.
    fn proof(&self, signed: &str, text: SignedText) -> VerifyWallet {
        VerifyWallet {
            wallet_type: self.wallet_type(),
            public_address: self.address(),
            signature: self.sign(signed),
            text,
            session_fields: SessionFields::default(),
            device_fingerprint: DeviceFingerprint::default(),
        }
    }

    fn answer(&self, challenge: &WalletChallenge) -> VerifyWallet {
        self.proof(&challenge.text, SignedText::Challenge)
    }

    /// A sign-in message of `example.com` with a nonce.
    fn message(&self, nonce: &str, harness: &Harness) -> String {
        let (name, chain_id) = match self {
            Self::Ethereum(..) => ("Ethereum", "1"),
            Self::Solana(_) => ("Solana", "mainnet"),
        };
        format!(
            "example.com wants you to sign in with your {name} account:\n{}\n\nWelcome.\n\n\
             URI: https://example.com/login\nVersion: 1\nChain ID: {chain_id}\nNonce: {nonce}\nIssued At: {}",
            self.address(),
            rfc3339::format(harness.now())
        )
    }

    fn siwe(&self, message: &str) -> VerifyWallet {
        self.proof(message, SignedText::SignInMessage(message.to_owned()))
    }
}

impl Harness {
    async fn challenge(
        &self,
        caller: &Caller,
        pocket: &Pocket,
        user: Option<UserId>,
    ) -> WalletChallenge {
        let begun = self
            .service
            .begin_wallet_sign_in(caller, pocket.begin(user));
        begun.await.unwrap()
    }

    async fn verify_wallet(
        &self,
        caller: &Caller,
        command: VerifyWallet,
    ) -> Result<VerifiedWallet, Refusal> {
        self.service.verify_wallet_sign_in(caller, command).await
    }
}

fn is_invalid<T>(outcome: &Result<T, Refusal>) -> bool {
    matches!(outcome, Err(Refusal::InvalidCredentials))
}

/// The first signature creates an active user and a read-only wallet that is not the default; the next one signs the same user in.
#[tokio::test]
async fn a_new_address_becomes_a_user_with_a_read_only_wallet() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for pocket in [Pocket::ethereum(5), Pocket::solana(5)] {
        let challenge = harness.challenge(&test, &pocket, None).await;
        assert!(challenge.is_new_user);
        let user = challenge.user_id;
        assert!(harness.service.get_user(&test, user).await.is_err());
        let command = VerifyWallet {
            session_fields: lasting(60),
            ..pocket.answer(&challenge)
        };
        let verified = harness.verify_wallet(&test, command).await.unwrap();
        let wallet = verified.wallet;
        assert_eq!(wallet.user_id, user);
        assert_eq!(wallet.public_address, pocket.address());
        assert!(wallet.verified && wallet.is_read_only);
        assert!(!wallet.is_default && !wallet.is_imported);
        let session = verified.issued.unwrap().session;
        assert_eq!(session.user_id, user);
        let proof = Proof::Wallet {
            wallet_id: wallet.id,
            wallet_type: pocket.wallet_type(),
            public_address: pocket.address(),
        };
        assert_eq!(session.factors[0].proof, proof);
        let full = harness.service.get_user(&test, user).await.unwrap();
        assert_eq!(full.profile.user.status, UserStatus::Active);
        assert_eq!(full.profile.user.created_at, user.timestamp());
        assert_eq!(full.wallets, std::slice::from_ref(&wallet));

        harness.pass(1);
        let challenge = harness.challenge(&test, &pocket, None).await;
        assert!(!challenge.is_new_user);
        assert_eq!(challenge.user_id, user);
        let again = harness
            .verify_wallet(&test, pocket.answer(&challenge))
            .await;
        assert_eq!(again.unwrap().wallet, wallet);
        // It can be read and listed, and cannot sign.
        assert_eq!(
            harness.service.get_wallet(&test, wallet.id).await.unwrap(),
            wallet
        );
        let query = ListWallets {
            user_id: Some(user),
            ..ListWallets::default()
        };
        let listed = harness.service.list_wallets(&test, query).await.unwrap();
        assert_eq!(listed.wallets, std::slice::from_ref(&wallet));
        let refused = harness.service.sign(&test, text(wallet.id, "hi")).await;
        assert!(matches!(
            refused,
            Err(SignError::Unusable(UnusableWallet::ReadOnly))
        ));
        // It is the user's wallet of its type; for another type a managed one is created (M-32).
        let created = async |wallet_type| {
            let usual = AddressForm::Usual;
            let created = harness
                .service
                .create_wallet(&test, user, wallet_type, usual);
            created.await.unwrap()
        };
        assert_eq!(created(pocket.wallet_type()).await, wallet);
        let own = created(WalletType::Stellar).await;
        assert!(own.is_default && !own.is_read_only);
    }
}

/// A challenge is single-use and valid for ten minutes, for its address and environment. Everything else gets one response (like W-1, R6).
#[tokio::test]
async fn a_challenge_is_single_use_and_lives_ten_minutes() {
    let harness = Harness::new().await;
    let (test, live) = (harness.test().await, harness.live().await);
    let (pocket, other) = (Pocket::ethereum(5), Pocket::ethereum(6));
    let challenge = harness.challenge(&test, &pocket, None).await;
    assert!(is_invalid(
        &harness.verify_wallet(&test, other.answer(&challenge)).await
    ));
    let forged = VerifyWallet {
        signature: other.sign(&challenge.text),
        ..pocket.answer(&challenge)
    };
    assert!(is_invalid(&harness.verify_wallet(&test, forged).await));
    for caller in [&live, &harness.stranger().await] {
        let refused = harness
            .verify_wallet(caller, pocket.answer(&challenge))
            .await;
        assert!(is_invalid(&refused));
    }
    let never_issued = pocket.proof("Sign in", SignedText::Challenge);
    assert!(is_invalid(
        &harness.verify_wallet(&test, never_issued).await
    ));
    harness
        .verify_wallet(&test, pocket.answer(&challenge))
        .await
        .unwrap();
    assert!(is_invalid(
        &harness
            .verify_wallet(&test, pocket.answer(&challenge))
            .await
    ));
    let late = harness.challenge(&test, &pocket, None).await;
    harness.pass(600);
    assert!(is_invalid(
        &harness.verify_wallet(&test, pocket.answer(&late)).await
    ));
    let in_time = harness.challenge(&test, &pocket, None).await;
    harness.pass(599);
    harness
        .verify_wallet(&test, pocket.answer(&in_time))
        .await
        .unwrap();
}

/// Requesting challenges for another person's address takes none away. The live one is returned again while it has five minutes left,
/// and stays valid next to its successor (attack 24).
#[tokio::test]
async fn attack_24_a_second_request_takes_no_challenge_away() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let pocket = Pocket::ethereum(5);
    let first = harness.challenge(&test, &pocket, None).await;
    harness.pass(299);
    assert_eq!(harness.challenge(&test, &pocket, None).await, first);
    harness.pass(2);
    let second = harness.challenge(&test, &pocket, None).await;
    assert_ne!(second.nonce, first.nonce);
    for _ in 0..50 {
        assert_eq!(harness.challenge(&test, &pocket, None).await, second);
    }
    harness
        .verify_wallet(&test, pocket.answer(&first))
        .await
        .unwrap();
    // The other one names a user of its own; by now the address has one.
    let signed_in = harness.verify_wallet(&test, pocket.answer(&second)).await;
    assert_eq!(signed_in.unwrap().wallet.user_id, first.user_id);
}

/// Many users who request challenges for another person's address crowd no one out: they are refused, not the holder.
///
/// Challenges already issued stay valid, with Vestry's own text and with a sign-in message (attack 24).
#[tokio::test]
async fn attack_24_many_users_crowd_no_one_out_of_an_address() {
    let harness = Harness::new().await;
    harness.set(&[("siwe_domains", r#"["example.com"]"#)]).await;
    let test = harness.test().await;
    let mut crowd = Vec::new();
    for number in 0..100 {
        let email = format!("eve{number}@example.com");
        crowd.push(harness.walletless(&test, &email).await);
    }
    let honest = harness.sign_in(&test, "ada@example.com", 5).await;
    let honest = honest.session.user_id;
    for (seed, known) in [(1, true), (2, false)] {
        let pocket = Pocket::ethereum(seed);
        let user = known.then_some(honest);
        let before = harness.challenge(&test, &pocket, user).await;
        let mut refused = 0;
        for eve in &crowd {
            let begun = pocket.begin(Some(*eve));
            match harness.service.begin_wallet_sign_in(&test, begun).await {
                Ok(_) => {}
                Err(Refusal::TooMany { retry_after }) => {
                    assert!((1..=300).contains(&retry_after.0));
                    refused += 1;
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        assert!(refused >= 100 - 32, "{refused}");
        // A requester with a live challenge gets it again, and so does one without a user.
        assert_eq!(harness.challenge(&test, &pocket, user).await, before);
        harness.challenge(&test, &pocket, None).await;
        let answer = if known {
            pocket.answer(&before)
        } else {
            pocket.siwe(&pocket.message(&before.nonce, &harness))
        };
        let verified = harness.verify_wallet(&test, answer).await.unwrap();
        assert!(!known || verified.wallet.user_id == honest);
    }
}

/// Fifty concurrent requests for the same new address all get a response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_begins_of_one_address_are_all_answered() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let pocket = Pocket::ethereum(7);
    let tasks = (0..50).map(|_| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        let begun = pocket.begin(None);
        async move { service.begin_wallet_sign_in(&test, begun).await }
    });
    for begun in race(tasks).await {
        assert!(begun.unwrap().is_new_user);
    }
}

/// EIP-4361 and its Solana form: every field is checked, with our nonce, for a domain of the App.
#[tokio::test]
async fn sign_in_messages_are_checked_completely() {
    let harness = Harness::new().await;
    harness.set(&[("siwe_domains", r#"["example.com"]"#)]).await;
    let test = harness.test().await;
    for pocket in [Pocket::ethereum(5), Pocket::solana(5)] {
        let challenge = harness.challenge(&test, &pocket, None).await;
        let message = pocket.message(&challenge.nonce, &harness);
        for (from, to) in [
            ("example.com wants", "evil.com wants"),
            ("https://example.com", "https://evil.com"),
            ("Version: 1", "Version: 2"),
            (
                &pocket.address(),
                "0x0000000000000000000000000000000000000000",
            ),
            ("Issued At: 20", "Issued At: 19"),
            ("\n\nWelcome.", "\nWelcome."),
        ] {
            let edited = message.replacen(from, to, 1);
            assert_ne!(edited, message);
            let refused = harness.verify_wallet(&test, pocket.siwe(&edited)).await;
            assert!(
                matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == "siwe_challenge"),
                "{to}: {refused:?}"
            );
        }
        let foreign = pocket.message("abcdefgh12345678", &harness);
        assert!(is_invalid(
            &harness.verify_wallet(&test, pocket.siwe(&foreign)).await
        ));
        // Signed, but not the text that is sent.
        let other = VerifyWallet {
            signature: pocket.sign(&message.replace("Welcome", "Hello")),
            ..pocket.siwe(&message)
        };
        assert!(is_invalid(&harness.verify_wallet(&test, other).await));
        let verified = harness
            .verify_wallet(&test, pocket.siwe(&message))
            .await
            .unwrap();
        assert_eq!(verified.wallet.user_id, challenge.user_id);
        assert!(is_invalid(
            &harness.verify_wallet(&test, pocket.siwe(&message)).await
        ));
    }
}

/// EIP-4361, and the same for Solana: the text that the service writes names the requester, the chain and the expiry.
#[tokio::test]
async fn m_10_a_challenge_names_the_requester() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let shown = |challenge: &WalletChallenge| {
        let message = SignInMessage::parse(&challenge.text, challenge.wallet_type);
        message.unwrap_or_else(|why| panic!("{why}: {}", challenge.text))
    };
    // Without a configured domain list the text uses the name of this service.
    let unlisted = harness.challenge(&test, &Pocket::ethereum(4), None).await;
    assert_eq!(shown(&unlisted).domain, ISSUER_HOST);
    let uri = format!("https://{ISSUER_HOST}");
    assert_eq!(shown(&unlisted).uri, Some(uri));

    let domains = r#"["example.com", "localhost:3000"]"#;
    harness.set(&[("siwe_domains", domains)]).await;
    let test = harness.test().await;
    for (pocket, chain) in [(Pocket::ethereum(5), "1"), (Pocket::solana(5), "mainnet")] {
        let challenge = harness.challenge(&test, &pocket, None).await;
        let message = shown(&challenge);
        assert_eq!(message.domain, "example.com");
        assert_eq!(message.uri.as_deref(), Some("https://example.com"));
        assert_eq!(message.version.as_deref(), Some("1"));
        assert_eq!(message.chain_id.as_deref(), Some(chain));
        assert_eq!(message.address, challenge.public_address);
        assert_eq!(message.nonce, challenge.nonce);
        assert_eq!(message.issued_at, Some(challenge.created_at));
        assert_eq!(message.expiration_time, Some(challenge.expires_at));
        assert!(message.statement.unwrap().contains("Demo"));
        // It is a valid sign-in message of the App, so either call accepts it.
        let verified = harness
            .verify_wallet(&test, pocket.siwe(&challenge.text))
            .await;
        assert_eq!(verified.unwrap().wallet.user_id, challenge.user_id);
        let again = harness.challenge(&test, &pocket, None).await;
        harness
            .verify_wallet(&test, pocket.answer(&again))
            .await
            .unwrap();
    }

    // A challenge that names another site is not returned again.
    let pocket = Pocket::ethereum(6);
    let before = harness.challenge(&test, &pocket, None).await;
    harness
        .set(&[("siwe_domains", r#"["localhost:3000"]"#)])
        .await;
    let test = harness.test().await;
    let after = harness.challenge(&test, &pocket, None).await;
    assert_ne!(after.id, before.id);
    assert_eq!(shown(&after).domain, "localhost:3000");
    assert_eq!(shown(&after).uri.as_deref(), Some("http://localhost:3000"));
}

/// A message written for another site or another chain is not accepted.
#[tokio::test]
async fn m_10_a_message_for_a_foreign_domain_or_chain_is_refused() {
    let harness = Harness::new().await;
    harness.set(&[("siwe_domains", r#"["example.com"]"#)]).await;
    let test = harness.test().await;
    let (ethereum, solana) = (Pocket::ethereum(5), Pocket::solana(5));
    for (pocket, own, foreign) in [
        (&ethereum, "1", &["137", "01", "11155111"][..]),
        (
            &solana,
            "mainnet",
            &["devnet", "solana:devnet", "1", "mainnet-beta", ""],
        ),
    ] {
        let challenge = harness.challenge(&test, pocket, None).await;
        let message = pocket.message(&challenge.nonce, &harness);
        let named = |chain: &str| {
            let (own, other) = (format!("Chain ID: {own}"), format!("Chain ID: {chain}"));
            message.replacen(&own, &other, 1)
        };
        let domain = message.replacen("example.com wants", "example.org wants", 1);
        let foreign = foreign.iter().map(|chain| named(chain));
        for odd in foreign.chain([domain]) {
            let refused = harness.verify_wallet(&test, pocket.siwe(&odd)).await;
            assert!(
                matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == "siwe_challenge"),
                "{odd}: {refused:?}"
            );
        }
        harness
            .verify_wallet(&test, pocket.siwe(&message))
            .await
            .unwrap();
    }

    harness
        .set(&[
            ("siwe_chain_ids", "[8453, 1]"),
            ("siws_clusters", r#"["devnet"]"#),
        ])
        .await;
    let test = harness.test().await;
    for (pocket, own, more) in [
        (&ethereum, "1", &["8453", "1"][..]),
        (&solana, "mainnet", &["devnet", "solana:devnet"]),
    ] {
        for chain in more {
            let challenge = harness.challenge(&test, pocket, None).await;
            let first = format!("Chain ID: {}\n", more[0]);
            assert!(challenge.text.contains(&first), "{}", challenge.text);
            let message = pocket.message(&challenge.nonce, &harness);
            let message = message.replacen(
                &format!("Chain ID: {own}"),
                &format!("Chain ID: {chain}"),
                1,
            );
            harness
                .verify_wallet(&test, pocket.siwe(&message))
                .await
                .unwrap();
        }
    }
}

/// Without a list of domains no sign-in message is accepted.
#[tokio::test]
async fn no_domain_is_trusted_by_default() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let pocket = Pocket::ethereum(5);
    let challenge = harness.challenge(&test, &pocket, None).await;
    let message = pocket.message(&challenge.nonce, &harness);
    let refused = harness.verify_wallet(&test, pocket.siwe(&message)).await;
    assert!(matches!(refused, Err(Refusal::Invalid(_))));
}

/// A wallet joins an existing user within the user's session; the user's other sessions end and the user is notified (S-6).
#[tokio::test]
async fn s_6_a_wallet_joins_an_existing_user() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, "ada@example.com", 60).await;
    let other = harness.sign_in(&test, "ada@example.com", 60).await;
    let stranger = harness.sign_in(&test, "mallory@example.com", 60).await;
    let user = session.session.user_id;
    let pocket = Pocket::ethereum(5);
    let challenge = harness.challenge(&test, &pocket, Some(user)).await;
    assert!(!challenge.is_new_user);
    let with = |token: &Secret<String>| VerifyWallet {
        session_fields: SessionFields {
            session_token: Some(token.clone()),
            ..SessionFields::default()
        },
        ..pocket.answer(&challenge)
    };
    let planted = harness.verify_wallet(&test, with(&stranger.token)).await;
    assert!(matches!(planted, Err(Refusal::InvalidSession)));
    let verified = harness
        .verify_wallet(&test, with(&session.token))
        .await
        .unwrap();
    let kept = verified.issued.unwrap();
    assert_eq!(kept.session.id, session.session.id);
    assert_eq!(kept.session.factors.len(), 2);
    assert!(harness.by_token(&test, &other.token).await.is_err());
    let notice = harness.newest_to(&test, "ada@example.com").await;
    assert!(notice.message.text.contains("A wallet was added"));
    // It belongs to this user now, and to no other.
    let mallory = stranger.session.user_id;
    let begun = harness
        .service
        .begin_wallet_sign_in(&test, pocket.begin(Some(mallory)));
    assert!(matches!(begun.await, Err(Refusal::Taken(_))));
    let unknown = UserId::new(START, [9; 16]);
    let begun = harness
        .service
        .begin_wallet_sign_in(&test, pocket.begin(Some(unknown)));
    assert!(matches!(begun.await, Err(Refusal::NotFound("user"))));
    let again = harness.challenge(&test, &pocket, None).await;
    assert_eq!(again.user_id, user);
}

/// Two users request one address before either signs: the first signature decides.
#[tokio::test]
async fn an_address_goes_to_the_first_signature() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let ada = harness.user(&test, "ada@example.com").await.profile.user.id;
    let bob = harness.user(&test, "bob@example.com").await.profile.user.id;
    let pocket = Pocket::ethereum(5);
    let for_ada = harness.challenge(&test, &pocket, Some(ada)).await;
    let for_bob = harness.challenge(&test, &pocket, Some(bob)).await;
    harness
        .verify_wallet(&test, pocket.answer(&for_bob))
        .await
        .unwrap();
    let late = harness.verify_wallet(&test, pocket.answer(&for_ada)).await;
    assert!(matches!(late, Err(Refusal::Taken(_))));
}

/// A wallet whose key Vestry holds signs no one in, whatever its signature says.
#[tokio::test]
async fn a_managed_wallet_signs_no_one_in() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await;
    let command = BeginWalletSignIn {
        wallet_type: WalletType::Ethereum,
        public_address: user.wallets[0].public_address.to_lowercase(),
        user_id: None,
    };
    let refused = harness.service.begin_wallet_sign_in(&test, command).await;
    assert!(matches!(refused, Err(Refusal::Taken(_))));
}

/// A sign-in wallet founds the account it is added to. An attacker who claimed another person's address there keeps that account, and the
/// owner of the address gets their own (attack 1, O-10, CL-4).
#[tokio::test]
async fn attack_1_a_planted_wallet_keeps_its_owner_in_their_own_account() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness
        .user(&test, "victim@example.com")
        .await
        .profile
        .user
        .id;
    let pocket = Pocket::ethereum(5);
    let challenge = harness.challenge(&test, &pocket, Some(user)).await;
    harness
        .verify_wallet(&test, pocket.answer(&challenge))
        .await
        .unwrap();
    let waiting = harness.challenge(&test, &pocket, None).await;
    assert_eq!(waiting.user_id, user);
    let victim = harness.sign_in(&test, "victim@example.com", 60).await;
    assert_ne!(victim.session.user_id, user);
    let left = harness.service.get_user(&test, user).await.unwrap();
    assert_eq!((left.wallets.len(), left.profile.emails.len()), (2, 0));
    let own = harness
        .service
        .get_user(&test, victim.session.user_id)
        .await;
    assert_eq!(own.unwrap().wallets, []);
}

/// A challenge begun before the takeover does not sign in after it.
#[tokio::test]
async fn attack_1_a_planted_challenge_is_gone_after_the_first_proof() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness
        .user(&test, "victim@example.com")
        .await
        .profile
        .user
        .id;
    let pocket = Pocket::ethereum(5);
    let planted = harness.challenge(&test, &pocket, Some(user)).await;
    let victim = harness.sign_in(&test, "victim@example.com", 60).await;
    assert_eq!(victim.session.user_id, user);
    let outcome = harness.verify_wallet(&test, pocket.answer(&planted)).await;
    assert!(is_invalid(&outcome));
    harness.by_token(&test, &victim.token).await.unwrap();
}

/// CL-4, CL-7: an account founded by a wallet belongs to the holder of the wallet. Proving an attached address, in the same second or
/// later, takes nothing over and creates a user for its owner.
#[tokio::test]
async fn attack_1_an_account_of_a_wallet_does_not_belong_to_an_address() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for (number, wait) in [(5, 0), (6, 1)] {
        let pocket = Pocket::ethereum(number);
        let challenge = harness.challenge(&test, &pocket, None).await;
        let own = harness
            .verify_wallet(&test, pocket.answer(&challenge))
            .await;
        let id = own.unwrap().wallet.user_id;
        let user = harness.service.get_user(&test, id).await.unwrap();
        assert!(user.profile.user.is_owned);
        harness.pass(wait);
        let address = format!("person{number}@example.com");
        harness.attach(&test, &user, &address).await;
        let signed_in = harness.sign_in(&test, &address, 60).await;
        assert_ne!(signed_in.session.user_id, id);
        let left = harness.service.get_user(&test, id).await.unwrap();
        assert_eq!(left.wallets, user.wallets);
    }
}

/// A hundred concurrent uses of one signature: one success (R6).
#[tokio::test]
async fn r6_a_signature_succeeds_once() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let pocket = Arc::new(Pocket::ethereum(5));
    for _ in 0..3 {
        let challenge = harness.challenge(&test, &pocket, None).await;
        let outcomes = race((0..100).map(|_| {
            let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
            let command = pocket.answer(&challenge);
            async move { service.verify_wallet_sign_in(&test, command).await }
        }))
        .await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        assert_eq!(outcomes.iter().filter(|o| is_invalid(o)).count(), 99);
        harness.pass(1);
    }
}

/// A pending user has proved no address yet: a wallet neither joins nor signs in, and the challenge stays valid for later. A user created
/// by the signature is active.
#[tokio::test]
async fn a_pending_user_proves_an_identifier_first() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for (number, pocket) in [Pocket::ethereum(1), Pocket::solana(1)]
        .into_iter()
        .enumerate()
    {
        let address = format!("ada{number}@example.com");
        let user = harness.login(&test, &address).await.email.user_id;
        harness.pass(10);
        let challenge = harness.challenge(&test, &pocket, Some(user)).await;
        let refused = harness
            .verify_wallet(&test, pocket.answer(&challenge))
            .await;
        assert!(
            matches!(refused, Err(Refusal::InsufficientFactor)),
            "{refused:?}"
        );
        harness.sign_in(&test, &address, 5).await;
        let challenge = harness.challenge(&test, &pocket, Some(user)).await;
        let verified = harness
            .verify_wallet(&test, pocket.answer(&challenge))
            .await;
        assert_eq!(verified.unwrap().wallet.user_id, user);
    }
    let pocket = Pocket::ethereum(2);
    let challenge = harness.challenge(&test, &pocket, None).await;
    let verified = harness
        .verify_wallet(&test, pocket.answer(&challenge))
        .await;
    let made = verified.unwrap().wallet.user_id;
    let made = harness.service.get_user(&test, made).await.unwrap();
    assert_eq!(made.profile.user.status, UserStatus::Active);
}
