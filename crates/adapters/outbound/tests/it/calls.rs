//! Requests on the wire.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use url::Url;
use vestry_domain::Secret;
use vestry_outbound::{Call, Outbound, Reach};

use crate::guard::LIMITS;

/// Makes a call to a separate listener and returns the request as received, with header names in lower case.
async fn sent(call: impl FnOnce(Url) -> Call<'static>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/path", listener.local_addr().unwrap());
    let url = Url::parse(&url).unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = String::new();
        while !request.contains("\r\n\r\n") {
            let mut chunk = [0; 4096];
            let count = stream.read(&mut chunk).await.unwrap();
            request.push_str(std::str::from_utf8(chunk.get(..count).unwrap()).unwrap());
        }
        let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        request
    });
    let outbound = Outbound::new(Reach::default().and_named_by(&url), LIMITS).unwrap();
    assert_eq!(outbound.call(call(url)).await.unwrap().status, 204);
    server.await.unwrap()
}

fn has(request: &str, line: &str) -> bool {
    let (name, value) = line.split_once(": ").unwrap();
    let mut lines = request.lines().filter_map(|line| line.split_once(": "));
    lines.any(|(said, is)| said.eq_ignore_ascii_case(name) && is == value)
}

#[tokio::test]
async fn a_get_has_credentials_and_accepts_json() {
    let token: &'static Secret<String> =
        Box::leak(Box::new(Secret::new("secret-token".to_owned())));
    let request = sent(move |url| Call::get(url).with_bearer(token).wanting_json()).await;
    assert!(request.starts_with("GET /path HTTP/1.1\r\n"), "{request}");
    assert!(
        has(&request, "authorization: Bearer secret-token"),
        "{request}"
    );
    assert!(has(&request, "accept: application/json"), "{request}");
    let agent = concat!("user-agent: vestry/", env!("CARGO_PKG_VERSION"));
    assert!(has(&request, agent), "{request}");
    let request = sent(Call::get).await;
    assert!(
        !request.to_lowercase().contains("authorization"),
        "{request}"
    );
}

/// One name twice as well; and no value that would end its line.
#[tokio::test]
async fn a_post_has_the_given_headers() {
    let headers = [("x-one", "1"), ("X-Two", "a b"), ("x-one", "2")];
    let request = sent(move |url| Call::post_with(url, headers, b"{}".to_vec()).unwrap()).await;
    assert!(request.starts_with("POST /path HTTP/1.1\r\n"), "{request}");
    for line in ["x-one: 1", "x-one: 2", "x-two: a b", "content-length: 2"] {
        assert!(has(&request, line), "{request}");
    }
    for (name, value) in [
        ("x-one", "1\r\nx-two: 2"),
        ("x-one", "\0"),
        ("x one", "1"),
        ("", "1"),
    ] {
        let url = Url::parse("https://example.com/").unwrap();
        let refused = Call::post_with(url, [(name, value)], Vec::new());
        assert!(refused.is_err(), "{name:?}: {value:?}");
    }
}

#[tokio::test]
async fn a_form_is_form_encoded() {
    let request = sent(|url| Call::post_form(url, &[("a", "1 &=")])).await;
    assert!(request.starts_with("POST /path HTTP/1.1\r\n"), "{request}");
    assert!(
        has(&request, "content-type: application/x-www-form-urlencoded"),
        "{request}"
    );
    assert!(has(&request, "content-length: 10"), "{request}");
}
