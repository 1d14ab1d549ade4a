//! The list of operators.

use vestry_domain::action::Action;
use vestry_domain::email::Email;
use vestry_domain::ids::UserId;
use vestry_domain::operator::Operator;
use vestry_domain::user::UserProfile;
use vestry_ports::store::{Repositories, WholeUser};

use super::WORLD;
use crate::identity::users::second_factor::with_second_factor;
use crate::{Fault, Principal, Refusal, Service};

/// An operator in a list.
#[derive(Debug, Clone)]
pub struct ListedOperator {
    /// The operator with the roles that the reader may see.
    pub operator: Operator,
    /// The address, `""` if there is none.
    pub email: String,
    /// Whether the operator may not sign in.
    pub is_disabled: bool,
    /// Whether a second factor is set up; `None` for a management key, which could look for the weakest operator.
    pub has_second_factor: Option<bool>,
}

/// How an operator is named.
#[derive(Debug, Clone)]
pub enum OperatorLookup {
    /// By id.
    Id(UserId),
    /// By address.
    Email(String),
}

impl Service {
    /// Lists the operators that the principal may see, oldest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_operators(&self, by: &Principal) -> Result<Vec<ListedOperator>, Refusal> {
        by.authorize_somewhere(Action::ReadOperators)?;
        let mut read = self.ports.store.read().await?;
        let mut operators = read.operators().list().await?;
        operators.retain(|operator| by.sees_operator(&operator.grants));
        Ok(shown(by, &mut *read, operators).await?)
    }

    /// Finds an operator whom the principal may see.
    ///
    /// # Errors
    /// [`Refusal::NotFound`].
    pub async fn find_operator(
        &self,
        by: &Principal,
        lookup: &OperatorLookup,
    ) -> Result<ListedOperator, Refusal> {
        by.authorize_somewhere(Action::ReadOperators)?;
        let mut read = self.ports.store.read().await?;
        let user = match lookup {
            OperatorLookup::Id(user) => Some(*user),
            OperatorLookup::Email(email) => {
                let email = Email::parse(email)?;
                let found = read
                    .identifiers()
                    .email_by_identity(&WORLD, email.identity())
                    .await?;
                found.map(|(_, user)| user.id)
            }
        };
        let operator = match user {
            Some(user) => read.operators().find(user).await?,
            None => None,
        };
        let operator = operator.filter(|operator| by.sees_operator(&operator.grants));
        let operator = operator.ok_or(Refusal::NotFound("operator"))?;
        let mut listed = shown(by, &mut *read, vec![operator]).await?;
        listed.pop().ok_or(Refusal::NotFound("operator"))
    }
}

/// Reads the accounts of operators together.
async fn shown(
    by: &Principal,
    read: &mut dyn Repositories,
    operators: Vec<Operator>,
) -> Result<Vec<ListedOperator>, Fault> {
    let wanted: Vec<_> = operators.iter().map(|one| (WORLD, one.user_id)).collect();
    let users = match wanted.as_slice() {
        [] => Vec::new(),
        wanted => read.users().find_all_whole(wanted).await?,
    };
    let listed = operators.into_iter().zip(users);
    Ok(listed
        .map(|(operator, user)| listed_operator(by, operator, user.as_ref()))
        .collect())
}

fn listed_operator(
    by: &Principal,
    mut operator: Operator,
    user: Option<&WholeUser>,
) -> ListedOperator {
    operator.grants = operator.grants.seen(|app| by.sees_roles_in(app));
    let profile = user.map(|user| &user.profile);
    ListedOperator {
        email: profile.map(address).unwrap_or_default(),
        is_disabled: profile.is_none_or(|profile| profile.user.disabled.is_some()),
        has_second_factor: match by.as_management_key() {
            Some(_) => None,
            None => Some(user.is_some_and(with_second_factor)),
        },
        operator,
    }
}

/// The address of an operator.
pub(super) fn address(profile: &UserProfile) -> String {
    let email = profile.emails.first().map(|email| email.email.address());
    email.unwrap_or_default().to_owned()
}
