//! Small secrets that live as long as their rows, and everything else that is protected by an App key.

use std::collections::BTreeMap;
use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::code::MethodId;
use vestry_domain::envelope::{KeyPurpose, Mac, Sealed};
use vestry_domain::timestamp::Seconds;
use vestry_domain::totp::recovery_owner;
use vestry_domain::user::User;
use vestry_domain::wallet::WalletType;
use vestry_ports::store::{
    KeyUsage, PersistentKind, PersistentSecret, Repositories, Store, StoreResult,
};

use super::stage::{Stage, works};

/// The newest version, to which everything in the world is moved in the end.
const NEWEST: u32 = 7;

impl Stage {
    fn sealed_under(&mut self, version: u32) -> Sealed {
        Sealed {
            key_version: version,
            ..self.samples.sealed()
        }
    }

    /// One secret of each kind under a version, and two recovery codes: one whose hash is under another version, and a used one.
    async fn secrets_under(&mut self, user: &User, version: u32) -> Vec<PersistentSecret> {
        let world = user.world;
        let mut made = Vec::new();
        let mut made_one = |kind, owner: String, sealed: &Sealed| {
            made.push(PersistentSecret {
                world,
                kind,
                owner,
                sealed: sealed.clone(),
                hash: None,
            });
        };
        let mut key = self.samples.signing_key(world);
        key.private = self.sealed_under(version);
        made_one(PersistentKind::SigningKey, key.id.to_string(), &key.private);
        let mut password = self.password(user);
        password.sealed = self.sealed_under(version);
        made_one(
            PersistentKind::Password,
            user.id.to_string(),
            &password.sealed,
        );
        let mut stored = self.samples.connection(world, &format!("name-{version}"));
        stored.secret = self.sealed_under(version);
        let callback = stored.connection.callback_id.to_string();
        made_one(PersistentKind::ProviderSecret, callback, &stored.secret);
        let endpoint = self.samples.endpoint(world);
        let mut signing = self.samples.webhook_secret(world, endpoint.id);
        signing.sealed = self.sealed_under(version);
        let id = signing.id.to_string();
        made_one(PersistentKind::WebhookSecret, id, &signing.sealed);
        let (mut totp, mut codes) = self.samples.totp(user);
        totp.seed = self.sealed_under(version);
        made_one(PersistentKind::TotpSeed, totp.id.to_string(), &totp.seed);
        codes.truncate(3);
        for code in &mut codes {
            code.sealed.key_version = version;
            code.mac.key_version = version;
        }
        if let [_, code, _] = codes.as_mut_slice() {
            code.sealed.key_version = NEWEST;
        }
        for code in codes.iter().take(2) {
            made.push(PersistentSecret {
                world,
                kind: PersistentKind::RecoveryCode,
                owner: recovery_owner(&totp.id.to_string(), code.number),
                sealed: code.sealed.clone(),
                hash: Some((user.id, code.mac.clone())),
            });
        }
        let at = totp.created_at;
        in_tx!(self.store, |tx| {
            tx.signing_keys().insert(&key).await?;
            tx.passwords().put(&password).await?;
            assert!(tx.provider_connections().insert(&stored).await?);
            tx.webhook_endpoints().insert_secret(&signing).await?;
            tx.totps().replace_waiting(&totp, &codes).await?;
            let used = tx.totps().use_recovery_code(&world, totp.id, 2, at).await?;
            assert!(used, "a third recovery code");
            StoreResult::Ok(())
        });
        made
    }

    async fn lasting(
        &self,
        world: World,
        kind: PersistentKind,
        version: u32,
    ) -> Vec<PersistentSecret> {
        let (mut all, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = in_view!(self.store, |view| view
                .persistent_secrets()
                .under_older(&world, kind, version, after.as_deref(), 2)
                .await);
            assert!(page.len() <= 2);
            let Some(last) = page.last() else { return all };
            after = Some(last.owner.clone());
            all.extend(page);
        }
    }

    async fn standing(&self, world: World, purpose: KeyPurpose) -> BTreeMap<(String, u32), u64> {
        let standing = in_view!(self.store, |view| view
            .app_keys()
            .references_below(&world, purpose, NEWEST)
            .await);
        let mut found = BTreeMap::new();
        for KeyUsage {
            version,
            table,
            rows,
        } in standing
        {
            *found.entry((table.to_owned(), version)).or_default() += rows;
        }
        found
    }
}

fn sorted(mut secrets: Vec<PersistentSecret>) -> Vec<PersistentSecret> {
    secrets.sort_by(|a, b| a.owner.cmp(&b.owner));
    secrets
}

/// M-8: secrets of every kind under older versions are found unchanged, page by page, in their own world only. A used recovery code is not
/// among them.
pub async fn m_8_secrets_under_older_versions_are_found(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut made = Vec::new();
    for version in [1, 2, 3, NEWEST] {
        let user = stage.user(world).await;
        made.extend(stage.secrets_under(&user, version).await);
    }
    let stranger = stage.strangers(world).await[0];
    let user = stage.user(stranger).await;
    stage.secrets_under(&user, 1).await;
    for below in [1, 3, NEWEST] {
        for kind in PersistentKind::ALL {
            let is_older = |secret: &PersistentSecret| {
                let hash = secret.hash.as_ref().map(|(_, mac)| mac.key_version);
                secret.sealed.key_version < below || hash.is_some_and(|hash| hash < below)
            };
            let expected = made.iter().filter(|secret| secret.kind == kind);
            let expected = expected.filter(|secret| is_older(secret)).cloned();
            let found = stage.lasting(world, kind, below).await;
            assert_eq!(
                sorted(found),
                sorted(expected.collect()),
                "{kind:?} below {below}"
            );
        }
    }
}

/// M-8: resealing replaces exactly the seal that was seen, once; a seal written in between stays.
pub async fn m_8_a_secret_is_resealed_from_the_seal_seen(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let made = stage.secrets_under(&user, 1).await;
    let bystander = stage.user(world).await;
    let bystanders = stage.secrets_under(&bystander, 2).await;
    for secret in &made {
        let mut fresh = secret.clone();
        fresh.sealed = stage.sealed_under(NEWEST);
        if let Some((_, mac)) = &mut fresh.hash {
            *mac = Mac {
                key_version: NEWEST,
                ..stage.samples.mac()
            };
        }
        let mut elsewhere = fresh.clone();
        elsewhere.world = crate::samples::other_environment(world);
        let changed = stage.sealed_under(secret.sealed.key_version);
        let moved = Sealed {
            key_version: 2,
            ..secret.sealed.clone()
        };
        for (fresh, seen, expected) in [
            (&elsewhere, &secret.sealed, false),
            (&fresh, &changed, false),
            (&fresh, &moved, false),
            (&fresh, &secret.sealed, true),
            (&fresh, &secret.sealed, false),
        ] {
            let done = in_tx!(stage.store, |tx| tx
                .persistent_secrets()
                .reseal(fresh, seen)
                .await);
            assert_eq!(done, expected, "{:?}", secret.kind);
        }
        let found = stage.lasting(world, secret.kind, u32::MAX).await;
        assert!(found.contains(&fresh), "{:?}", secret.kind);
    }
    for secret in bystanders {
        let found = stage.lasting(world, secret.kind, u32::MAX).await;
        assert!(found.contains(&secret), "{:?} of a bystander", secret.kind);
    }
}

/// M-8: only the hashes of used recovery codes are deleted.
pub async fn m_8_hashes_of_used_recovery_codes_are_forgotten(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    stage.secrets_under(&user, 3).await;
    let codes = async || {
        in_view!(stage.store, |view| view
            .totps()
            .recovery_codes(&world, user.id)
            .await)
    };
    let before = codes().await;
    for (version, expected) in [(3, 0), (4, 1), (4, 0)] {
        let forgotten = in_tx!(stage.store, |tx| tx
            .persistent_secrets()
            .forget_used(&world, version)
            .await);
        assert_eq!(forgotten, expected, "below {version}");
    }
    let mut expected = before;
    for (_, code) in expected.iter_mut().filter(|(_, code)| code.used) {
        code.mac = Mac {
            key_version: 4,
            tag: Vec::new(),
        };
    }
    assert_eq!(codes().await, expected);
}

/// Everything in a world that expires, under a version.
async fn pass_under(stage: &mut Stage, user: &User, version: u32) {
    let world = user.world;
    let email = stage.email(user).await;
    let mut code = stage.samples.code(user, MethodId::Email(email.id));
    code.mac.key_version = version;
    let mut job = stage.samples.job(world);
    job.payload.key_version = version;
    let mut flow = stage.samples.oauth_flow(world);
    flow.secrets.key_version = version;
    let mut pending = stage.samples.pending(world);
    pending.identity.key_version = version;
    let (mut alike, mut other) = (stage.samples.claim(world), stage.samples.claim(world));
    alike.request.key_version = version;
    other.request.key_version = version;
    let (same, further) = (stage.sealed_under(version), stage.sealed_under(version + 1));
    let now = alike.expires_at - Seconds(86_400);
    in_tx!(stage.store, |tx| {
        tx.codes().replace(&code).await?;
        tx.outbox().push(&job).await?;
        tx.oauth_flows().insert_flow(&flow).await?;
        tx.oauth_flows().insert_pending(&pending).await?;
        answer(&mut *tx, &alike, now, &same).await?;
        answer(&mut *tx, &other, now, &further).await
    });
}

async fn answer(
    tx: &mut dyn Repositories,
    claim: &vestry_domain::idempotency::Claim,
    now: vestry_domain::Timestamp,
    answer: &Sealed,
) -> StoreResult<()> {
    assert!(tx.idempotency().claim(claim, now).await?.is_none());
    let keys = tx.idempotency();
    let kept = keys.finish(&claim.world, &claim.key, &claim.holder, answer, None);
    assert!(kept.await?);
    Ok(())
}

/// M-8: references to a version are counted by version and table: wallets under theirs, everything else under its own.
///
/// Delivered messages need no version, nor does the log of wallet use.
pub async fn m_8_references_to_a_key_are_counted(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (mut wallet, mut key) = stage.samples.wallet(&user, WalletType::Solana);
    (wallet.mac.key_version, key.key_version) = (2, 1);
    let mut import = stage.samples.import_key(&user, "0xaddress");
    import.private_key.key_version = 3;
    in_tx!(stage.store, |tx| {
        tx.wallets().insert(&wallet, &key).await?;
        tx.wallet_imports().insert(&import).await
    });
    stage.secrets_under(&user, 4).await;
    pass_under(&mut stage, &user, 5).await;
    let entry = |table: &str, version, rows| ((table.to_owned(), version), rows);
    let wallets = [
        entry("wallets", 2, 1),
        entry("wallet_keys", 1, 1),
        entry("wallet_imports", 3, 1),
    ];
    let secrets = [
        entry("signing_keys", 4, 1),
        entry("passwords", 4, 1),
        entry("totps", 4, 1),
        // One by its seal and its hash, one by its hash alone.
        entry("totp_recovery_codes", 4, 2),
        entry("provider_connections", 4, 1),
        entry("webhook_secrets", 4, 1),
        entry("codes", 5, 1),
        entry("outbox", 5, 1),
        entry("oauth_flows", 5, 1),
        entry("oauth_tokens", 5, 1),
        entry("idempotency_keys", 5, 2),
        // The response under another version than its request.
        entry("idempotency_keys", 6, 1),
    ];
    assert_eq!(
        stage.standing(world, KeyPurpose::Wallets).await,
        BTreeMap::from(wallets)
    );
    let mut secrets = BTreeMap::from(secrets);
    assert_eq!(stage.standing(world, KeyPurpose::Secrets).await, secrets);
    for purpose in KeyPurpose::NARROW {
        assert_eq!(stage.standing(world, purpose).await, BTreeMap::new());
    }
    for stranger in stage.strangers(world).await {
        let found = stage.standing(stranger, KeyPurpose::Secrets).await;
        assert_eq!(found, BTreeMap::new());
    }
    deliver(&stage).await;
    secrets.remove(&("outbox".to_owned(), 5));
    assert_eq!(stage.standing(world, KeyPurpose::Secrets).await, secrets);
}

/// Ends every pending message.
async fn deliver(stage: &Stage) {
    let far = vestry_domain::Timestamp::from_unix(4_000_000_000);
    let jobs = stage.claim("worker", far, 10).await;
    let mut tx = works(stage.store.begin().await);
    for job in jobs {
        let end = vestry_domain::message::JobEnd::Delivered;
        let outbox = tx.outbox();
        assert!(works(
            outbox.finish(&job.world, job.id, "worker", end, far).await
        ));
    }
    works(tx.commit().await);
}
