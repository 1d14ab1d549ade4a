//! Operators and the links that let them in.

use std::sync::Arc;

use vestry_domain::event::Actor;
use vestry_domain::operator::{Grants, Operator, OperatorLink, Role};
use vestry_domain::timestamp::Seconds;
use vestry_ports::store::Store;

use super::stage::Stage;
use crate::race::{count, race};

impl Stage {
    async fn operator(&mut self) -> Operator {
        let operator = self.samples.operator();
        let added = in_tx!(self.store, |tx| tx.operators().insert(&operator).await);
        assert!(added);
        operator
    }

    async fn operator_link(&mut self) -> OperatorLink {
        let link = self.samples.operator_link();
        in_tx!(self.store, |tx| tx.operator_links().insert(&link).await);
        link
    }
}

/// Every field is read back unchanged, and an unknown user is none.
pub async fn an_operator_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    for _ in 0..20 {
        let operator = stage.operator().await;
        let unknown = stage.samples.operator().user_id;
        for (user, expected) in [(operator.user_id, Some(operator)), (unknown, None)] {
            let found = in_view!(stage.store, |view| view.operators().find(user).await);
            assert_eq!(found, expected);
        }
    }
}

/// A second insertion changes nothing.
pub async fn a_user_is_an_operator_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let operator = stage.operator().await;
    let twin = Operator {
        user_id: operator.user_id,
        ..stage.samples.operator()
    };
    let added = in_tx!(stage.store, |tx| tx.operators().insert(&twin).await);
    assert!(!added);
    let listed = in_view!(stage.store, |view| view.operators().list().await);
    assert_eq!(listed, [operator]);
}

/// All are listed, oldest first, in whatever order they were added.
pub async fn operators_are_listed_oldest_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let operators: Vec<_> = (0..8).map(|_| stage.samples.operator()).collect();
    for operator in stage.samples.shuffled(&operators) {
        in_tx!(stage.store, |tx| tx.operators().insert(operator).await);
    }
    let listed = in_view!(stage.store, |view| view.operators().list().await);
    assert_eq!(listed, operators);
    let locked = in_tx!(stage.store, |tx| tx.operators().lock_all().await);
    assert_eq!(locked, operators);
}

/// Both report whether there was such an operator.
pub async fn roles_are_replaced_and_operators_removed(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let other = stage.operator().await;
    let operator = stage.operator().await;
    let unknown = stage.samples.operator().user_id;
    let (at, grants) = (stage.samples.tick(), stage.samples.grants(other.created_at));
    for (user, expected) in [(operator.user_id, true), (unknown, false)] {
        let changed = in_tx!(stage.store, |tx| tx
            .operators()
            .update(user, &grants, at)
            .await);
        assert_eq!(changed, expected);
    }
    let user = operator.user_id;
    let changed = Operator {
        grants,
        updated_at: at,
        ..operator
    };
    let found = in_view!(stage.store, |view| view.operators().find(user).await);
    assert_eq!(found, Some(changed));
    for expected in [true, false] {
        let removed = in_tx!(stage.store, |tx| tx.operators().remove(user).await);
        assert_eq!(removed, expected);
    }
    let listed = in_view!(stage.store, |view| view.operators().list().await);
    assert_eq!(listed, [other]);
}

/// Of parallel transactions that each lock all owners and then remove one, none removes the last (OPR-3).
pub async fn locked_operators_change_one_after_the_other(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let mut owners = Vec::new();
    for _ in 0..20 {
        let owner = stage.operator().await.user_id;
        let (at, grants) = (stage.samples.tick(), owner_grants());
        in_tx!(stage.store, |tx| tx
            .operators()
            .update(owner, &grants, at)
            .await);
        owners.push(owner);
    }
    let removed = race(owners.into_iter().map(|owner| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| {
                let others = tx.operators().lock_all().await?;
                let is_last = others.len() == 1;
                Ok(!is_last && tx.operators().remove(owner).await?)
            })
        }
    }))
    .await;
    assert_eq!(count(&removed, &false), 1);
    let left = in_view!(stage.store, |view| view.operators().list().await);
    assert_eq!(left.len(), 1);
}

fn owner_grants() -> Grants {
    match Grants::new(Role::Owner, None) {
        Ok(grants) => grants,
        Err(refused) => panic!("{refused}"),
    }
}

/// Every field is read back unchanged by its hash, and no other hash finds it.
pub async fn a_link_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    for _ in 0..20 {
        let link = stage.operator_link().await;
        let mut other = link.hash;
        other.0[31] ^= 1;
        for (hash, expected) in [(link.hash, Some(link)), (other, None)] {
            let found = in_view!(stage.store, |view| view.operator_links().find(&hash).await);
            assert_eq!(found, expected);
        }
    }
}

/// Links that are used or expired are not listed.
pub async fn open_links_are_listed_oldest_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let links: Vec<_> = (0..4).map(|_| stage.samples.operator_link()).collect();
    for link in stage.samples.shuffled(&links) {
        in_tx!(stage.store, |tx| tx.operator_links().insert(link).await);
    }
    let [first, used, third, fourth] = links.as_slice() else {
        unreachable!("four links were made");
    };
    let (hash, now) = (used.hash, fourth.created_at);
    in_tx!(stage.store, |tx| tx
        .operator_links()
        .consume(&hash, now)
        .await);
    for (now, expected) in [
        (now, vec![first.id, third.id, fourth.id]),
        (first.expires_at, vec![third.id, fourth.id]),
        (fourth.expires_at, vec![]),
    ] {
        let open = in_view!(stage.store, |view| view
            .operator_links()
            .list_open(now)
            .await);
        let ids: Vec<_> = open.iter().map(|link| link.id).collect();
        assert_eq!(ids, expected);
    }
}

/// A link is used once, before it expires (OPR-4).
pub async fn a_link_is_used_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (link, late) = (stage.operator_link().await, stage.operator_link().await);
    let unknown = stage.samples.operator_link().hash;
    let now = link.created_at;
    for (hash, now, expected) in [
        (unknown, now, None),
        (late.hash, late.expires_at, None),
        (link.hash, now, Some(link.id)),
        (link.hash, now, None),
    ] {
        let used = in_tx!(stage.store, |tx| tx
            .operator_links()
            .consume(&hash, now)
            .await);
        assert_eq!(used.as_ref().map(|link| link.id), expected);
        if let Some(used) = used {
            assert_eq!(used.used_at, Some(now));
        }
    }
}

/// Of parallel uses one succeeds (OPR-4).
pub async fn parallel_uses_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let link = stage.operator_link().await;
    let (hash, now) = (link.hash, link.created_at);
    let used = race((0..50).map(|_| {
        let store = Arc::clone(&stage.store);
        async move {
            let used = in_tx!(store, |tx| tx.operator_links().consume(&hash, now).await);
            used.is_some()
        }
    }))
    .await;
    assert_eq!(count(&used, &true), 1);
}

/// By its id, or with all others to its address or by its maker; a used one stays.
pub async fn an_unused_link_can_be_removed(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (used, unused) = (stage.operator_link().await, stage.operator_link().await);
    let (hash, now) = (used.hash, used.created_at);
    in_tx!(stage.store, |tx| tx
        .operator_links()
        .consume(&hash, now)
        .await);
    for (id, expected) in [(used.id, false), (unused.id, true), (unused.id, false)] {
        let removed = in_tx!(stage.store, |tx| tx.operator_links().remove(id).await);
        assert_eq!(removed, expected);
    }
    let (one, other) = (stage.operator_link().await, stage.operator_link().await);
    let again = OperatorLink {
        email: one.email.clone(),
        ..stage.samples.operator_link()
    };
    in_tx!(stage.store, |tx| tx.operator_links().insert(&again).await);
    for (email, expected) in [(&used.email, 0), (&one.email, 2), (&one.email, 0)] {
        let identity = email.identity();
        let removed = in_tx!(stage.store, |tx| tx
            .operator_links()
            .remove_unused(identity)
            .await);
        assert_eq!(removed, expected);
    }
    let open = in_view!(stage.store, |view| view
        .operator_links()
        .list_open(now)
        .await);
    let ids: Vec<_> = open.iter().map(|link| link.id).collect();
    assert_eq!(ids, [other.id]);
    let maker = Actor::Operator(stage.samples.operator().user_id);
    let made = OperatorLink {
        created_by: maker,
        ..stage.samples.operator_link()
    };
    in_tx!(stage.store, |tx| tx.operator_links().insert(&made).await);
    for expected in [1, 0] {
        let removed = in_tx!(stage.store, |tx| tx
            .operator_links()
            .remove_made_by(&maker)
            .await);
        assert_eq!(removed, expected);
    }
}

/// Those that expired before a time, used or not.
pub async fn old_links_are_swept(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (old, new) = (stage.operator_link().await, stage.operator_link().await);
    let (hash, now) = (old.hash, old.created_at);
    in_tx!(stage.store, |tx| tx
        .operator_links()
        .consume(&hash, now)
        .await);
    for (before, expected) in [(old.expires_at, 0), (old.expires_at + Seconds(1), 1)] {
        let swept = in_tx!(stage.store, |tx| tx.operator_links().sweep(before).await);
        assert_eq!(swept, expected);
    }
    let found = in_view!(stage.store, |view| view.operator_links().find(&hash).await);
    assert_eq!(found, None);
    let hash = new.hash;
    let found = in_view!(stage.store, |view| view.operator_links().find(&hash).await);
    assert_eq!(found, Some(new));
}
