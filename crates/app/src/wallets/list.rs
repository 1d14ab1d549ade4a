//! `GET wallets/list`: lists wallets, newest first.

use vestry_domain::action::Action;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::wallet::Wallet;

use super::authenticate_wallets;
use crate::kernel::page::PageSize;
use crate::{Caller, Refusal, Service};

/// Query parameters.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListWallets {
    /// Only wallets of this user.
    pub user_id: Option<UserId>,
    /// 10 to 100; 50 when absent.
    pub limit: Option<i64>,
    /// The last wallet of the previous page.
    pub starting_after: Option<WalletId>,
}

/// A page of wallets.
#[derive(Debug, Clone)]
pub struct ListedWallets {
    /// The wallets, newest first.
    pub wallets: Vec<Wallet>,
    /// Total number of wallets that match the filter.
    pub total_count: i64,
    /// Whether there is a next page.
    pub has_more: bool,
}

impl Service {
    /// Lists the wallets of the environment, or of one user.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_wallets(
        &self,
        caller: &Caller,
        query: ListWallets,
    ) -> Result<ListedWallets, Refusal> {
        caller.authorize(Action::ListWallets)?;
        let size = PageSize::check(query.limit)?;
        let user_id = caller.visible_user_if_named(query.user_id)?;
        let mut read = self.ports.store.read().await?;
        let page = read
            .wallets()
            .page(&caller.world, user_id, query.starting_after, size.rows())
            .await;
        drop(read);
        let mut page = page?;
        let has_more = size.cut(&mut page.wallets);
        let wallets = authenticate_wallets(&*self.ports.custodian, page.wallets).await?;
        Ok(ListedWallets {
            wallets,
            total_count: page.total,
            has_more,
        })
    }
}
