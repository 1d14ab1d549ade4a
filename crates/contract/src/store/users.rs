//! Users, their addresses and their numbers.

use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::code::MethodId;
use vestry_domain::email::Email;
use vestry_domain::ids::UserId;
use vestry_domain::link::LinkPurpose;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::{
    MAX_EMAILS, MAX_PHONE_NUMBERS, ShownStatus, User, UserEmail, UserPhone, UserProfile, UserStatus,
};
use vestry_ports::store::{Attached, Moved, Store};

use super::stage::{Stage, committed, works};
use crate::race::{count, race};

impl Stage {
    async fn pending_user(&mut self, world: World) -> User {
        let user = User {
            status: UserStatus::Pending,
            is_owned: false,
            ..self.samples.user(world)
        };
        in_tx!(self.store, |tx| tx.users().insert(&user).await);
        user
    }

    async fn profile(&self, world: World, id: UserId) -> Option<UserProfile> {
        in_view!(self.store, |view| view.users().profile(&world, id).await)
    }

    async fn attach_email(&self, world: World, email: &UserEmail) -> Attached {
        in_tx!(self.store, |tx| tx
            .identifiers()
            .attach_email(&world, email)
            .await)
    }

    async fn email_of(&self, world: World, email: &UserEmail) -> Option<UserEmail> {
        in_view!(self.store, |view| view
            .identifiers()
            .email(&world, email.id)
            .await)
    }

    async fn phone_of(&self, world: World, phone: &UserPhone) -> Option<UserPhone> {
        in_view!(self.store, |view| view
            .identifiers()
            .phone(&world, phone.id)
            .await)
    }
}

/// Every field of a user, its addresses and its numbers is read back unchanged, the identifiers oldest first.
pub async fn a_user_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..12 {
        let user = stage.user(world).await;
        let emails: Vec<_> = (0..4).map(|_| stage.samples.email(&user)).collect();
        let phones: Vec<_> = (0..4).map(|_| stage.samples.phone(&user)).collect();
        let mixed_emails = stage.samples.shuffled(&emails);
        let mixed_phones = stage.samples.shuffled(&phones);
        in_tx!(stage.store, |tx| {
            for email in &mixed_emails {
                assert_eq!(
                    tx.identifiers().attach_email(&world, email).await?,
                    Attached::Yes
                );
            }
            for phone in &mixed_phones {
                assert_eq!(
                    tx.identifiers().attach_phone(&world, phone).await?,
                    Attached::Yes
                );
            }
            Ok(())
        });
        let found = stage.profile(world, user.id).await;
        let expected = UserProfile {
            user,
            emails,
            phones,
        };
        assert_eq!(found, Some(expected));
    }
}

/// A user is disabled and enabled once each, also if it was created disabled. Its earlier status is kept, and calls in another world change
/// nothing.
pub async fn a_user_is_disabled_and_enabled_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let stranger = stage.strangers(world).await[0];
    for came_disabled in [false, true, false, true] {
        let user = User {
            disabled: came_disabled.then(|| stage.samples.user_disabled()),
            ..stage.samples.user(world)
        };
        in_tx!(stage.store, |tx| tx.users().insert(&user).await);
        let found = stage.profile(world, user.id).await;
        assert_eq!(found.map(|profile| profile.user), Some(user.clone()));
        let disabled = stage.samples.user_disabled();
        let at = stage.samples.moment();
        let outcomes = in_tx!(stage.store, |tx| {
            let users = tx.users();
            Ok([
                users.disable(&stranger, user.id, &disabled).await?,
                users.enable(&stranger, user.id, at).await?,
                users.admit(&stranger, user.id, at).await?,
                users.admit(&world, user.id, at).await?,
                users.disable(&world, user.id, &disabled).await?,
                users.disable(&world, user.id, &disabled).await?,
                users.admit(&world, user.id, at).await?,
            ])
        });
        let first = !came_disabled;
        assert_eq!(
            outcomes,
            [false, false, false, first, first, false, false],
            "{came_disabled}"
        );
        let found = stage
            .profile(world, user.id)
            .await
            .map(|profile| profile.user);
        let expected = if came_disabled {
            user.clone()
        } else {
            User {
                updated_at: disabled.at,
                disabled: Some(disabled),
                // It has signed in before.
                last_sign_in_at: Some(at),
                ..user.clone()
            }
        };
        assert_eq!(found, Some(expected));
        let outcomes = in_tx!(stage.store, |tx| {
            let users = tx.users();
            Ok([
                users.enable(&world, user.id, at).await?,
                users.enable(&world, user.id, at).await?,
                users.admit(&world, user.id, at).await?,
            ])
        });
        assert_eq!(outcomes, [true, false, true]);
        let found = stage.profile(world, user.id).await;
        let expected = User {
            updated_at: at,
            disabled: None,
            last_sign_in_at: Some(at),
            ..user
        };
        assert_eq!(found.map(|profile| profile.user), Some(expected));
    }
}

/// A disabled user's other fields can be written, and the user stays disabled.
pub async fn a_disabled_user_stays_disabled(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.pending_user(world).await;
    let (disabled, at) = (stage.samples.user_disabled(), stage.samples.tick());
    let renamed = User {
        first_name: "Ada".to_owned(),
        ..user.clone()
    };
    in_tx!(stage.store, |tx| {
        assert!(tx.users().disable(&world, user.id, &disabled).await?);
        assert!(tx.users().update(&renamed).await?);
        tx.users().mark_owned(&world, user.id, at).await
    });
    let found = stage.profile(world, user.id).await;
    let expected = User {
        status: UserStatus::Active,
        is_owned: true,
        updated_at: at,
        disabled: Some(disabled),
        ..renamed
    };
    assert_eq!(expected.shown_status(), ShownStatus::Disabled);
    assert_eq!(found.map(|profile| profile.user), Some(expected));
}

/// Parallel disabling and sign-ins are serialized: once the disabling has committed, no sign-in succeeds and no session is left (S-5).
pub async fn a_disabling_is_seen_by_later_sign_ins(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..10 {
        let user = stage.user(world).await;
        let disabled = stage.samples.user_disabled();
        let sessions: Vec<_> = (0..12)
            .map(|_| (stage.samples.session(&user), stage.samples.token()))
            .collect();
        let at = stage.samples.tick();
        race(
            sessions
                .iter()
                .enumerate()
                .map(|(number, (session, token))| {
                    let (store, user, disabled) =
                        (Arc::clone(&stage.store), user.clone(), disabled.clone());
                    let (session, token) = (session.clone(), *token);
                    async move {
                        in_tx!(store, |tx| {
                            if number == 6 {
                                assert!(tx.users().disable(&world, user.id, &disabled).await?);
                                tx.sessions().delete_all(&world, user.id, at).await?;
                            } else if tx.users().admit(&world, user.id, at).await? {
                                tx.sessions().insert(&session, &token).await?;
                            }
                            Ok(())
                        });
                    }
                }),
        )
        .await;
        let living = in_view!(stage.store, |view| view
            .sessions()
            .of_user(&world, user.id)
            .await);
        assert_eq!(living, [], "a session survived the disabling");
    }
}

/// A user can have no identifiers.
pub async fn a_user_may_have_no_identifiers(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let found = stage.profile(world, user.id).await;
    let expected = UserProfile {
        user,
        emails: Vec::new(),
        phones: Vec::new(),
    };
    assert_eq!(found, Some(expected));
}

/// An id identifies one user of a world; a second one is an error.
pub async fn a_user_is_added_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let twin = User {
        id: user.id,
        ..stage.samples.user(world)
    };
    let mut tx = works(stage.store.begin().await);
    let added = tx.users().insert(&twin).await;
    assert!(committed(tx, added).await.is_err(), "added twice");
    let found = stage.profile(world, user.id).await;
    assert_eq!(found.map(|profile| profile.user), Some(user));
}

/// The walk visits every user of the world once, in pages, from any starting point.
pub async fn the_walk_meets_every_user_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut users = Vec::new();
    for _ in 0..7 {
        users.push(stage.user(world).await.id);
    }
    for stranger in stage.strangers(world).await {
        stage.user(stranger).await;
    }
    let (mut met, mut after) = (Vec::new(), None);
    loop {
        let page = in_view!(stage.store, |view| view
            .users()
            .walk(&world, after, 3)
            .await);
        assert!(page.len() <= 3);
        after = page.last().copied();
        met.extend(page);
        if after.is_none() {
            break;
        }
    }
    users.sort();
    assert_eq!(met, users);
}

/// No lookup finds a user, an address or a number of another world (I11, S-14).
pub async fn look_ups_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (email, phone) = (stage.email(&user).await, stage.phone(&user).await);
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.profile(stranger, user.id).await, None);
        assert_eq!(stage.email_of(stranger, &email).await, None);
        assert_eq!(stage.phone_of(stranger, &phone).await, None);
        in_view!(stage.store, |view| {
            let by_identity = view
                .identifiers()
                .email_by_identity(&stranger, email.email.identity());
            assert_eq!(by_identity.await?, None);
            let by_number = view.identifiers().phone_by_number(&stranger, &phone.number);
            assert_eq!(by_number.await?, None);
            Ok(())
        });
    }
}

/// The same ids, address and number in two worlds are two users, and each world finds its own (I11).
pub async fn the_same_ids_in_two_worlds_are_two_users(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (email, phone) = (stage.email(&user).await, stage.phone(&user).await);
    let mut all = vec![(user.clone(), email.clone(), phone.clone())];
    for stranger in stage.strangers(world).await {
        let twin = User {
            id: user.id,
            ..stage.samples.user(stranger)
        };
        let twin_email = UserEmail {
            verified: !email.verified,
            updated_at: stage.samples.tick(),
            ..email.clone()
        };
        let twin_phone = UserPhone {
            verified: !phone.verified,
            updated_at: stage.samples.tick(),
            ..phone.clone()
        };
        in_tx!(stage.store, |tx| {
            tx.users().insert(&twin).await?;
            assert_eq!(
                tx.identifiers()
                    .attach_email(&stranger, &twin_email)
                    .await?,
                Attached::Yes
            );
            assert_eq!(
                tx.identifiers()
                    .attach_phone(&stranger, &twin_phone)
                    .await?,
                Attached::Yes
            );
            Ok(())
        });
        all.push((twin, twin_email, twin_phone));
    }
    for (user, email, phone) in all {
        let world = user.world;
        assert_eq!(stage.email_of(world, &email).await.as_ref(), Some(&email));
        assert_eq!(stage.phone_of(world, &phone).await.as_ref(), Some(&phone));
        let (by_identity, by_number) = in_view!(stage.store, |view| {
            let email = view
                .identifiers()
                .email_by_identity(&world, email.email.identity())
                .await?;
            Ok((
                email,
                view.identifiers()
                    .phone_by_number(&world, &phone.number)
                    .await?,
            ))
        });
        assert_eq!(by_identity, Some((email.clone(), user.clone())));
        assert_eq!(by_number, Some((phone.clone(), user.clone())));
        let found = stage.profile(world, user.id).await;
        let expected = UserProfile {
            user,
            emails: vec![email],
            phones: vec![phone],
        };
        assert_eq!(found, Some(expected));
    }
}

/// A profile holds only the user's own identifiers.
pub async fn a_profile_holds_no_others_identifiers(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let email = stage.email(&user).await;
    stage.email(&other).await;
    stage.phone(&other).await;
    let found = stage.profile(world, user.id).await;
    let expected = UserProfile {
        user,
        emails: vec![email],
        phones: Vec::new(),
    };
    assert_eq!(found, Some(expected));
}

/// A user is marked as owned, and a pending one activated, once, without effect on other users.
pub async fn a_user_is_founded_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, bystander) = (
        stage.pending_user(world).await,
        stage.pending_user(world).await,
    );
    let at = stage.samples.tick();
    for moment in [at, at + Seconds(9)] {
        in_tx!(stage.store, |tx| tx
            .users()
            .mark_owned(&world, user.id, moment)
            .await);
    }
    let expected = User {
        status: UserStatus::Active,
        is_owned: true,
        updated_at: at,
        ..user
    };
    for user in [expected, bystander] {
        let found = stage.profile(world, user.id).await;
        assert_eq!(found.map(|profile| profile.user), Some(user));
    }
}

/// Founding and verifying with the same ids in another world changes nothing (I11).
pub async fn writes_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.pending_user(world).await;
    let (mut email, mut phone) = (stage.samples.email(&user), stage.samples.phone(&user));
    (email.verified, phone.verified) = (false, false);
    in_tx!(stage.store, |tx| {
        assert_eq!(
            tx.identifiers().attach_email(&world, &email).await?,
            Attached::Yes
        );
        assert_eq!(
            tx.identifiers().attach_phone(&world, &phone).await?,
            Attached::Yes
        );
        Ok(())
    });
    let at = stage.samples.tick();
    for stranger in stage.strangers(world).await {
        in_tx!(stage.store, |tx| {
            tx.users().mark_owned(&stranger, user.id, at).await?;
            tx.identifiers()
                .verify_email(&stranger, email.id, &email.email, at)
                .await?;
            tx.identifiers().verify_phone(&stranger, phone.id, at).await
        });
    }
    let found = stage.profile(world, user.id).await;
    let expected = UserProfile {
        user,
        emails: vec![email],
        phones: vec![phone],
    };
    assert_eq!(found, Some(expected));
}

/// An address belongs to one user of a world in every spelling (I10); the first spelling is stored.
pub async fn an_address_is_attached_once_however_spelled(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (owner, other) = (stage.user(world).await, stage.user(world).await);
    for [first, second] in SPELLINGS {
        let email = stage.samples.email_of(&owner, first);
        assert_eq!(
            stage.attach_email(world, &email).await,
            Attached::Yes,
            "{first}"
        );
        for user in [&other, &owner] {
            let again = stage.samples.email_of(user, second);
            assert_eq!(
                stage.attach_email(world, &again).await,
                Attached::Taken,
                "{second}"
            );
            assert_eq!(stage.email_of(world, &again).await, None, "{second}");
        }
        let identity = stage.samples.email_of(&other, second).email;
        let found = in_view!(stage.store, |view| view
            .identifiers()
            .email_by_identity(&world, identity.identity())
            .await);
        assert_eq!(found, Some((email, owner.clone())), "{second}");
    }
}

/// Two spellings of one address each: case, normal form, and an international domain with its ASCII form.
const SPELLINGS: [[&str; 2]; 4] = [
    ["Ada.Lovelace@Example.COM", "ada.lovelace@example.com"],
    ["zo\u{eb}@example.org", "ZOE\u{308}@example.org"],
    ["tom@b\u{fc}cher.example", "tom@XN--BCHER-KVA.example"],
    ["\u{1f0}@fa\u{df}.example", "J\u{30c}@XN--FA-HIA.EXAMPLE"],
];

/// Look-alike addresses belong to different users (attack 5): the database folds no more than the domain does.
pub async fn addresses_that_look_alike_are_different(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for address in [
        "mike@example.com",
        "m\u{131}ke@example.com",
        "m\u{ed}ke@example.com",
        "mi_ke@example.com",
        "mi%e@example.com",
        "mikee@example.com",
        "mike@example.com.example",
        "mik\u{435}@example.com",
        "stra\u{df}e@example.com",
        "strasse@example.com",
        "mike@fa\u{df}.example",
        "mike@fass.example",
    ] {
        let user = stage.user(world).await;
        let email = stage.samples.email_of(&user, address);
        assert_eq!(
            stage.attach_email(world, &email).await,
            Attached::Yes,
            "{address}"
        );
        let identity = Email::clone(&email.email);
        let found = in_view!(stage.store, |view| view
            .identifiers()
            .email_by_identity(&world, identity.identity())
            .await);
        assert_eq!(found, Some((email, user)), "{address}");
    }
}

/// A number belongs to one user of a world.
pub async fn a_number_is_attached_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (owner, other) = (stage.user(world).await, stage.user(world).await);
    let phone = stage.phone(&owner).await;
    for user in [&other, &owner] {
        let again = UserPhone {
            number: phone.number.clone(),
            ..stage.samples.phone(user)
        };
        let attached = in_tx!(stage.store, |tx| tx
            .identifiers()
            .attach_phone(&world, &again)
            .await);
        assert_eq!(attached, Attached::Taken);
        assert_eq!(stage.phone_of(world, &again).await, None);
    }
    let found = in_view!(stage.store, |view| view
        .identifiers()
        .phone_by_number(&world, &phone.number)
        .await);
    assert_eq!(found, Some((phone, owner)));
}

/// A transaction stays usable after an identifier was taken, and keeps its other writes.
pub async fn a_taken_identifier_leaves_the_transaction_good(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let owner = stage.user(world).await;
    let (email, phone) = (stage.email(&owner).await, stage.phone(&owner).await);
    let user = stage.samples.user(world);
    let (fresh_email, fresh_phone) = (stage.samples.email(&user), stage.samples.phone(&user));
    let taken_email = UserEmail {
        email: email.email.clone(),
        ..stage.samples.email(&user)
    };
    let taken_phone = UserPhone {
        number: phone.number.clone(),
        ..stage.samples.phone(&user)
    };
    in_tx!(stage.store, |tx| {
        tx.users().insert(&user).await?;
        assert_eq!(
            tx.identifiers().attach_email(&world, &taken_email).await?,
            Attached::Taken
        );
        assert_eq!(
            tx.identifiers().attach_email(&world, &fresh_email).await?,
            Attached::Yes
        );
        assert_eq!(
            tx.identifiers().attach_phone(&world, &taken_phone).await?,
            Attached::Taken
        );
        assert_eq!(
            tx.identifiers().attach_phone(&world, &fresh_phone).await?,
            Attached::Yes
        );
        Ok(())
    });
    let found = stage.profile(world, user.id).await;
    let expected = UserProfile {
        user,
        emails: vec![fresh_email],
        phones: vec![fresh_phone],
    };
    assert_eq!(found, Some(expected));
}

/// R2: only the given address is verified, once, with the spelling that was proved first.
pub async fn an_address_is_verified_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let mut emails = [stage.samples.email(&user), stage.samples.email(&user)];
    for email in &mut emails {
        email.verified = false;
        assert_eq!(stage.attach_email(world, email).await, Attached::Yes);
    }
    let [email, bystander] = emails;
    let at = stage.samples.tick();
    let capitals = email.email.address().to_uppercase();
    let proved = stage.samples.email_of(&user, &capitals).email;
    assert_eq!(proved.identity(), email.email.identity());
    let other = bystander.email.clone();
    for (spelling, moment) in [(&other, at), (&proved, at), (&email.email, at + Seconds(9))] {
        in_tx!(stage.store, |tx| tx
            .identifiers()
            .verify_email(&world, email.id, spelling, moment)
            .await);
    }
    assert_eq!(stage.email_of(world, &bystander).await, Some(bystander));
    let expected = UserEmail {
        verified: true,
        pending_owner: None,
        updated_at: at,
        email: proved,
        ..email.clone()
    };
    assert_eq!(stage.email_of(world, &email).await, Some(expected));
}

/// Only the given number is verified, once.
pub async fn a_number_is_verified_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let mut phones = [stage.samples.phone(&user), stage.samples.phone(&user)];
    for phone in &mut phones {
        phone.verified = false;
        let attached = in_tx!(stage.store, |tx| tx
            .identifiers()
            .attach_phone(&world, phone)
            .await);
        assert_eq!(attached, Attached::Yes);
    }
    let [phone, bystander] = phones;
    let at = stage.samples.tick();
    for moment in [at, at + Seconds(9)] {
        in_tx!(stage.store, |tx| tx
            .identifiers()
            .verify_phone(&world, phone.id, moment)
            .await);
    }
    assert_eq!(stage.phone_of(world, &bystander).await, Some(bystander));
    let expected = UserPhone {
        verified: true,
        pending_owner: None,
        updated_at: at,
        ..phone.clone()
    };
    assert_eq!(stage.phone_of(world, &phone).await, Some(expected));
}

/// CL-4: an unverified identifier gets a pending owner only if its current pending owner, or none, is the one that was seen, in its world.
pub async fn a_claim_has_one_pending_owner(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let email = UserEmail {
        verified: false,
        ..stage.samples.email(&user)
    };
    let phone = UserPhone {
        verified: false,
        ..stage.samples.phone(&user)
    };
    assert_eq!(stage.attach_email(world, &email).await, Attached::Yes);
    in_tx!(stage.store, |tx| tx
        .identifiers()
        .attach_phone(&world, &phone)
        .await);
    let stranger = stage.strangers(world).await[0];
    let [first, second, third] = [
        stage.user(world).await.id,
        stage.user(world).await.id,
        stage.user(world).await.id,
    ];
    for method in [MethodId::Email(email.id), MethodId::Phone(phone.id)] {
        for (in_world, pending_owner, seen, expected) in [
            (stranger, first, None, false),
            (world, first, None, true),
            (world, second, None, false),
            (world, second, Some(third), false),
            (world, second, Some(first), true),
        ] {
            let named = in_tx!(stage.store, |tx| tx
                .identifiers()
                .set_pending_owner(&in_world, method, pending_owner, seen)
                .await);
            assert_eq!(
                named, expected,
                "{method}: {pending_owner} replaces {seen:?}"
            );
        }
    }
    let (seen_email, seen_phone) = (
        stage.email_of(world, &email).await,
        stage.phone_of(world, &phone).await,
    );
    assert_eq!(seen_email.and_then(|row| row.pending_owner), Some(second));
    assert_eq!(seen_phone.and_then(|row| row.pending_owner), Some(second));
    let at = stage.samples.tick();
    let named = in_tx!(stage.store, |tx| {
        tx.identifiers()
            .verify_email(&world, email.id, &email.email, at)
            .await?;
        tx.identifiers().verify_phone(&world, phone.id, at).await?;
        let (email, phone) = (MethodId::Email(email.id), MethodId::Phone(phone.id));
        let users = tx.identifiers();
        let of_email = users.set_pending_owner(&world, email, third, Some(second));
        let of_email = of_email.await?;
        let of_phone = users.set_pending_owner(&world, phone, third, Some(second));
        Ok((of_email, of_phone.await?))
    });
    assert_eq!(named, (false, false));
    let (email, phone) = (
        stage.email_of(world, &email).await,
        stage.phone_of(world, &phone).await,
    );
    assert_eq!(email.and_then(|row| row.pending_owner), None);
    assert_eq!(phone.and_then(|row| row.pending_owner), None);
}

/// An unverified identifier moves to another user, once and within its world, without the codes and links sent to it. A verified one stays
/// (attack 1).
pub async fn an_unverified_identifier_moves(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let at = stage.samples.tick();
    let email = UserEmail {
        verified: false,
        pending_owner: Some(other.id),
        ..stage.samples.email(&user)
    };
    let phone = UserPhone {
        verified: false,
        pending_owner: Some(other.id),
        ..stage.samples.phone(&user)
    };
    let code = stage.samples.code(&user, MethodId::Email(email.id));
    let link = stage.samples.link(&user, email.id, LinkPurpose::Login);
    in_tx!(stage.store, |tx| {
        tx.identifiers().attach_email(&world, &email).await?;
        tx.identifiers().attach_phone(&world, &phone).await?;
        tx.codes().replace(&code).await?;
        tx.links().replace(&link).await
    });
    let stranger = stage.strangers(world).await[0];
    for (from, expected) in [(stranger, Moved::Gone), (world, Moved::Yes)] {
        let moved = in_tx!(stage.store, |tx| {
            let email = tx
                .identifiers()
                .move_to(&from, MethodId::Email(email.id), other.id)
                .await?;
            let phone = tx
                .identifiers()
                .move_to(&from, MethodId::Phone(phone.id), other.id)
                .await?;
            Ok((email, phone))
        });
        assert_eq!(moved, (expected, expected));
    }
    let moved_email = UserEmail {
        user_id: other.id,
        pending_owner: None,
        ..email.clone()
    };
    let moved_phone = UserPhone {
        user_id: other.id,
        pending_owner: None,
        ..phone.clone()
    };
    assert_eq!(stage.email_of(world, &email).await, Some(moved_email));
    assert_eq!(stage.phone_of(world, &phone).await, Some(moved_phone));
    let owners = in_tx!(stage.store, |tx| {
        let method = MethodId::Email(email.id);
        let attempt = tx
            .codes()
            .attempt(&world, method, code.purpose, 5, code.created_at)
            .await?;
        let found = tx.links().find(&world, &link.token).await?;
        Ok((
            attempt.map(|attempt| attempt.code.user_id),
            found.map(|link| link.user_id),
        ))
    });
    assert_eq!(owners, (Some(user.id), Some(user.id)));
    let back = in_tx!(stage.store, |tx| {
        tx.identifiers()
            .verify_email(&world, email.id, &email.email, at)
            .await?;
        tx.identifiers().verify_phone(&world, phone.id, at).await?;
        let email = tx
            .identifiers()
            .move_to(&world, MethodId::Email(email.id), user.id)
            .await?;
        let phone = tx
            .identifiers()
            .move_to(&world, MethodId::Phone(phone.id), user.id)
            .await?;
        Ok((email, phone))
    });
    assert_eq!(back, (Moved::Gone, Moved::Gone));
}

/// An address or number is detached once, only from its own world, and is then free for another user.
pub async fn a_detached_identifier_is_free(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let (email, phone) = (stage.email(&user).await, stage.phone(&user).await);
    let stranger = stage.strangers(world).await[0];
    for (from, expected) in [(stranger, false), (world, true), (world, false)] {
        let removed = in_tx!(stage.store, |tx| {
            let email = tx
                .identifiers()
                .remove(&from, MethodId::Email(email.id))
                .await?;
            let phone = tx
                .identifiers()
                .remove(&from, MethodId::Phone(phone.id))
                .await?;
            Ok((email, phone))
        });
        assert_eq!(removed, (expected, expected));
    }
    let email = UserEmail {
        user_id: other.id,
        ..email
    };
    let phone = UserPhone {
        user_id: other.id,
        ..phone
    };
    let attached = in_tx!(stage.store, |tx| {
        let email = tx.identifiers().attach_email(&world, &email).await?;
        let phone = tx.identifiers().attach_phone(&world, &phone).await?;
        Ok((email, phone))
    });
    assert_eq!(attached, (Attached::Yes, Attached::Yes));
}

/// Fifty parallel sign-ups with one new address in two spellings make one user and cause no error (R2, I10).
pub async fn parallel_sign_ups_make_one_user(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let sign_ups = (0..50).map(|number| {
        let user = stage.samples.user(world);
        let odd = number % 2 == 1;
        let address = if odd {
            "New.User@Example.com"
        } else {
            "new.user@example.COM"
        };
        let email = stage.samples.email_of(&user, address);
        (user, email)
    });
    let sign_ups: Vec<_> = sign_ups.collect();
    let outcomes = race(sign_ups.iter().cloned().map(|(user, email)| {
        let store = Arc::clone(&stage.store);
        async move { sign_up(&*store, &user, &email).await }
    }))
    .await;
    assert_eq!(count(&outcomes, &Attached::Yes), 1);
    for ((user, email), outcome) in sign_ups.into_iter().zip(outcomes) {
        let found = stage.profile(world, user.id).await;
        let expected = (outcome == Attached::Yes).then(|| UserProfile {
            user,
            emails: vec![email],
            phones: Vec::new(),
        });
        assert_eq!(found, expected);
    }
}

/// Adds a new user with its address, or nothing if the address is taken.
async fn sign_up(store: &dyn Store, user: &User, email: &UserEmail) -> Attached {
    let mut tries = 0;
    loop {
        let mut tx = works(store.begin().await);
        let attached = async {
            tx.users().insert(user).await?;
            tx.identifiers().attach_email(&user.world, email).await
        };
        let lost = match attached.await {
            Ok(refused @ (Attached::Taken | Attached::Full)) => return refused,
            Ok(Attached::Yes) => match tx.commit().await {
                Ok(()) => return Attached::Yes,
                Err(lost) => lost,
            },
            Err(lost) => lost,
        };
        tries += 1;
        super::stage::may_run_again(&lost, tries);
    }
}

/// Of thirty existing users that attach one address in parallel one succeeds (R11, I10).
pub async fn parallel_attachments_of_an_address_go_to_one(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut emails = Vec::new();
    for _ in 0..30 {
        let user = stage.user(world).await;
        emails.push(stage.samples.email_of(&user, "wanted@example.com"));
    }
    let outcomes = race(emails.iter().cloned().map(|email| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| tx
                .identifiers()
                .attach_email(&world, &email)
                .await)
        }
    }))
    .await;
    assert_eq!(count(&outcomes, &Attached::Yes), 1);
    let winner = emails
        .iter()
        .zip(outcomes)
        .find(|(_, outcome)| *outcome == Attached::Yes);
    for email in &emails {
        let found = stage.email_of(world, email).await;
        let expected = winner.as_ref().map(|(winner, _)| *winner);
        assert_eq!(found.as_ref(), expected.filter(|winner| *winner == email));
    }
}

/// Of thirty users that attach one number in parallel one succeeds (R11).
pub async fn parallel_attachments_of_a_number_go_to_one(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut phones: Vec<UserPhone> = Vec::new();
    for _ in 0..30 {
        let user = stage.user(world).await;
        let mut phone = stage.samples.phone(&user);
        if let Some(first) = phones.first() {
            phone.number = first.number.clone();
        }
        phones.push(phone);
    }
    let outcomes = race(phones.iter().cloned().map(|phone| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| tx
                .identifiers()
                .attach_phone(&world, &phone)
                .await)
        }
    }))
    .await;
    assert_eq!(count(&outcomes, &Attached::Yes), 1);
}

impl Stage {
    /// Distinct numbers that no user has.
    fn numbers(&mut self, user: &User, many: usize) -> Vec<UserPhone> {
        let mut phones: Vec<UserPhone> = Vec::new();
        while phones.len() < many {
            let phone = self.samples.phone(user);
            if phones.iter().all(|known| known.number != phone.number) {
                phones.push(phone);
            }
        }
        phones
    }

    /// Adds identifiers until the user has this many of each kind.
    async fn fill(&mut self, user: &User, emails: usize, phones: &[UserPhone]) {
        for _ in 0..emails {
            self.email(user).await;
        }
        for phone in phones {
            let attached = in_tx!(self.store, |tx| tx
                .identifiers()
                .attach_phone(&user.world, phone)
                .await);
            assert_eq!(attached, Attached::Yes);
        }
    }
}

/// A user has a limited number of addresses and numbers, attached or moved, until one is removed. Other users and the transaction are not
/// affected.
pub async fn a_user_has_a_limit_of_addresses_and_numbers(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let numbers = stage.numbers(&user, MAX_PHONE_NUMBERS + 1);
    let Some((last, numbers)) = numbers.split_last() else {
        panic!("no numbers");
    };
    stage.fill(&user, MAX_EMAILS, numbers).await;
    let email = stage.samples.email(&user);
    let claim = UserEmail {
        verified: false,
        ..stage.samples.email(&other)
    };
    let claimed_number = UserPhone {
        user_id: other.id,
        verified: false,
        ..last.clone()
    };
    let free = stage.samples.phone(&user);
    let refused = in_tx!(stage.store, |tx| {
        let email = tx.identifiers().attach_email(&world, &email).await?;
        let phone = tx.identifiers().attach_phone(&world, last).await?;
        assert_eq!((email, phone), (Attached::Full, Attached::Full));
        let email = tx.identifiers().attach_email(&world, &claim).await?;
        let phone = tx
            .identifiers()
            .attach_phone(&world, &claimed_number)
            .await?;
        assert_eq!((email, phone), (Attached::Yes, Attached::Yes));
        tx.users().lock(&world, user.id).await?;
        let email = tx
            .identifiers()
            .move_to(&world, MethodId::Email(claim.id), user.id)
            .await?;
        let number = claimed_number.id;
        let phone = tx
            .identifiers()
            .move_to(&world, MethodId::Phone(number), user.id)
            .await?;
        Ok((email, phone))
    });
    assert_eq!(refused, (Moved::Full, Moved::Full));
    let stays = stage.email_of(world, &claim).await;
    assert_eq!(stays.map(|row| row.user_id), Some(other.id));

    let (first, number) = match stage.profile(world, user.id).await {
        Some(profile) => {
            assert_eq!(profile.emails.len(), MAX_EMAILS);
            assert_eq!(profile.phones.len(), MAX_PHONE_NUMBERS);
            let first = profile.emails.first().map(|email| email.id);
            (first, profile.phones.first().map(|phone| phone.id))
        }
        None => (None, None),
    };
    let (Some(first), Some(number)) = (first, number) else {
        panic!("the user has neither addresses nor numbers");
    };
    let attached = in_tx!(stage.store, |tx| {
        assert!(
            tx.identifiers()
                .remove(&world, MethodId::Email(first))
                .await?
        );
        assert!(
            tx.identifiers()
                .remove(&world, MethodId::Phone(number))
                .await?
        );
        tx.users().lock(&world, user.id).await?;
        let moved = tx
            .identifiers()
            .move_to(&world, MethodId::Email(claim.id), user.id)
            .await?;
        assert_eq!(moved, Moved::Yes);
        tx.identifiers().attach_phone(&world, &free).await
    });
    assert_eq!(attached, Attached::Yes);
}

/// Of thirty addresses and thirty numbers attached in parallel to a user with room for ten of each exactly ten of each succeed.
pub async fn parallel_attachments_stay_within_the_limit(store: Arc<dyn Store>) {
    const FREE: usize = 10;
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let numbers = stage.numbers(&user, MAX_PHONE_NUMBERS - FREE + 30);
    let (there, wanted) = numbers.split_at(MAX_PHONE_NUMBERS - FREE);
    stage.fill(&user, MAX_EMAILS - FREE, there).await;
    let emails: Vec<_> = (0..30).map(|_| stage.samples.email(&user)).collect();
    let outcomes = race(emails.into_iter().map(|email| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| tx
                .identifiers()
                .attach_email(&world, &email)
                .await)
        }
    }))
    .await;
    assert_eq!(count(&outcomes, &Attached::Yes), FREE);
    assert_eq!(count(&outcomes, &Attached::Full), 30 - FREE);
    let outcomes = race(wanted.iter().cloned().map(|phone| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| tx
                .identifiers()
                .attach_phone(&world, &phone)
                .await)
        }
    }))
    .await;
    assert_eq!(count(&outcomes, &Attached::Yes), FREE);
    assert_eq!(count(&outcomes, &Attached::Full), 30 - FREE);
    let profile = stage.profile(world, user.id).await;
    let sizes = profile.map(|profile| (profile.emails.len(), profile.phones.len()));
    assert_eq!(sizes, Some((MAX_EMAILS, MAX_PHONE_NUMBERS)));
}
