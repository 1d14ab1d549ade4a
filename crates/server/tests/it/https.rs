//! HTTPS with a custom certificate, and requests without HTTPS (S-18).

use std::fs;
use std::path::Path;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::process::Signal;

use crate::support::client::{Api, http};
use crate::support::installation::{Installation, Server};

/// Writes and returns a new certificate for this machine.
fn certify(installation: &Installation) -> String {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    fs::write(installation.file("cert.pem"), cert.pem()).unwrap();
    fs::write(installation.file("key.pem"), signing_key.serialize_pem()).unwrap();
    cert.pem()
}

fn with_tls(installation: &mut Installation) {
    let name = |path: &Path| path.to_str().unwrap().to_owned();
    let (cert, key) = (
        name(&installation.file("cert.pem")),
        name(&installation.file("key.pem")),
    );
    installation.set("http.tls.cert", &cert);
    installation.set("http.tls.key", &key);
    installation.set("http.base_url", "https://localhost:8443");
}

fn over_tls(server: &Server, certificate: &str, key: &str) -> Api {
    let address = server.base_url.replace("http://", "https://");
    Api::over(http(&[certificate]), &address, key)
}

/// PR-49: SIGHUP reloads the certificate, and a bad pair leaves the old one in force.
#[tokio::test(flavor = "multi_thread")]
async fn pr_49_a_renewed_certificate_is_loaded_on_sighup() {
    let mut installation = Installation::sqlite();
    let keys = installation.set_up();
    let first = certify(&installation);
    with_tls(&mut installation);
    let mut server = installation.serve().await;
    over_tls(&server, &first, &keys.live)
        .get("/v1/wallets/list")
        .await
        .ok();

    let second = certify(&installation);
    server.process.signal(Signal::HUP);
    server
        .process
        .logged("settings reloaded: http.tls.cert")
        .await;
    over_tls(&server, &second, &keys.live)
        .get("/v1/wallets/list")
        .await
        .ok();
    let untrusting = over_tls(&server, &first, &keys.live)
        .try_get("/livez")
        .await;
    assert!(
        untrusting.is_err(),
        "the first certificate is no longer shown"
    );

    let key = fs::read(installation.file("key.pem")).unwrap();
    certify(&installation);
    fs::write(installation.file("key.pem"), key).unwrap();
    server.process.signal(Signal::HUP);
    server
        .process
        .shows("settings not reloaded: the certificate")
        .await;
    over_tls(&server, &second, &keys.live)
        .get("/v1/wallets/list")
        .await
        .ok();
    server.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_does_not_match_its_key_is_refused() {
    let mut installation = Installation::sqlite();
    installation.set_up();
    certify(&installation);
    let key = fs::read(installation.file("key.pem")).unwrap();
    certify(&installation);
    fs::write(installation.file("key.pem"), key).unwrap();
    with_tls(&mut installation);
    let output = installation.run(&["serve"]);
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("do not match"), "{output:?}");
}

/// OPS-8: plain HTTP on a non-loopback listener is refused, never redirected.
#[tokio::test(flavor = "multi_thread")]
async fn plain_http_to_the_world_is_refused() {
    let mut installation = Installation::sqlite();
    let keys = installation.set_up();
    installation.set("http.listen", "0.0.0.0:0");
    let server = installation.serve().await;
    let address = server.base_url.replace("0.0.0.0", "127.0.0.1");
    let answer = Api::new(&address, &keys.live).get("/v1/wallets/list").await;
    assert_eq!(answer.error(400), "https_required");
    server.process.stop().await;
}
