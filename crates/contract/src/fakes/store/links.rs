//! Magic links.

use vestry_domain::ids::{EmailId, SessionId, UserId};
use vestry_domain::link::{Link, LinkPurpose};
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Links, StoreResult, SweptWorlds};

use super::Work;
use super::state::{State, remove_few};

impl State {
    fn link_by_token(&mut self, world: World, token: &TokenHash) -> Option<&mut Link> {
        let mut links = self.links.iter_mut();
        links.find(|link| link.world == world && link.token == *token)
    }

    /// The link for one of these purposes, unless it was used or has expired.
    fn living_link(
        &mut self,
        world: World,
        token: &TokenHash,
        purposes: &[LinkPurpose],
        now: Timestamp,
    ) -> Option<&mut Link> {
        self.link_by_token(world, token).filter(|link| {
            link.used_at.is_none() && now < link.expires_at && purposes.contains(&link.purpose)
        })
    }
}

const fn key(link: &Link) -> (World, EmailId, LinkPurpose) {
    (link.world, link.email_id, link.purpose)
}

#[port]
impl Links for Work {
    async fn replace(&mut self, link: &Link) -> StoreResult<()> {
        self.writing(|state| {
            state.links.retain(|other| key(other) != key(link));
            if state.link_by_token(link.world, &link.token).is_some() {
                return Err("a link with this token already exists");
            }
            state.links.push(link.clone());
            Ok(())
        })
    }

    async fn find(&mut self, world: &World, token: &TokenHash) -> StoreResult<Option<Link>> {
        self.reading(|state| {
            let mut links = state.links.iter();
            let found = links.find(|link| link.world == *world && link.token == *token);
            found.cloned()
        })
    }

    async fn of_email(
        &mut self,
        world: &World,
        email: EmailId,
        purpose: LinkPurpose,
    ) -> StoreResult<Option<Link>> {
        self.reading(|state| {
            let wanted = (*world, email, purpose);
            state.links.iter().find(|link| key(link) == wanted).cloned()
        })
    }

    async fn attempt(
        &mut self,
        world: &World,
        token: &TokenHash,
        purposes: &[LinkPurpose],
        now: Timestamp,
    ) -> StoreResult<Option<i64>> {
        self.writing(|state| {
            let is_living = state.living_link(*world, token, purposes, now).is_some();
            Ok(is_living.then(|| state.count_try(*world, *token)))
        })
    }

    async fn consume(
        &mut self,
        world: &World,
        token: &TokenHash,
        purposes: &[LinkPurpose],
        now: Timestamp,
    ) -> StoreResult<Option<Link>> {
        self.writing(|state| {
            let link = state.living_link(*world, token, purposes, now);
            Ok(link.map(|link| {
                link.used_at = Some(now);
                link.clone()
            }))
        })
    }

    async fn offer(
        &mut self,
        world: &World,
        token: &TokenHash,
        session: SessionId,
    ) -> StoreResult<()> {
        self.writing(|state| {
            if let Some(link) = state.link_by_token(*world, token) {
                link.session_id = Some(session);
            }
            Ok(())
        })
    }

    async fn hand_over(
        &mut self,
        world: &World,
        token: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let link = state.link_by_token(*world, token);
            let offered = link.filter(|link| link.session_id.is_some() && link.handed_at.is_none());
            Ok(offered.map(|link| link.handed_at = Some(now)).is_some())
        })
    }

    async fn forget(
        &mut self,
        world: &World,
        email: EmailId,
        purpose: LinkPurpose,
    ) -> StoreResult<()> {
        self.writing(|state| {
            let unwanted = (*world, email, purpose);
            state.links.retain(|link| key(link) != unwanted);
            Ok(())
        })
    }

    async fn forget_unused(&mut self, world: &World, user: UserId) -> StoreResult<()> {
        self.writing(|state| {
            state.links.retain(|link| {
                (link.world, link.user_id) != (*world, user) || link.used_at.is_some()
            });
            Ok(())
        })
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let expired =
                |link: &Link| worlds.include(&link.world) && link.expires_at < expired_before;
            Ok(remove_few(&mut state.links, expired))
        })
    }
}
