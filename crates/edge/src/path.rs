//! Ids in paths.

use std::future::{Ready, ready};
use std::str::FromStr;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use vestry_domain::ids::{Id, PhoneNumberId};

use crate::problem::Problem;

/// The id in the `{<prefix>_id}` segment. A malformed id gets the same 404 as an unknown one.
pub struct PathId<I>(pub I);

impl<I: Id + FromStr> FromRequest for PathId<I> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        let is_segment = |name: &str| name.strip_suffix("_id") == Some(I::PREFIX);
        let mut segments = request.match_info().iter();
        let id = segments.find(|(name, _)| is_segment(name));
        let id = id.and_then(|(_, id)| id.parse().ok());
        ready(
            id.map(Self)
                .ok_or_else(|| Problem::not_found(resource(I::PREFIX))),
        )
    }
}

/// The name of a missing resource, as used in responses.
fn resource(prefix: &'static str) -> &'static str {
    if prefix == PhoneNumberId::PREFIX {
        "phone_number"
    } else {
        prefix
    }
}
