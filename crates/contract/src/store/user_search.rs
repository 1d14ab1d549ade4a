//! Searching users: every filter, in pages, with exact totals.

#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use vestry_domain::ids::{Id, UserId};
use vestry_domain::metadata::Metadata;
use vestry_domain::search::{Combined, Condition, MetadataDigest, Period, UserFilter};
use vestry_domain::text::{fold, lower};
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::{ShownStatus, User, UserEmail, UserPhone};
use vestry_domain::wallet::{StoredWallet, WalletType};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{Store, StoreError, UserPage};

use super::stage::{LONG, Stage, works};
use crate::race::race;

/// The time at which these tests search.
const AT: Timestamp = Timestamp::from_unix(1_900_000_000);

/// A user with one of everything that can be searched for.
struct Whole {
    user: User,
    email: UserEmail,
    phone: UserPhone,
    wallet: StoredWallet,
    external_key: String,
}

impl Stage {
    async fn whole(&mut self, world: World) -> Whole {
        let user = self.user(world).await;
        let (email, phone) = (self.email(&user).await, self.phone(&user).await);
        let wallet_type = self.samples.pick(&WalletType::ALL);
        let (wallet, _) = self.wallet(&user, wallet_type).await;
        let external_key = format!("old {}", user.id);
        let noted = in_tx!(self.store, |tx| tx
            .imported_users()
            .note(&world, &external_key, user.id, AT)
            .await);
        assert!(noted);
        Whole {
            user,
            email,
            phone,
            wallet,
            external_key,
        }
    }

    async fn page(
        &self,
        world: World,
        filter: Option<&UserFilter>,
        after: Option<UserId>,
        limit: i64,
    ) -> UserPage {
        in_view!(self.store, |view| view
            .users()
            .search(&world, filter, after, limit, AT, LONG)
            .await)
    }

    /// All matching users, and the total, from a page that never fills up.
    async fn found(&self, world: World, filter: &UserFilter) -> Vec<UserId> {
        let page = self.page(world, Some(filter), None, 1_000).await;
        let ids = page.users;
        assert_eq!(page.total, i64::try_from(ids.len()).unwrap_or_default());
        // The total is the same where it has to be counted.
        let short = self.page(world, Some(filter), None, 1).await;
        assert_eq!(
            (short.total, short.users.len()),
            (page.total, ids.len().min(1))
        );
        ids
    }

    async fn found_by(&self, world: World, condition: Condition) -> Vec<UserId> {
        self.found(world, &alone(condition)).await
    }

    async fn count(&self, world: World) -> i64 {
        // An empty page says nothing about the total, so it is counted.
        self.page(world, None, None, 0).await.total
    }
}

fn alone(condition: Condition) -> UserFilter {
    UserFilter {
        combined: Combined::All,
        conditions: vec![condition],
    }
}

/// The ids of the matching users, newest first.
fn newest_first(all: &[Whole], fits: impl Fn(&Whole) -> bool) -> Vec<UserId> {
    let mut ids: Vec<UserId> = all
        .iter()
        .filter(|whole| fits(whole))
        .map(|whole| whole.user.id)
        .collect();
    ids.sort_by(|a, b| b.cmp(a));
    ids
}

/// M-31: a filtered search is aborted when its time is up; later reads still work. Without a filter there is no time limit.
pub async fn m_31_a_filter_has_its_time(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let one = stage.whole(world).await;
    let by_id = alone(Condition::UserId(vec![one.user.id]));
    for _ in 0..3 {
        for filter in [
            by_id.clone(),
            alone(Condition::EmailMatch("example".to_owned())),
            alone(Condition::Status(vec![ShownStatus::Disabled])),
        ] {
            let mut view = works(stage.store.read().await);
            let given_up = view
                .users()
                .search(&world, Some(&filter), None, 10, AT, Duration::ZERO)
                .await;
            assert!(matches!(given_up, Err(StoreError::TooLong)), "{given_up:?}");
        }
        let all = in_view!(stage.store, |view| view
            .users()
            .search(&world, None, None, 10, AT, Duration::ZERO)
            .await);
        assert_eq!(all.total, 1);
        assert_eq!(stage.found(world, &by_id).await, [one.user.id]);
    }
    // In a transaction, the search leaves the transaction usable.
    in_tx!(stage.store, |tx| {
        tx.users()
            .search(&world, Some(&by_id), None, 10, AT, LONG)
            .await?;
        tx.users().lock(&world, one.user.id).await
    });
}

/// Each exact-match field finds its users, by one value and by several, and no users of another world (I11).
pub async fn exact_fields_find_their_users(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut all = Vec::new();
    for _ in 0..6 {
        all.push(stage.whole(world).await);
    }
    let two = [&all[1], &all[4]];
    let expected = newest_first(&all, |whole| {
        two.iter().any(|one| one.user.id == whole.user.id)
    });
    let conditions: [fn(&[&Whole]) -> Condition; 8] = [
        |some| Condition::UserId(some.iter().map(|whole| whole.user.id).collect()),
        |some| {
            let keys = some.iter().map(|whole| whole.external_key.clone());
            Condition::ExternalKey(keys.collect())
        },
        |some| {
            Condition::Email(
                some.iter()
                    .map(|whole| whole.email.email.identity().clone())
                    .collect(),
            )
        },
        |some| Condition::EmailId(some.iter().map(|whole| whole.email.id).collect()),
        |some| {
            Condition::PhoneNumber(
                some.iter()
                    .map(|whole| whole.phone.number.clone())
                    .collect(),
            )
        },
        |some| Condition::PhoneNumberId(some.iter().map(|whole| whole.phone.id).collect()),
        |some| Condition::WalletId(some.iter().map(|whole| whole.wallet.wallet.id).collect()),
        |some| {
            let addresses = some
                .iter()
                .map(|whole| whole.wallet.wallet.public_address.clone());
            Condition::WalletPublicAddress(addresses.collect())
        },
    ];
    let strangers = stage.strangers(world).await;
    for condition in conditions {
        let found = stage.found_by(world, condition(&two)).await;
        assert_eq!(found, expected, "{:?}", condition(&two));
        let found = stage.found_by(world, condition(&two[..1])).await;
        assert_eq!(found, [all[1].user.id], "{:?}", condition(&two));
        for stranger in strangers {
            assert_eq!(stage.found_by(stranger, condition(&two)).await, []);
        }
    }
}

/// Status, verification and creation time find their users.
pub async fn states_and_times_find_their_users(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut all = Vec::new();
    for _ in 0..12 {
        all.push(stage.whole(world).await);
    }
    // Every third user is disabled, whatever their status was before.
    for whole in all.iter_mut().step_by(3) {
        let disabled = stage.samples.user_disabled();
        let noted = in_tx!(stage.store, |tx| tx
            .users()
            .disable(&world, whole.user.id, &disabled)
            .await);
        assert!(noted);
        whole.user.disabled = Some(disabled);
    }
    use ShownStatus::{Active, Disabled, Pending};
    for statuses in [
        vec![Active],
        vec![Pending],
        vec![Disabled],
        vec![Active, Pending],
        vec![Active, Disabled],
        vec![Disabled, Pending],
        vec![Pending, Active, Disabled],
    ] {
        let expected = newest_first(&all, |whole| statuses.contains(&whole.user.shown_status()));
        let found = stage.found_by(world, Condition::Status(statuses.clone()));
        assert_eq!(found.await, expected, "{statuses:?}");
        // Combined with another condition, it is counted as well.
        let beside = UserFilter {
            combined: Combined::Any,
            conditions: vec![
                Condition::Status(statuses.clone()),
                Condition::FullNameMatch("nobody is called that".to_owned()),
            ],
        };
        assert_eq!(stage.found(world, &beside).await, expected, "{statuses:?}");
    }
    assert_eq!(stage.count(world).await, 12);
    for wanted in [true, false] {
        let found = stage
            .found_by(world, Condition::EmailVerified(wanted))
            .await;
        assert_eq!(
            found,
            newest_first(&all, |whole| whole.email.verified == wanted)
        );
        let found = stage
            .found_by(world, Condition::PhoneNumberVerified(wanted))
            .await;
        assert_eq!(
            found,
            newest_first(&all, |whole| whole.phone.verified == wanted)
        );
    }
    let (third, eighth) = (all[2].user.created_at, all[7].user.created_at);
    for (from, to) in [
        (third, eighth),
        (third, third),
        (third + Seconds(1), eighth - Seconds(1)),
        (eighth, third),
    ] {
        let period = Period { from, to };
        let found = stage.found_by(world, Condition::CreatedAt(period)).await;
        let within = newest_first(&all, |whole| (from..=to).contains(&whole.user.created_at));
        assert_eq!(found, within);
    }
}

/// Users created before the first time that an id can encode are also found: their ids carry that first time, and only the rows have the
/// real one.
pub async fn users_are_found_by_times_that_ids_cannot_carry(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut times = Vec::new();
    for unix in [
        0,
        1_000_000_000,
        1_399_999_999,
        1_400_000_000,
        1_400_000_001,
    ] {
        let created_at = Timestamp::from_unix(unix);
        let user = stage.samples.user(world);
        let user = User {
            id: UserId::new(
                created_at,
                [u8::try_from(times.len()).unwrap_or_default(); 16],
            ),
            created_at,
            ..user
        };
        in_tx!(stage.store, |tx| tx.users().insert(&user).await);
        times.push((created_at, user.id));
    }
    for (from, _) in &times {
        for (to, _) in &times {
            let period = Period {
                from: *from,
                to: *to,
            };
            let mut expected: Vec<UserId> = times
                .iter()
                .filter(|(at, _)| (*from..=*to).contains(at))
                .map(|(_, id)| *id)
                .collect();
            expected.reverse();
            let found = stage.found_by(world, Condition::CreatedAt(period)).await;
            assert_eq!(found, expected, "{from:?} to {to:?}");
        }
    }
}

/// Verified and pending authenticator apps find their users; expired ones do not.
pub async fn authenticator_apps_find_their_users(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut stored = Vec::new();
    for (verified, expires_at) in [
        (true, AT - Seconds(1)),
        (true, AT + Seconds(1)),
        (false, AT - Seconds(1)),
        (false, AT),
        (false, AT + Seconds(1)),
    ] {
        let user = stage.user(world).await;
        let (mut totp, codes) = stage.samples.totp(&user);
        totp.expires_at = expires_at;
        in_tx!(stage.store, |tx| tx
            .totps()
            .replace_waiting(&totp, &codes)
            .await);
        if verified {
            let (id, at) = (totp.id, expires_at - Seconds(1));
            let confirmed = in_tx!(stage.store, |tx| tx
                .totps()
                .confirm(&world, id, 100, at)
                .await);
            assert!(confirmed);
        }
        stored.push((verified, verified || AT < expires_at, user.id, totp.id));
    }
    let living = |wanted: Option<bool>| {
        let mut ids: Vec<UserId> = stored
            .iter()
            .filter(|(verified, lives, ..)| {
                *lives && wanted.is_none_or(|wanted| wanted == *verified)
            })
            .map(|(_, _, user, _)| *user)
            .collect();
        ids.sort_by(|a, b| b.cmp(a));
        ids
    };
    let every_id = stored.iter().map(|(.., id)| *id).collect();
    let by_id = Condition::TotpId(every_id);
    assert_eq!(stage.found_by(world, by_id.clone()).await, living(None));
    for wanted in [true, false] {
        let found = stage.found_by(world, Condition::TotpVerified(wanted)).await;
        assert_eq!(found, living(Some(wanted)), "{wanted}");
    }
    let either = UserFilter {
        combined: Combined::Any,
        conditions: vec![by_id.clone(), Condition::TotpVerified(false)],
    };
    assert_eq!(stage.found(world, &either).await, living(None));
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.found_by(stranger, by_id.clone()).await, []);
    }
}

/// Substrings of names, addresses and numbers match without regard to case in any script, and every character matches only itself.
pub async fn parts_find_their_users(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let names = [
        ("Zo\u{eb}", "", "M\u{dc}LLER"),
        ("Ada", "King", "Lovelace"),
        (
            "\u{395}\u{3bb}\u{3ad}\u{3bd}\u{3b7}",
            "",
            "\u{3a3}\u{399}\u{393}\u{39c}\u{391}\u{3a3}",
        ),
        ("100%", "", "_a!b\\"),
        ("\u{ff21}\u{ff24}\u{ff21}", "", "Stra\u{df}e"),
        ("\u{130}stanbul", "", "x"),
    ];
    let mut ids = Vec::new();
    for (first, middle, last) in names {
        let user = User {
            first_name: first.into(),
            middle_name: middle.into(),
            last_name: last.into(),
            ..stage.samples.user(world)
        };
        in_tx!(stage.store, |tx| tx.users().insert(&user).await);
        ids.push(user.id);
    }
    for (part, expected) in [
        ("zo\u{cb} m\u{fc}ller", vec![0]),
        ("Zoe\u{308}", vec![0]),
        ("A K", vec![1]),
        ("lovelace", vec![1]),
        ("ada", vec![4, 1]),
        ("\u{3c3}\u{3b9}\u{3b3}\u{3bc}\u{3b1}\u{3c2}", vec![2]),
        ("STRASSE", vec![4]),
        ("i\u{307}stan", vec![5]),
        ("%", vec![3]),
        ("100%", vec![3]),
        ("_", vec![3]),
        ("_A!B\\", vec![3]),
        ("a%b", vec![]),
        ("b\\", vec![3]),
        ("nobody", vec![]),
    ] {
        let found = stage
            .found_by(world, Condition::FullNameMatch(fold(part)))
            .await;
        let expected: Vec<UserId> = expected
            .into_iter()
            .map(|index: usize| ids[index])
            .collect();
        assert_eq!(found, expected, "{part}");
    }
    let user = stage.user(world).await;
    let email = stage
        .samples
        .email_of(&user, "Tom_Sawyer%x@B\u{fc}cher.Example");
    let phone = stage.phone(&user).await;
    in_tx!(stage.store, |tx| tx
        .identifiers()
        .attach_email(&world, &email)
        .await);
    for (part, fits) in [
        ("TOM_", true),
        ("tomXsawyer", false),
        ("r%X@", true),
        ("B\u{dc}CHER.ex", true),
        ("XN--BCHER-KVA.ex", true),
        ("bu\u{308}cher", true),
        ("\u{17f}awyer", false),
        ("buecher", false),
        ("jerry", false),
    ] {
        let found = stage
            .found_by(world, Condition::EmailMatch(lower(part)))
            .await;
        assert_eq!(found, Vec::from_iter(fits.then_some(user.id)), "{part}");
    }
    let digits = phone.number.as_str()[3..].to_owned();
    let found = stage
        .found_by(world, Condition::PhoneNumberMatch(digits))
        .await;
    assert_eq!(found, [user.id]);
    let found = stage
        .found_by(world, Condition::PhoneNumberMatch("9999999999".into()))
        .await;
    assert_eq!(found, []);
}

/// Metadata finds its users by key and value, as of the last update.
pub async fn metadata_finds_its_users(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let with = |metadata: serde_json::Value| {
        let object = metadata.as_object().cloned().unwrap_or_default();
        Metadata::stored(object)
    };
    let mut users = Vec::new();
    for metadata in [
        json!({"plan": "pro", "seats": 3, "tags": ["pro"]}),
        json!({"plan": "free", "seats": "3", "on": true}),
        json!({"other": "pro", "deep": {"plan": "pro"}}),
        json!({}),
    ] {
        let user = User {
            metadata: with(metadata),
            ..stage.samples.user(world)
        };
        in_tx!(stage.store, |tx| tx.users().insert(&user).await);
        users.push(user);
    }
    let by = |pairs: &[(&str, &str)]| {
        let digests = pairs
            .iter()
            .map(|(key, text)| MetadataDigest::new(key, text));
        Condition::Metadata(digests.collect())
    };
    assert_eq!(
        stage.found_by(world, by(&[("plan", "pro")])).await,
        [users[0].id]
    );
    assert_eq!(
        stage.found_by(world, by(&[("seats", "3")])).await,
        [users[1].id, users[0].id]
    );
    assert_eq!(
        stage
            .found_by(world, by(&[("plan", "free"), ("plan", "pro")]))
            .await,
        [users[1].id, users[0].id]
    );
    assert_eq!(
        stage.found_by(world, by(&[("on", "true")])).await,
        [users[1].id]
    );
    assert_eq!(stage.found_by(world, by(&[("tags", "pro")])).await, []);
    let changed = User {
        metadata: with(json!({"plan": "team", "seats": 3, "new": "x"})),
        ..users[0].clone()
    };
    in_tx!(stage.store, |tx| {
        assert!(tx.users().update(&changed).await?);
        Ok(())
    });
    assert_eq!(stage.found_by(world, by(&[("plan", "pro")])).await, []);
    for pair in [("plan", "team"), ("new", "x")] {
        assert_eq!(stage.found_by(world, by(&[pair])).await, [users[0].id]);
    }
    assert_eq!(stage.found_by(world, by(&[("seats", "3")])).await.len(), 2);
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.found_by(stranger, by(&[("plan", "team")])).await, []);
    }
}

/// `AND` requires every condition and `OR` one of them, whichever tables they use.
pub async fn conditions_work_together(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut all = Vec::new();
    for _ in 0..8 {
        all.push(stage.whole(world).await);
    }
    let conditions = |whole: &Whole| {
        vec![
            Condition::Status(vec![whole.user.shown_status()]),
            Condition::EmailVerified(whole.email.verified),
            Condition::PhoneNumber(vec![whole.phone.number.clone()]),
        ]
    };
    let holds = |one: &Whole, other: &Whole| {
        [
            one.user.status == other.user.status,
            one.email.verified == other.email.verified,
            one.user.id == other.user.id,
        ]
    };
    for one in &all {
        for (combined, enough) in [(Combined::All, 3), (Combined::Any, 1)] {
            let filter = UserFilter {
                combined,
                conditions: conditions(one),
            };
            let found = stage.found(world, &filter).await;
            let expected = newest_first(&all, |other| {
                holds(one, other).into_iter().filter(|holds| *holds).count() >= enough
            });
            assert_eq!(found, expected, "{combined:?}");
        }
        let nobody = Condition::IdpProvider(vec!["google".into()]);
        for (combined, expected) in [(Combined::All, vec![]), (Combined::Any, vec![one.user.id])] {
            let filter = UserFilter {
                combined,
                conditions: vec![nobody.clone(), Condition::UserId(vec![one.user.id])],
            };
            assert_eq!(stage.found(world, &filter).await, expected);
        }
    }
    for stranger in stage.strangers(world).await {
        let filter = UserFilter {
            combined: Combined::Any,
            conditions: conditions(&all[0]),
        };
        assert_eq!(stage.found(stranger, &filter).await, []);
    }
}

/// A value shared by very many users finds all of them, alone and combined with other conditions.
///
/// Stores may first ask which users have a value, and use a short answer as the condition: 1,000 and 1,001 lie on both sides of that limit.
pub async fn values_that_very_many_share_find_all_of_them(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let of_plan = |plan: &str| Condition::Metadata(vec![MetadataDigest::new("plan", plan)]);
    let mut users: Vec<User> = Vec::new();
    for number in 0..2_001 {
        let plan = if number < 1_000 { "few" } else { "many" };
        let object = json!({ "plan": plan });
        let object = object.as_object().cloned().unwrap_or_default();
        users.push(User {
            metadata: Metadata::stored(object),
            ..stage.samples.user(world)
        });
    }
    in_tx!(stage.store, |tx| {
        for user in &users {
            works(tx.users().insert(user).await);
        }
        Ok(())
    });
    let (few, many) = (&users[999], &users[1_000]);
    let (email, _) = (stage.email(few).await, stage.email(many).await);
    let with_address = Condition::Email(vec![email.email.identity().clone()]);
    let total = |combined, conditions: Vec<Condition>| {
        let filter = UserFilter {
            combined,
            conditions,
        };
        let stage = &stage;
        async move { stage.page(world, Some(&filter), None, 3).await.total }
    };
    for (combined, conditions, expected) in [
        (Combined::All, vec![of_plan("few")], 1_000),
        (Combined::All, vec![of_plan("many")], 1_001),
        (Combined::All, vec![of_plan("none")], 0),
        (Combined::All, vec![of_plan("few"), of_plan("many")], 0),
        (Combined::Any, vec![of_plan("few"), of_plan("many")], 2_001),
        (Combined::Any, vec![of_plan("few"), of_plan("none")], 1_000),
        (Combined::All, vec![of_plan("few"), with_address.clone()], 1),
        (
            Combined::All,
            vec![of_plan("many"), with_address.clone()],
            0,
        ),
        (
            Combined::Any,
            vec![of_plan("few"), with_address.clone()],
            1_000,
        ),
        (Combined::Any, vec![of_plan("many"), with_address], 1_002),
    ] {
        let said = format!("{combined:?} {conditions:?}");
        assert_eq!(total(combined, conditions).await, expected, "{said}");
    }
}

/// Pages show every user once, newest first, and each page has the total of all users.
pub async fn pages_show_every_user_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    // Several are made in one second.
    let mut all: Vec<UserId> = Vec::new();
    for number in 0..23 {
        if number == 10 {
            stage.samples.stop_clock();
        }
        all.push(stage.user(world).await.id);
    }
    all.sort_by(|a, b| b.cmp(a));
    let active = alone(Condition::Status(vec![ShownStatus::Active]));
    for filter in [None, Some(&active)] {
        let whole = stage.page(world, filter, None, 100).await;
        let mut shown = Vec::new();
        loop {
            let page = stage.page(world, filter, shown.last().copied(), 4).await;
            assert_eq!(page.total, whole.total);
            if page.users.is_empty() {
                break;
            }
            shown.extend(page.users);
        }
        assert_eq!(shown, whole.users);
        if filter.is_none() {
            assert_eq!(shown, all);
        }
    }
}

/// The totals follow sign-ups, activations and deletions, and ignore rolled-back changes.
pub async fn totals_follow_every_change(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut users = Vec::new();
    for _ in 0..9 {
        users.push(stage.user(world).await);
    }
    let undone = stage.samples.user(world);
    let mut tx = works(stage.store.begin().await);
    works(tx.users().insert(&undone).await);
    drop(tx);
    assert_eq!(stage.count(world).await, 9);
    let at = stage.samples.tick();
    for user in &users {
        for _ in 0..2 {
            in_tx!(stage.store, |tx| tx
                .users()
                .mark_owned(&world, user.id, at)
                .await);
        }
    }
    let of = |status| alone(Condition::Status(vec![status]));
    for (number, user) in users.iter().enumerate() {
        let active = stage
            .page(world, Some(&of(ShownStatus::Active)), None, 0)
            .await;
        let pending = stage
            .page(world, Some(&of(ShownStatus::Pending)), None, 0)
            .await;
        let left = i64::try_from(9 - number).unwrap_or_default();
        assert_eq!((active.total, pending.total), (left, 0));
        for expected in [true, false] {
            let deleted = in_tx!(stage.store, |tx| tx.users().delete(&world, user.id).await);
            assert_eq!(deleted.is_some(), expected);
        }
    }
    assert_eq!(stage.count(world).await, 0);
}

/// After parallel sign-ups, activations and deletions the total equals the number of users.
pub async fn totals_are_exact_under_races(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut old = Vec::new();
    for _ in 0..20 {
        old.push(stage.user(world).await);
    }
    let new: Vec<User> = (0..20).map(|_| stage.samples.user(world)).collect();
    let at = stage.samples.tick();
    // Each existing user is deleted and activated by two tasks at once.
    let steps = old.iter().chain(&old).chain(&new).cloned().enumerate();
    race(steps.map(|(number, user)| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| {
                let users = tx.users();
                match number / 20 {
                    0 => users.mark_owned(&world, user.id, at).await,
                    1 if number % 2 == 0 => users.delete(&world, user.id).await.map(drop),
                    1 => users.mark_owned(&world, user.id, at).await,
                    _ => users.insert(&user).await,
                }
            });
        }
    }))
    .await;
    let all = stage.page(world, None, None, 100).await;
    assert_eq!(all.users.len(), 30);
    assert_eq!(stage.count(world).await, 30);
    let wanted: Vec<_> = all.users.iter().map(|id| (world, *id)).collect();
    let found = in_view!(stage.store, |view| view
        .users()
        .find_all_whole(&wanted)
        .await);
    for status in [ShownStatus::Active, ShownStatus::Pending] {
        let there = found
            .iter()
            .flatten()
            .filter(|whole| whole.profile.user.shown_status() == status);
        let there = i64::try_from(there.count()).unwrap_or_default();
        let filter = alone(Condition::Status(vec![status]));
        assert_eq!(stage.page(world, Some(&filter), None, 0).await.total, there);
    }
}
