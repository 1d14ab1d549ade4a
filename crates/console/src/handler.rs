//! Handlers that can end early.

use std::future::Future;
use std::pin::Pin;

use actix_web::{Handler, HttpResponse};

/// A page, or the response in its place: a redirect, or an error page.
pub(crate) type Shown = Result<HttpResponse, HttpResponse>;

/// A handler that returns [`Shown`].
#[derive(Clone)]
pub(crate) struct Early<F>(pub(crate) F);

impl<F, Args> Handler<Args> for Early<F>
where
    F: Handler<Args, Output = Shown>,
    F::Future: 'static,
{
    type Output = HttpResponse;
    type Future = Pin<Box<dyn Future<Output = HttpResponse>>>;

    fn call(&self, args: Args) -> Self::Future {
        let shown = self.0.call(args);
        Box::pin(async move {
            match shown.await {
                Ok(response) | Err(response) => response,
            }
        })
    }
}
