//! Wallets: made once, listed, and signing.

use std::collections::HashSet;
use std::sync::Arc;

use vestry_app::wallets::{ListWallets, SignError, SignMessage, UnusableWallet};
use vestry_app::{Fault, Refusal};
use vestry_chains::Chains;
use vestry_contract::race::race;
use vestry_domain::Secret;
use vestry_domain::ids::{Id, UserId, WalletId};
use vestry_domain::signing::{MessageRequest, SigningRefused};
use vestry_domain::wallet::{AddressForm, MAX_MESSAGE, Wallet, WalletType};
use vestry_ports::store::{Store, StoreError};

use crate::harness::{Harness, START};

/// R1: fifty concurrent calls create one wallet, all of them return it, and one key is stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r1_parallel_creates_make_one_wallet() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let tasks = (0..50).map(|_| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        async move {
            service
                .create_wallet(&test, user, WalletType::Ethereum, AddressForm::Usual)
                .await
        }
    });
    let wallets: Vec<Wallet> = race(tasks).await.into_iter().map(Result::unwrap).collect();
    let answers: HashSet<_> = wallets
        .iter()
        .map(|wallet| (wallet.id, &wallet.public_address))
        .collect();
    assert_eq!(answers.len(), 1);
    let keys = harness
        .fake
        .read()
        .await
        .unwrap()
        .wallets()
        .walk(None, 100)
        .await
        .unwrap();
    assert_eq!(keys.len(), 1);
    assert!(
        harness
            .service
            .get_wallet(&test, wallets[0].id)
            .await
            .unwrap()
            == wallets[0]
    );
}

/// I8: a user deleted in the middle is not found; that is not a service fault.
#[tokio::test]
async fn no_wallet_is_created_for_a_deleted_user() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let (other, caller) = (harness.other_process(), Arc::clone(&test));
    harness.store.before_next_begin(async move {
        other.delete_user(&caller, user).await.unwrap();
    });
    let (ethereum, usual) = (WalletType::Ethereum, AddressForm::Usual);
    let made = harness
        .service
        .create_wallet(&test, user, ethereum, usual)
        .await;
    assert!(matches!(made, Err(Refusal::NotFound("user"))));
    assert_eq!(harness.wallets().await, 0);
}

/// API-18.
#[tokio::test]
async fn the_default_wallet_is_created_once_and_returned_ever_after() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await;
    let again = harness
        .service
        .create_wallet(
            &test,
            user.profile.user.id,
            WalletType::Ethereum,
            AddressForm::Usual,
        )
        .await
        .unwrap();
    assert!(again == user.wallets[0]);

    let walletless = harness.walletless(&test, "bob@example.com").await;
    harness.pass(60);
    let made = harness
        .service
        .create_wallet(&test, walletless, WalletType::Ethereum, AddressForm::Usual)
        .await
        .unwrap();
    assert_eq!(
        (made.user_id, made.created_at, made.id.timestamp()),
        (walletless, harness.now(), harness.now())
    );
    assert_ne!(made.public_address, again.public_address);
}

#[tokio::test]
async fn no_wallet_for_a_user_elsewhere() {
    let harness = Harness::new().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    let user = harness.walletless(&test, "ada@example.com").await;
    let nobody = UserId::new(START, [7; 16]);
    for (caller, user) in [(&test, nobody), (&live, user), (&stranger, user)] {
        let refused = harness
            .service
            .create_wallet(caller, user, WalletType::Ethereum, AddressForm::Usual)
            .await;
        assert!(
            matches!(refused, Err(Refusal::NotFound("user"))),
            "{refused:?}"
        );
    }
    let listed = harness
        .service
        .list_wallets(&test, ListWallets::default())
        .await
        .unwrap();
    assert_eq!(listed.total_count, 0);
}

/// A wallet of another App or environment does not exist (CH-7).
#[tokio::test]
async fn a_wallet_of_another_environment_is_not_found() {
    let harness = Harness::new().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    for (caller, id) in [
        (&live, wallet),
        (&stranger, wallet),
        (&test, WalletId::new(START, [7; 16])),
    ] {
        let read = harness.service.get_wallet(caller, id).await;
        assert!(matches!(read, Err(Refusal::NotFound("wallet"))), "{read:?}");
        let signed = harness.service.sign(caller, text(id, "hi")).await;
        assert!(
            matches!(signed, Err(SignError::Unusable(UnusableWallet::NotFound))),
            "{signed:?}"
        );
        let listed = harness
            .service
            .list_wallets(caller, ListWallets::default())
            .await
            .unwrap();
        assert!(listed.wallets.iter().all(|listed| listed.id != id));
    }
}

#[tokio::test]
async fn lists_by_pages_newest_first() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let mut made = Vec::new();
    for number in 0..25 {
        made.push(
            harness
                .user(&test, &format!("u{number}@example.com"))
                .await
                .wallets[0]
                .id,
        );
        harness.pass(1);
    }
    made.reverse();
    let mut query = ListWallets {
        limit: Some(10),
        ..ListWallets::default()
    };
    let mut seen = Vec::new();
    for (length, has_more) in [(10, true), (10, true), (5, false)] {
        let page = harness.service.list_wallets(&test, query).await.unwrap();
        assert_eq!(
            (page.wallets.len(), page.total_count, page.has_more),
            (length, 25, has_more)
        );
        seen.extend(page.wallets.iter().map(|wallet| wallet.id));
        query.starting_after = seen.last().copied();
    }
    assert_eq!(seen, made);
    let past_the_end = harness.service.list_wallets(&test, query).await.unwrap();
    assert_eq!(
        (past_the_end.wallets.len(), past_the_end.has_more),
        (0, false)
    );
    let all = harness
        .service
        .list_wallets(&test, ListWallets::default())
        .await
        .unwrap();
    assert_eq!(
        (all.wallets.len(), all.has_more),
        (25, false),
        "fifty by default"
    );
    let exactly_all = ListWallets {
        limit: Some(25),
        ..ListWallets::default()
    };
    let page = harness
        .service
        .list_wallets(&test, exactly_all)
        .await
        .unwrap();
    assert_eq!((page.wallets.len(), page.has_more), (25, false));

    let owner = all.wallets[3].user_id;
    let of_one = ListWallets {
        user_id: Some(owner),
        ..ListWallets::default()
    };
    let page = harness.service.list_wallets(&test, of_one).await.unwrap();
    assert_eq!((page.total_count, page.wallets[0].user_id), (1, owner));

    for limit in [i64::MIN, 0, 9, 101] {
        let query = ListWallets {
            limit: Some(limit),
            ..ListWallets::default()
        };
        let refused = harness.service.list_wallets(&test, query).await;
        assert!(
            matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == "limit"),
            "{limit}"
        );
    }
}

pub(crate) fn text(wallet_id: WalletId, message: &str) -> SignMessage {
    SignMessage {
        wallet_id,
        request: MessageRequest {
            message: message.to_owned(),
            ..MessageRequest::default()
        },
    }
}

/// Signatures match the address by the chain's own rule (EIP-191), in every message encoding (CH-5).
#[tokio::test]
async fn signs_messages_in_every_encoding() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness
        .user(&test, "ada@example.com")
        .await
        .wallets
        .remove(0);
    let chains = Chains::new(&Secret::new([1; 32]));

    let longest = "x".repeat(MAX_MESSAGE);
    for (message, encoding, bytes) in [
        ("test", None, &b"test"[..]),
        ("", None, b""),
        ("grüße\0", Some("utf-8"), "grüße\0".as_bytes()),
        ("0x00ff", None, b"0x00ff"),
        ("0x00ff", Some("hex"), b"\x00\xff"),
        ("00FF", Some("hex"), b"\x00\xff"),
        ("AP8=", Some("base64"), b"\x00\xff"),
        (&longest, None, longest.as_bytes()),
    ] {
        let mut command = text(wallet.id, message);
        command.request.encoding = encoding.map(str::to_owned);
        let signed = harness.service.sign(&test, command).await.unwrap();
        assert!(signed.wallet == wallet);
        assert_eq!(signed.signed.fields.len(), 1, "nothing but the signature");
        let signature = signed.signed.text("signature").unwrap();
        assert!(signature.ends_with("1b") || signature.ends_with("1c"));
        let (of, address) = (wallet.wallet_type, &wallet.public_address);
        chains.verify_own(of, address, bytes, signature).unwrap();
    }
}

#[tokio::test]
async fn mislabelled_messages_are_refused() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    let too_long = "x".repeat(MAX_MESSAGE + 1);
    let too_long_hex = "00".repeat(MAX_MESSAGE + 1);
    for (param, message, encoding) in [
        ("message", "0", Some("hex")),
        ("message", "zz", Some("hex")),
        ("message", "AP8", Some("base64")),
        ("message", "AP8_", Some("base64")),
        ("message", too_long.as_str(), None),
        ("message", too_long_hex.as_str(), Some("hex")),
        ("encoding", "hi", Some("rot13")),
        ("encoding", "hi", Some("HEX")),
        ("encoding", "hi", Some("")),
    ] {
        let mut command = text(wallet, message);
        command.request.encoding = encoding.map(str::to_owned);
        let refused = harness.service.sign(&test, command).await;
        assert!(
            matches!(&refused, Err(SignError::Refused(SigningRefused::Invalid(invalid))) if invalid.param == param),
            "{encoding:?}"
        );
    }
}

/// A wallet is read together with those that concurrent calls need. If that fails it is read alone, and only its own error is returned.
#[tokio::test]
async fn a_wallet_that_cannot_be_read_with_others_is_read_alone() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    let sign = || {
        let request = MessageRequest {
            message: "hi".to_owned(),
            encoding: None,
            format: None,
        };
        let command = SignMessage {
            wallet_id: wallet,
            request,
        };
        harness.service.sign(&test, command)
    };
    let unreadable = || StoreError::Corrupt {
        table: "wallets",
        column: "mac",
    };
    harness.store.refuse_views([unreadable()]);
    sign().await.unwrap();
    harness.store.refuse_views([unreadable(), StoreError::Busy]);
    let refused = sign().await;
    assert!(
        matches!(
            refused,
            Err(SignError::Common(Refusal::Fault(Fault::Unavailable(_))))
        ),
        "{refused:?}"
    );
    sign().await.unwrap();
}
