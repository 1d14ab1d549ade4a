use serde_json::{Value, json};
use utoipa::openapi::{Info, OpenApi, Paths};

use super::*;
use crate::router::by_path;

/// Endpoints of two crates, on one path.
mod things {
    macro_rules! endpoint {
        ($name:ident $method:ident) => {
            pub(super) mod $name {
                use crate::problem::Code;

                pub(crate) const ERRORS: &[Code] = &[Code::Duplicate];

                #[utoipa::path($method, path = "/v1/things", responses((status = 200, description = "Done")))]
                pub(crate) async fn handle() -> &'static str {
                    "done"
                }
            }
        };
    }
    endpoint!(list get);
    endpoint!(create post);
}

fn one() -> Vec<Endpoint> {
    crate::endpoints! { Public things list; }
}

fn other() -> Vec<Endpoint> {
    crate::endpoints! { SecretKey things create; }
}

fn base() -> OpenApi {
    OpenApi::new(Info::new("Things", "1"), Paths::new())
}

#[test]
fn tables_of_several_crates_are_one_api() {
    let api = Api::new(base, &[one, other]);
    let paths = by_path(api.endpoints());
    assert_eq!(paths.iter().map(Vec::len).collect::<Vec<_>>(), [2]);
    let document: Value = serde_json::from_str(api.openapi()).unwrap();
    assert_eq!(document["info"]["title"], "Things");
    let methods = &document["paths"]["/v1/things"];
    assert_eq!(methods["get"]["security"], json!([]));
    assert_eq!(methods["post"]["security"], json!([{"secret_key": []}]));
    assert!(methods["post"]["responses"].get("409").is_some());
    let page = api.page(|document, paths| format!("{} {paths:?}", document["info"]["title"]));
    assert_eq!(page, r#""Things" ["/v1/things", "/v1/things"]"#);
}
