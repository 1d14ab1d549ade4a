//! Company sign-in: away to the provider, and back.

use actix_web::HttpResponse;
use actix_web::web::Query;

use crate::form::{Posted, Unread};
use crate::leave::{Returned, leave as leave_to};
use crate::page::{self, safe_return};
use crate::sign_in::{begin, form, message};
use crate::visit::Visit;

/// One text for every failure and everyone who is not admitted (OPR-8).
const REFUSED: &str =
    "You could not be signed in with your company account. Try again, or sign in another way.";
const TITLE: &str = "Company sign-in";
const PROVIDER: &str = "your company’s sign-in";
/// Length in bytes up to which the page to return to is stored.
const MAX_RETURN: usize = 1024;

/// `POST sign-in/company`
pub(crate) async fn leave(visit: Visit, Posted(posted): Posted) -> HttpResponse {
    let (fields, browser) = match (posted, visit.browser.clone()) {
        (Ok(fields), Some(browser)) => (fields, browser),
        (Ok(_), None) => return page::unread(&visit, Unread::Foreign),
        (Err(unread), _) => return page::unread(&visit, unread),
    };
    let after = fields.text("return");
    let after = safe_return(if after.len() > MAX_RETURN { "" } else { after }).to_owned();
    let request = visit.request.clone();
    let begun = visit.run(|service| async move {
        service
            .begin_company_sign_in(&request, browser, &after)
            .await
    });
    match begun.await {
        Ok(url) => leave_to(&visit, TITLE, PROVIDER, &url),
        Err(error) => page::refused(&visit, error.into()),
    }
}

/// `GET sign-in/company/callback`: acts on a GET (CON-4), because that is how providers send browsers back. The state can be used once, by
/// the browser that began.
pub(crate) async fn come_back(visit: Visit, Query(returned): Query<Returned>) -> HttpResponse {
    let callback = returned.callback(visit.browser.clone());
    let request = visit.request.clone();
    let finished = visit
        .run(|service| async move { service.finish_company_sign_in(&request, callback).await });
    match finished.await {
        Ok((session, after)) => begin(&visit, &session, &after),
        Err(error) => match message(error, REFUSED) {
            Ok(text) => form(&visit, "", "", Some(&text)).await,
            Err(problem) => page::refused(&visit, problem),
        },
    }
}
