//! Sessions.

use std::collections::BTreeSet;
use std::sync::Arc;

use vestry_domain::ids::SessionId;
use vestry_domain::session::{Session, SessionLimits};
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::user::User;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{NewToken, SessionActivity, SessionPage, Store, SweptApps, SweptWorlds};

use super::stage::{Stage, committed, works};
use crate::race::{count, race};

impl Stage {
    async fn session_of(&self, world: World, id: SessionId) -> Option<Session> {
        in_view!(self.store, |view| view.sessions().find(&world, id).await)
    }

    async fn session_by(&self, world: World, token: &TokenHash) -> Option<Session> {
        in_view!(self.store, |view| view
            .sessions()
            .find_by_token(&world, token)
            .await)
    }

    async fn update_session(&self, session: &Session, token: Option<NewToken>) -> bool {
        in_tx!(self.store, |tx| tx.sessions().update(session, token).await)
    }

    /// The session with every field changed that an update writes.
    fn changed(&mut self, session: &Session) -> Session {
        let now = self.samples.tick();
        let mut permissions = self.samples.text();
        permissions.push('!');
        Session {
            expires_at: now + Seconds(7_200),
            last_active_at: now,
            updated_at: now,
            factors: self.samples.factors(),
            device_fingerprint: self.samples.fingerprint(),
            permissions: vec![permissions],
            ..session.clone()
        }
    }
}

/// A batch lookup returns what each single lookup would, in the order requested.
///
/// It includes an ended session, a duplicate, one of another world and one that never existed.
pub async fn many_sessions_are_found_as_each_alone(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let mut wanted = Vec::new();
    for _ in 0..2 {
        let world = stage.world().await;
        let user = stage.user(world).await;
        for _ in 0..4 {
            let (_, token) = stage.session(&user).await;
            wanted.extend([(world, token); 2]);
            let strangers = stage.strangers(world).await;
            wanted.extend(strangers.into_iter().map(|stranger| (stranger, token)));
        }
        let (ended, token) = stage.session(&user).await;
        let at = stage.samples.tick();
        assert!(in_tx!(stage.store, |tx| tx
            .sessions()
            .delete(&world, ended.id, at)
            .await));
        wanted.push((world, token));
        wanted.push((world, stage.samples.token()));
    }
    let wanted: Vec<_> = stage
        .samples
        .shuffled(&wanted)
        .into_iter()
        .copied()
        .collect();
    let mut alone = Vec::new();
    for (world, token) in &wanted {
        alone.push(stage.session_by(*world, token).await);
    }
    let (together, none) = in_view!(stage.store, |view| Ok((
        view.sessions().find_all_by_tokens(&wanted).await?,
        view.sessions().find_all_by_tokens(&[]).await?,
    )));
    assert_eq!(together, alone);
    assert_eq!(none, []);
    assert_eq!(together.iter().flatten().count(), 2 * (4 * 2 + 1));
}

/// All sessions of the user except one end, once, and no one else's do (S-6).
pub async fn all_other_sessions_of_a_user_end(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let (kept, _) = stage.session(&user).await;
    let (first, _) = stage.session(&user).await;
    let (second, _) = stage.session(&user).await;
    let (foreign, _) = stage.session(&other).await;
    let at = stage.samples.tick();
    let expected = BTreeSet::from([first.id, second.id]);
    for expected in [expected, BTreeSet::new()] {
        let ended = in_tx!(stage.store, |tx| tx
            .sessions()
            .delete_others(&world, user.id, kept.id, at)
            .await);
        assert_eq!(BTreeSet::from_iter(ended), expected);
    }
    for (session, ended_at) in [
        (kept, None),
        (first, Some(at)),
        (second, Some(at)),
        (foreign, None),
    ] {
        let now = stage.session_of(world, session.id).await;
        assert_eq!(now.map(|now| now.deleted_at), Some(ended_at));
    }
}

/// Every field of a session is read back unchanged, by its token and by its id.
pub async fn a_session_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    for _ in 0..20 {
        let (session, token) = stage.session(&user).await;
        let by_id = stage.session_of(world, session.id).await;
        assert_eq!(by_id.as_ref(), Some(&session));
        let by_token = stage.session_by(world, &token).await;
        assert_eq!(by_token, Some(session));
    }
}

/// An unknown token finds nothing, however similar it is to a known one (S-1).
pub async fn an_unknown_token_finds_nothing(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let mut near = stage.session(&user).await.1;
    near.0[0] ^= 1;
    for token in [near, stage.samples.token()] {
        assert_eq!(stage.session_by(world, &token).await, None);
    }
}

/// A session is found only by an existing API key of its world.
pub async fn a_session_is_found_as_long_as_its_key_is_there(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (session, _) = stage.session(&user).await;
    let (key, gone) = (
        stage.samples.signing_key(world),
        stage.samples.signing_key(world),
    );
    let strangers = stage.strangers(world).await;
    let foreign = stage.samples.signing_key(strangers[0]);
    for key in [&key, &gone, &foreign] {
        in_tx!(stage.store, |tx| tx.signing_keys().insert(key).await);
    }
    in_tx!(stage.store, |tx| tx
        .signing_keys()
        .remove(&world, gone.id)
        .await);
    let unknown = stage.samples.session(&user).id;
    for (world, id, key, is_there) in [
        (world, session.id, key.id, true),
        (world, session.id, gone.id, false),
        (world, session.id, foreign.id, false),
        (world, unknown, key.id, false),
        (strangers[0], session.id, foreign.id, false),
    ] {
        let found = in_view!(stage.store, |view| view
            .sessions()
            .find_signed(&world, id, key)
            .await);
        assert_eq!(found, is_there.then(|| session.clone()));
    }
}

/// No lookup finds a session of another world (S-14, I11).
pub async fn look_ups_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (session, token) = stage.session(&user).await;
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.session_of(stranger, session.id).await, None);
        assert_eq!(stage.session_by(stranger, &token).await, None);
        let listed = in_view!(stage.store, |view| view
            .sessions()
            .of_user(&stranger, user.id)
            .await);
        assert_eq!(listed, []);
    }
}

/// A write with the same ids in another world changes no session (I11).
pub async fn writes_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (session, token) = stage.session(&user).await;
    for stranger in stage.strangers(world).await {
        let foreign = Session {
            world: stranger,
            ..stage.changed(&session)
        };
        let swap = NewToken {
            replaces: Some(token),
            hash: stage.samples.token(),
        };
        let at = stage.samples.tick();
        in_tx!(stage.store, |tx| {
            let sessions = tx.sessions();
            assert!(!sessions.update(&foreign, None).await?);
            assert!(!sessions.update(&foreign, Some(swap)).await?);
            sessions.touch(&[seen(&stranger, &session, at)]).await?;
            assert!(!sessions.delete(&stranger, session.id, at).await?);
            assert_eq!(sessions.delete_all(&stranger, user.id, at).await?, []);
            Ok(())
        });
    }
    assert_eq!(stage.session_by(world, &token).await, Some(session));
}

/// The same ids and token in two worlds are two sessions; ending one leaves the other (I11).
pub async fn the_same_ids_in_two_worlds_are_two_sessions(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (session, token) = stage.session(&user).await;
    let mut all = vec![session.clone()];
    for stranger in stage.strangers(world).await {
        let twin = User {
            id: user.id,
            ..stage.samples.user(stranger)
        };
        let other = Session {
            id: session.id,
            ..stage.samples.session(&twin)
        };
        in_tx!(stage.store, |tx| {
            tx.users().insert(&twin).await?;
            tx.sessions().insert(&other, &token).await
        });
        all.push(other);
    }
    for session in &all {
        let found = stage.session_by(session.world, &token).await;
        assert_eq!(found.as_ref(), Some(session));
    }
    let at = stage.samples.tick();
    let ended = in_tx!(stage.store, |tx| tx
        .sessions()
        .delete(&world, session.id, at)
        .await);
    assert!(ended);
    for other in all.iter().filter(|other| other.world != world) {
        let found = stage.session_of(other.world, other.id).await;
        assert_eq!(found.as_ref(), Some(other));
    }
}

/// A token opens one session of a world; reusing it for a second is an error.
pub async fn a_token_belongs_to_one_session(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let (session, token) = stage.session(&user).await;
    let twin = stage.samples.session(&other);
    let mut tx = works(stage.store.begin().await);
    let inserted = tx.sessions().insert(&twin, &token).await;
    assert!(
        committed(tx, inserted).await.is_err(),
        "a second session of the same token"
    );
    assert_eq!(stage.session_by(world, &token).await, Some(session));
}

/// A user's sessions are listed newest first, including expired ones but not ended ones.
pub async fn sessions_of_a_user_are_listed_newest_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let sessions = (0..8).map(|_| {
        let session = stage.samples.session(&user);
        Session {
            expires_at: session.started_at + Seconds(1),
            ..session
        }
    });
    let mut sessions: Vec<_> = sessions.collect();
    for session in stage.samples.shuffled(&sessions) {
        let token = stage.samples.token();
        in_tx!(stage.store, |tx| tx
            .sessions()
            .insert(session, &token)
            .await);
    }
    let (ended, _) = stage.session(&user).await;
    stage.session(&other).await;
    let at = stage.samples.tick();
    in_tx!(stage.store, |tx| tx
        .sessions()
        .delete(&world, ended.id, at)
        .await);
    let listed = in_view!(stage.store, |view| view
        .sessions()
        .of_user(&world, user.id)
        .await);
    sessions.reverse();
    assert_eq!(listed, sessions);
}

/// An update writes expiry, activity, factors, device and permissions of one session, and nothing of another.
pub async fn an_update_writes_one_session(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (session, token) = stage.session(&user).await;
    let (bystander, _) = stage.session(&user).await;
    let changed = stage.changed(&session);
    assert!(stage.update_session(&changed, None).await);
    assert_eq!(stage.session_by(world, &token).await, Some(changed));
    let other = stage.session_of(world, bystander.id).await;
    assert_eq!(other, Some(bystander));
}

/// The user and the start of a session never change.
pub async fn an_update_moves_no_session_to_another_user(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let (session, _) = stage.session(&user).await;
    let changed = Session {
        user_id: other.id,
        started_at: stage.samples.tick(),
        created_at: stage.samples.tick(),
        ..stage.changed(&session)
    };
    assert!(stage.update_session(&changed, None).await);
    let expected = Session {
        user_id: session.user_id,
        started_at: session.started_at,
        created_at: session.created_at,
        ..changed
    };
    assert_eq!(stage.session_of(world, session.id).await, Some(expected));
}

/// An update of a session that does not exist returns so and adds none.
pub async fn an_update_of_an_unknown_session_does_nothing(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let session = stage.samples.session(&user);
    assert!(!stage.update_session(&session, None).await);
    assert_eq!(stage.session_of(world, session.id).await, None);
}

/// A new token replaces the one that the caller presented, which then stops working (S-2).
pub async fn a_new_token_replaces_the_old(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (session, old) = stage.session(&user).await;
    let (changed, new) = (stage.changed(&session), stage.samples.token());
    let swap = NewToken {
        replaces: Some(old),
        hash: new,
    };
    assert!(stage.update_session(&changed, Some(swap)).await);
    assert_eq!(stage.session_by(world, &old).await, None);
    assert_eq!(stage.session_by(world, &new).await.as_ref(), Some(&changed));
    // The old token is no longer valid, so a second swap from it fails and writes nothing.
    let late = stage.changed(&changed);
    let swap = NewToken {
        replaces: Some(old),
        hash: stage.samples.token(),
    };
    assert!(!stage.update_session(&late, Some(swap)).await);
    assert_eq!(stage.session_by(world, &new).await, Some(changed));
}

/// A caller that identified the session by a JWT does not know its token, and replaces whichever it is.
pub async fn a_new_token_may_replace_any(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (session, old) = stage.session(&user).await;
    let (changed, new) = (stage.changed(&session), stage.samples.token());
    let swap = NewToken {
        replaces: None,
        hash: new,
    };
    assert!(stage.update_session(&changed, Some(swap)).await);
    assert_eq!(stage.session_by(world, &old).await, None);
    assert_eq!(stage.session_by(world, &new).await, Some(changed));
}

/// An update or touch that is already under way cannot revive an ended session (S-4, I6).
pub async fn an_ended_session_stays_ended(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (session, token) = stage.session(&user).await;
    let at = stage.samples.tick();
    let ended = in_tx!(stage.store, |tx| tx
        .sessions()
        .delete(&world, session.id, at)
        .await);
    assert!(ended);
    let before = stage.session_by(world, &token).await;
    assert_eq!(
        before.as_ref().and_then(|session| session.deleted_at),
        Some(at)
    );
    let changed = stage.changed(&session);
    assert!(!stage.update_session(&changed, None).await);
    for replaces in [Some(token), None] {
        let hash = stage.samples.token();
        assert!(
            !stage
                .update_session(&changed, Some(NewToken { replaces, hash }))
                .await
        );
        assert_eq!(stage.session_by(world, &hash).await, None);
    }
    let late = stage.samples.tick();
    in_tx!(stage.store, |tx| tx
        .sessions()
        .touch(&[seen(&world, &session, late)])
        .await);
    assert_eq!(stage.session_by(world, &token).await, before);
}

/// A touch writes only the activity of the sessions it names, across worlds and times, and the latest time of one that it names twice
/// (PR-103).
pub async fn a_touch_writes_the_activity(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (world, other) = (stage.world().await, stage.world().await);
    let (user, foreigner) = (stage.user(world).await, stage.user(other).await);
    let (twice, _) = stage.session(&user).await;
    let (once, _) = stage.session(&user).await;
    let (foreign, _) = stage.session(&foreigner).await;
    let (bystander, _) = stage.session(&user).await;
    let (early, late) = (stage.samples.tick(), stage.samples.tick());
    let touched = [
        seen(&world, &twice, late),
        seen(&world, &once, early),
        seen(&other, &foreign, early),
        seen(&world, &twice, early),
        seen(&world, &once, early),
        // Named in a world that does not have it.
        seen(&other, &bystander, late),
    ];
    in_tx!(stage.store, |tx| tx.sessions().touch(&touched).await);
    let active = |session: &Session, at| Session {
        last_active_at: at,
        ..session.clone()
    };
    for expected in [
        active(&twice, late),
        active(&once, early),
        active(&foreign, early),
        bystander,
    ] {
        let found = stage.session_of(expected.world, expected.id).await;
        assert_eq!(found, Some(expected));
    }
}

/// The activity record of a session used just now in this world.
const fn seen(world: &World, session: &Session, at: Timestamp) -> SessionActivity {
    SessionActivity {
        world: *world,
        at,
        id: session.id,
    }
}

/// A lock finds an unended session of its world and changes nothing, not even its idle time (S-3).
pub async fn a_lock_changes_nothing(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (world, stranger) = (stage.world().await, stage.world().await);
    let user = stage.user(world).await;
    let (session, _) = stage.session(&user).await;
    let (ended, _) = stage.session(&user).await;
    let at = stage.samples.tick();
    in_tx!(stage.store, |tx| tx
        .sessions()
        .delete(&world, ended.id, at)
        .await);
    for (world, id, expected) in [
        (world, session.id, true),
        (world, ended.id, false),
        (stranger, session.id, false),
    ] {
        let locked = in_tx!(stage.store, |tx| tx.sessions().lock(&world, id).await);
        assert_eq!(locked, expected);
    }
    assert_eq!(stage.session_of(world, session.id).await, Some(session));
}

/// A session ends once, and the time of its end never changes (S-4); others continue.
pub async fn a_session_ends_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (session, token) = stage.session(&user).await;
    let (bystander, _) = stage.session(&user).await;
    let at = stage.samples.tick();
    for (moment, expected) in [(at, true), (at + Seconds(9), false)] {
        let ended = in_tx!(stage.store, |tx| tx
            .sessions()
            .delete(&world, session.id, moment)
            .await);
        assert_eq!(ended, expected);
        for found in [
            stage.session_of(world, session.id).await,
            stage.session_by(world, &token).await,
        ] {
            assert_eq!(found.and_then(|session| session.deleted_at), Some(at));
        }
    }
    let other = stage.session_of(world, bystander.id).await;
    assert_eq!(other, Some(bystander));
}

/// Ending a session that does not exist returns so.
pub async fn an_unknown_session_does_not_end(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (session, at) = (stage.samples.session(&user), stage.samples.tick());
    let ended = in_tx!(stage.store, |tx| tx
        .sessions()
        .delete(&world, session.id, at)
        .await);
    assert!(!ended);
}

/// Ending all sessions of a user leaves those of others. Sessions that ended before are not counted again and keep their time (S-4).
pub async fn all_sessions_of_a_user_end(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let (early, _) = stage.session(&user).await;
    let at = stage.samples.tick();
    in_tx!(stage.store, |tx| tx
        .sessions()
        .delete(&world, early.id, at)
        .await);
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(stage.session(&user).await.0);
    }
    let (bystander, _) = stage.session(&other).await;
    let later = stage.samples.tick();
    let expected = sessions.iter().map(|session| session.id).collect();
    for expected in [expected, BTreeSet::new()] {
        let ended = in_tx!(stage.store, |tx| tx
            .sessions()
            .delete_all(&world, user.id, later)
            .await);
        assert_eq!(BTreeSet::from_iter(ended), expected);
    }
    let found = stage.session_of(world, early.id).await;
    assert_eq!(found.and_then(|session| session.deleted_at), Some(at));
    for session in sessions {
        let found = stage.session_of(world, session.id).await;
        assert_eq!(found.and_then(|session| session.deleted_at), Some(later));
    }
    let listed = in_view!(stage.store, |view| view
        .sessions()
        .of_user(&world, user.id)
        .await);
    assert_eq!(listed, []);
    let found = stage.session_of(world, bystander.id).await;
    assert_eq!(found, Some(bystander));
}

/// Ended sessions are included on request, newest first.
pub async fn ended_sessions_are_listed_when_they_are_asked_for(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let mut sessions = Vec::new();
    for number in 0..5 {
        let mut session = stage.session(&user).await.0;
        stage.session(&other).await;
        if number % 2 == 0 {
            let at = stage.samples.tick();
            let ended = in_tx!(stage.store, |tx| tx
                .sessions()
                .delete(&world, session.id, at)
                .await);
            assert!(ended);
            session.deleted_at = Some(at);
            session.updated_at = at;
        }
        sessions.insert(0, session);
    }
    let listed = async |stage: &Stage, world| {
        in_view!(stage.store, |view| view
            .sessions()
            .page_of_user(&world, user.id, everything(None, 100))
            .await)
    };
    assert_eq!(listed(&stage, world).await, sessions);
    for stranger in stage.strangers(world).await {
        assert_eq!(listed(&stage, stranger).await, []);
    }
}

/// All sessions of a world are ended in batches, each once, and none of another world.
pub async fn all_sessions_of_a_world_end_in_steps(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let strangers = stage.strangers(world).await;
    let mut sessions = Vec::new();
    for number in 0..7 {
        let user = stage.user(world).await;
        let (session, _) = stage.session(&user).await;
        if number == 3 {
            let at = stage.samples.tick();
            in_tx!(stage.store, |tx| tx
                .sessions()
                .delete(&world, session.id, at)
                .await);
        }
        sessions.push(session.id);
    }
    let foreign = stage.user(strangers[0]).await;
    let foreign = stage.session(&foreign).await.0;
    let at = stage.samples.tick();
    let (mut after, mut steps, mut ended) = (None, Vec::new(), BTreeSet::new());
    loop {
        let step = in_tx!(stage.store, |tx| tx
            .sessions()
            .delete_some(&world, after, 4, at)
            .await);
        steps.push(step.count());
        ended.extend(step.ids);
        after = step.last;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(steps, [4, 2, 0]);
    let living = sessions
        .iter()
        .enumerate()
        .filter(|(number, _)| *number != 3);
    assert_eq!(ended, living.map(|(_, id)| *id).collect());
    for (number, id) in sessions.into_iter().enumerate() {
        let session = stage.session_of(world, id).await;
        let ended = session.and_then(|session| session.deleted_at);
        assert!(ended.is_some_and(|ended| number == 3 || ended == at));
    }
    assert_eq!(
        stage.session_of(strangers[0], foreign.id).await,
        Some(foreign)
    );
}

/// Of fifty parallel calls that end a session exactly one succeeds (S-4).
pub async fn parallel_ends_count_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (id, at) = (stage.session(&user).await.0.id, stage.samples.tick());
    let ended = race((0..50).map(|number| {
        let (store, at) = (Arc::clone(&stage.store), at + Seconds(number));
        async move { in_tx!(store, |tx| tx.sessions().delete(&world, id, at).await) }
    }))
    .await;
    assert_eq!(count(&ended, &true), 1);
    let winner = (0..50).zip(ended).find(|(_, ended)| *ended);
    let found = stage.session_of(world, id).await;
    let expected = winner.map(|(number, _)| at + Seconds(number));
    assert_eq!(found.and_then(|session| session.deleted_at), expected);
}

/// Of thirty parallel swaps of the same token one succeeds, and only its new token works (R6, S-2).
pub async fn parallel_token_swaps_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (session, old) = stage.session(&user).await;
    let tokens: Vec<_> = (0..30).map(|_| stage.samples.token()).collect();
    let swapped = race(tokens.iter().copied().map(|hash| {
        let (store, session) = (Arc::clone(&stage.store), session.clone());
        let swap = NewToken {
            replaces: Some(old),
            hash,
        };
        async move { in_tx!(store, |tx| tx.sessions().update(&session, Some(swap)).await) }
    }))
    .await;
    assert_eq!(count(&swapped, &true), 1);
    assert_eq!(stage.session_by(world, &old).await, None);
    for (token, swapped) in tokens.iter().zip(swapped) {
        let found = stage.session_by(world, token).await;
        assert_eq!(found.is_some(), swapped);
    }
}

/// A session that is ended while twenty others update and touch it stays ended (R7, I6).
pub async fn an_end_wins_over_parallel_updates(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let (session, token) = stage.session(&user).await;
    let at = stage.samples.tick();
    race((0..21).map(|number| {
        let (store, session) = (Arc::clone(&stage.store), session.clone());
        async move {
            in_tx!(store, |tx| {
                match number {
                    10 => tx.sessions().delete(&world, session.id, at).await,
                    _ if number % 2 == 0 => tx.sessions().update(&session, None).await,
                    _ => tx
                        .sessions()
                        .touch(&[seen(&world, &session, at)])
                        .await
                        .map(|()| true),
                }
            })
        }
    }))
    .await;
    let found = stage.session_by(world, &token).await;
    assert_eq!(found.and_then(|session| session.deleted_at), Some(at));
}

/// A sweep deletes the sessions of all worlds of an environment that ended or expired before the given time, and returns how many.
pub async fn a_sweep_deletes_sessions_that_are_over(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (world, alike, other) = stage.swept_worlds().await;
    let environment = world.environment;
    let (user, foreigner) = (stage.user(world).await, stage.user(alike).await);
    let elsewhere = stage.user(other).await;
    let moment = stage.samples.tick() + Seconds(1_000);
    let mut kept = Vec::new();
    // User, seconds from the session's expiry to the given time, and the same from its end.
    for (user, expired, ended) in [
        (&user, 1, None),
        (&foreigner, 1, None),
        (&foreigner, -500, Some(1)),
        (&user, 0, None),
        (&user, -500, Some(0)),
        (&foreigner, -1, None),
        (&elsewhere, 1, None),
        (&elsewhere, -500, Some(1)),
    ] {
        let session = Session {
            expires_at: moment - Seconds(expired),
            ..stage.samples.session(user)
        };
        let (world, token) = (user.world, stage.samples.token());
        in_tx!(stage.store, |tx| {
            tx.sessions().insert(&session, &token).await?;
            if let Some(ended) = ended {
                let at = moment - Seconds(ended);
                assert!(tx.sessions().delete(&world, session.id, at).await?);
            }
            Ok(())
        });
        if world == other || expired < 1 && ended.is_none_or(|ended| ended < 1) {
            kept.push(session);
        }
    }
    for expected in [3, 0] {
        let swept = in_tx!(stage.store, |tx| tx
            .sessions()
            .sweep(&environment.into(), moment)
            .await);
        assert_eq!(swept, expected);
    }
    assert_eq!(kept.len(), 5);
    for session in kept {
        assert!(stage.session_of(session.world, session.id).await.is_some());
    }
}

/// A page of all stored sessions.
const fn everything(after: Option<SessionId>, limit: i64) -> SessionPage {
    SessionPage {
        alive: None,
        after,
        limit,
    }
}

/// Pages of sessions, newest first, contain each stored session once, or each that is live by the domain's rule.
pub async fn pages_of_sessions_meet_each_that_is_alive_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    stage.session(&other).await;
    let now = stage.samples.tick() + Seconds(10_000);
    let mut sessions = Vec::new();
    // Seconds until it expires, since it started and since it was last used; whether it was ended.
    for (left, age, idle, ended) in [
        (100, 5_000, 10, false),
        (1, 5_000, 10, false),
        (0, 5_000, 10, false),
        (100, 8_999, 10, false),
        (100, 9_000, 10, false),
        (100, 5_000, 599, false),
        (100, 5_000, 600, false),
        (100, 5_000, 10, true),
        (100, 5_000, 10, false),
    ] {
        let session = Session {
            started_at: now - Seconds(age),
            last_active_at: now - Seconds(idle),
            expires_at: now + Seconds(left),
            deleted_at: None,
            ..stage.samples.session(&user)
        };
        let token = stage.samples.token();
        in_tx!(stage.store, |tx| {
            tx.sessions().insert(&session, &token).await?;
            if ended {
                assert!(tx.sessions().delete(&world, session.id, now).await?);
            }
            Ok(())
        });
        let stored = stage.session_of(world, session.id).await;
        sessions = stored.into_iter().chain(sessions).collect();
    }
    let absolute = Seconds(9_000);
    let with = |idle| Some((SessionLimits { absolute, idle }, now));
    for (alive, many) in [(None, 9), (with(None), 6), (with(Some(Seconds(600))), 5)] {
        let expected: Vec<_> = sessions
            .iter()
            .filter(|session| alive.is_none_or(|(limits, now)| session.is_alive(limits, now)))
            .cloned()
            .collect();
        assert_eq!(expected.len(), many);
        let (mut after, mut found) = (None, Vec::new());
        loop {
            let page = SessionPage {
                alive,
                ..everything(after, 2)
            };
            let read = in_view!(stage.store, |view| view
                .sessions()
                .page_of_user(&world, user.id, page)
                .await);
            assert!(read.len() <= 2);
            let Some(last) = read.last() else { break };
            after = Some(last.id);
            found.extend(read);
        }
        assert_eq!(found, expected);
    }
}

/// A sweep of one App, or of all Apps except some, leaves the sessions of the others.
pub async fn a_sweep_of_some_apps_leaves_the_others(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (world, alike, elsewhere) = stage.swept_worlds().await;
    let moment = stage.samples.tick() + Seconds(1_000);
    let mut over = Vec::new();
    for world in [world, alike, elsewhere] {
        let user = stage.user(world).await;
        for expired in [10, -500] {
            let session = Session {
                expires_at: moment - Seconds(expired),
                ..stage.samples.session(&user)
            };
            let token = stage.samples.token();
            in_tx!(stage.store, |tx| {
                tx.sessions().insert(&session, &token).await?;
                // One that expired, and one that was ended.
                if expired < 0 {
                    let at = moment - Seconds(1);
                    assert!(tx.sessions().delete(&world, session.id, at).await?);
                }
                Ok(())
            });
            over.push((world, session.id));
        }
    }
    let all_but = SweptApps::AllBut(vec![world.app_id]);
    let ahead = SweptApps::Ahead(world.app_id);
    let behind = SweptApps::Behind(alike.app_id);
    let mut left = vec![world, elsewhere];
    let nothing = elsewhere;
    for (apps, gone, many) in [(all_but, alike, 2), (behind, nothing, 0), (ahead, world, 2)] {
        let worlds = SweptWorlds {
            environment: world.environment,
            apps,
        };
        for expected in [many, 0] {
            let swept = in_tx!(stage.store, |tx| tx.sessions().sweep(&worlds, moment).await);
            assert_eq!(swept, expected);
        }
        left.retain(|world| many == 0 || *world != gone);
        for (world, id) in &over {
            let is_left = stage.session_of(*world, *id).await.is_some();
            assert_eq!(is_left, left.contains(world));
        }
    }
}
