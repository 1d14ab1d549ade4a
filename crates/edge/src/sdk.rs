//! What the API description says to generators of client libraries (SDK-8).

use serde_json::{Value, json};

/// Place of a call in client libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sdk {
    /// The name of its method: the path of the resource without ids, and a verb.
    Call(&'static str),
    /// The name, and the field with the items of a page. The next page starts after the id of the last item.
    List(&'static str, &'static str),
    /// The name, the field with the items of a page, the parameter with the cursor, and the field with the next cursor.
    Log(&'static str, &'static str, &'static str, &'static str),
    /// The reason that libraries leave it out.
    Skip(&'static str),
}

impl Sdk {
    /// The members of the operation in the API description.
    pub(crate) fn members(self, idempotency: &str) -> Vec<(&'static str, Value)> {
        let (name, page) = match self {
            Self::Skip(reason) => return vec![("x-sdk-skip", reason.into())],
            Self::Call(name) => (name, None),
            Self::List(name, items) => (name, Some((items, "starting_after", "last_id"))),
            Self::Log(name, items, cursor, next) => (name, Some((items, cursor, next))),
        };
        let mut members = vec![
            ("x-sdk-name", name.into()),
            ("x-idempotency", idempotency.into()),
        ];
        if let Some((items, cursor, next)) = page {
            let page = json!({ "items": items, "cursor": cursor, "next": next });
            members.push(("x-sdk-page", page));
        }
        members
    }
}
