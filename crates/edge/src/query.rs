//! Query parameters.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};
use serde::de::DeserializeOwned;
use serde_json::map::Entry;
use serde_json::{Map, Value};
use vestry_domain::{Invalid, Secret};

use crate::json;
use crate::problem::Problem;

/// A request's query, read into a type with optional fields. Unknown names are ignored, and an empty value counts as absent.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequest for Query<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        ready(parse(request.query_string()).map(Self))
    }
}

/// Parses a query string, or a form in the same encoding.
pub fn parse<T: DeserializeOwned>(query: &str) -> Result<T, Problem> {
    let mut object = Map::new();
    for (name, value) in pairs(query)? {
        if name.contains('\0') || value.contains('\0') {
            let message = "query parameters must not contain the NUL character";
            return Err(Invalid::value(name, message).into());
        }
        match object.entry(name) {
            Entry::Vacant(place) => {
                place.insert(Value::String(value));
            }
            Entry::Occupied(place) => {
                let name = place.key().clone();
                return Err(Invalid::value(name, "duplicate query parameter").into());
            }
        }
    }
    Ok(json::from_query(object)?)
}

/// The first value of a parameter that carries a key; `None` if the query is malformed.
pub(crate) fn parameter(query: &str, wanted: &str) -> Option<Secret<String>> {
    let (_, key) = pairs(query)
        .ok()?
        .into_iter()
        .find(|(name, _)| name == wanted)?;
    (!key.is_empty()).then(|| Secret::new(key))
}

fn pairs(query: &str) -> Result<Vec<(String, String)>, Problem> {
    web::Query::<Vec<(String, String)>>::from_query(query)
        .map(web::Query::into_inner)
        .map_err(|_unreadable| Problem::request("the query string is malformed"))
}
