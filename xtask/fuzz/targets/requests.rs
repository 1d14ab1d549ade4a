//! Requests to every operation of the API, through routing, gate, idempotency, handler and use case, over a database in memory.
//!
//! The first byte selects the operation, the second the headers, and the rest is the body, or the query of an operation without one. No
//! response has status 5xx, and every refusal has the common form of errors. Operations are in the order of the API description, so a
//! new one shifts the seeds of those after it.

#![no_main]

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::LazyLock;

use actix_web::body::to_bytes;
use actix_web::dev::Service as _;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::http::{Method, Uri};
use actix_web::rt::{System, SystemRunner};
use actix_web::test::{TestRequest, init_service};
use actix_web::{App, web::Bytes};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_domain::ids::OauthCallbackId;
use vestry_domain::redirect::RedirectKind;
use vestry_edge::{Api, WebSettings};
use vestry_fuzz::input::{choice, pick};
use vestry_fuzz::service::FuzzService;

struct Operation {
    method: Method,
    path: String,
    has_body: bool,
}

static API: Api = Api::new(vestry_web::description, &[vestry_web::endpoints]);

/// In the order of the description.
static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let document: Value = serde_json::from_str(API.openapi()).expect("JSON");
    let paths = document["paths"].as_object().expect("paths");
    let mut operations = Vec::new();
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().expect("methods") {
            if let Ok(method) = method.to_uppercase().parse() {
                operations.push(Operation {
                    method,
                    path: path.clone(),
                    has_body: operation.get("requestBody").is_some(),
                });
            }
        }
    }
    operations
});

/// A service with a user and wallets, replaced before it grows.
struct Fixture {
    fuzz: FuzzService,
    send: Send,
    /// The values for `{…_id}` in paths, by name.
    ids: Vec<(&'static str, String)>,
    calls: usize,
}

type Answer = (u16, Bytes);
/// The application; its own type has no name.
type Send = Box<dyn Fn(TestRequest) -> Pin<Box<dyn Future<Output = Answer>>>>;

/// The number of requests after which everything is recreated, because the database is in memory.
const CALLS: usize = 500;

thread_local! {
    static SYSTEM: &'static SystemRunner = Box::leak(Box::new(System::new()));
    /// Never dropped with the thread, because the objects it would use in `drop` are gone by then.
    static FIXTURE: RefCell<ManuallyDrop<Option<Fixture>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
}

async fn application(fuzz: &FuzzService) -> Send {
    let settings = WebSettings {
        trusted_proxies: vec!["127.0.0.0/8".parse().expect("a range")],
        ..WebSettings::default()
    };
    let configure = vestry_edge::configure(fuzz.service.clone(), settings, &API, None);
    let app = Rc::new(init_service(App::new().configure(configure)).await);
    Box::new(move |request| {
        let app = app.clone();
        Box::pin(async move {
            let answer = app.call(request.to_request()).await.expect("an answer");
            let status = answer.status().as_u16();
            (status, to_bytes(answer.into_body()).await.expect("a body"))
        })
    })
}

async fn fixture() -> Fixture {
    let fuzz = FuzzService::build().await;
    let send = application(&fuzz).await;
    let post = |path: &str, body: Value| {
        let bearer = format!("Bearer {}", fuzz.test_key);
        TestRequest::post()
            .uri(path)
            .insert_header(("Authorization", bearer))
            .set_json(body)
    };
    let made = async |request| {
        let (status, body) = send(request).await;
        assert_eq!(status, 200, "{body:?}");
        serde_json::from_slice::<Value>(&body).expect("JSON")
    };
    let user = json!({
        "email": "ada@example.com", "phone_number": "+14155552671", "wallet_type": "ethereum",
    });
    let user = made(post("/v1/auth/users/create", user)).await;
    for kind in [RedirectKind::Login, RedirectKind::Registration] {
        let url = "https://shop.example.com/landed";
        let added = fuzz
            .service
            .add_redirect_url(Principal::cli(), fuzz.world, kind, url, true);
        added.await.expect("a redirect URL");
    }
    let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let callback = OauthCallbackId::of_test_provider(fuzz.world.app_id);
    let user_id = id(&user["user_id"]);
    let wallet = json!({"user_id": user_id, "wallet_type": "solana"});
    let wallet = made(post("/v1/wallets/create", wallet)).await;
    let ids = vec![
        ("{wallet_id}", id(&wallet["wallet_id"])),
        ("{app_id}", fuzz.world.app_id.to_string()),
        ("{email_id}", id(&user["email_id"])),
        ("{pn_id}", id(&user["phone_number_id"])),
        ("{oauthcb_id}", callback.to_string()),
        ("{user_id}", user_id),
    ];
    Fixture {
        fuzz,
        send,
        ids,
        calls: 0,
    }
}

/// The path with existing ids; ids of other kinds are unknown ones.
fn path(operation: &Operation, fixture: &Fixture) -> String {
    let mut path = operation.path.clone();
    for (name, id) in &fixture.ids {
        path = path.replace(name, id);
    }
    path.replace("{provider}", "test")
        .replace("{idpuser_id}", "idpuser_000000000000000000000000000")
        .replace("{totp_id}", "totp_000000000000000000000000000")
        .replace("{webauthn_id}", "webauthn_000000000000000000000000000")
}

/// The bytes as a query, if they can be one.
fn query(bytes: &[u8]) -> String {
    let mut query = String::new();
    for byte in bytes {
        match byte {
            b'&' | b'=' | b'+' | b'%' | b'.' | b'_' | b'-' => query.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => query.push(char::from(*byte)),
            byte => query.push_str(&format!("%{byte:02X}")),
        }
    }
    query
}

fn header(request: TestRequest, name: &'static str, value: &[u8]) -> TestRequest {
    match HeaderValue::from_bytes(value) {
        Ok(value) => request.insert_header((HeaderName::from_static(name), value)),
        Err(_) => request,
    }
}

/// The request; `None` for one that would only wait.
fn request(
    operation: &Operation,
    head: usize,
    rest: &[u8],
    fixture: &Fixture,
) -> Option<TestRequest> {
    let mut request = TestRequest::default()
        .method(operation.method.clone())
        .peer_addr(([127, 0, 0, 1], 4711).into());
    // A value from the input for some header fields.
    let (line, rest) = if head & 0x70 != 0 {
        let end = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(rest.len());
        (&rest[..end], rest.get(end + 1..).unwrap_or_default())
    } else {
        (&[][..], rest)
    };
    let key = if head & 1 == 0 {
        &fixture.fuzz.test_key
    } else {
        &fixture.fuzz.live_key
    };
    let bearer = format!("Bearer {key}");
    request = match head & 0x70 {
        0x10 => header(request, "authorization", line),
        0x20 => header(request, "x-forwarded-for", line),
        0x30 => header(request, "content-type", line),
        0x40 => header(request, "accept", line),
        _ => request,
    };
    if head & 0x70 != 0x10 {
        request = header(request, "authorization", bearer.as_bytes());
    }
    if head & 0x70 == 0x50 {
        request = header(request, "idempotency-key", line);
    }
    let mut path = path(operation, fixture);
    if operation.has_body {
        if head & 0x70 != 0x30 {
            request = header(request, "content-type", b"application/json");
        }
        request = request.set_payload(rest.to_vec());
    } else {
        let query = query(rest);
        if path == "/v1/test/messages" && query.contains("wait") {
            return None;
        }
        path = format!("{path}?{query}");
    }
    path.parse::<Uri>().ok()?;
    Some(request.uri(&path))
}

fn judge(operation: &Operation, (status, body): &Answer) {
    let place = format!("{} {}", operation.method, operation.path);
    assert!(*status < 500, "{place}: {status} {body:?}");
    if *status < 400 {
        return;
    }
    let error: Value = serde_json::from_slice(body).unwrap_or_default();
    let has_form = error["error"]["code"].is_string() && error["error"]["message"].is_string();
    assert!(has_form, "{place}: {status} {body:?}");
}

fuzz_target!(|data: &[u8]| {
    let Some((operation, rest)) = choice(data) else {
        return;
    };
    let Some((head, rest)) = choice(rest) else {
        return;
    };
    let operation = pick(&OPERATIONS, operation);
    SYSTEM.with(|system| {
        FIXTURE.with_borrow_mut(|place| {
            let old = place.take().filter(|fixture| fixture.calls < CALLS);
            let mut fixture = match old {
                Some(fixture) => fixture,
                None => system.block_on(fixture()),
            };
            fixture.calls += 1;
            if let Some(request) = request(operation, head, rest, &fixture) {
                judge(operation, &system.block_on((fixture.send)(request)));
            }
            **place = Some(fixture);
        })
    });
});
