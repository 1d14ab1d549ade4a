//! HTTPS with a custom certificate, and requests without HTTPS (S-18).

use std::fs;
use std::path::Path;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustix::process::Signal;

use crate::support::client::{Api, http};
use crate::support::installation::{Installation, Server};
use crate::telemetry::{measured, value};

/// Writes and returns a new certificate for this machine.
fn certify(installation: &Installation) -> String {
    certify_until(installation, 2100)
}

/// The same, valid until a year begins.
fn certify_until(installation: &Installation, year: i32) -> String {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut of = CertificateParams::new(names).unwrap();
    of.not_after = date_time_ymd(year, 1, 1);
    let key = KeyPair::generate().unwrap();
    let cert = of.self_signed(&key).unwrap();
    fs::write(installation.file("cert.pem"), cert.pem()).unwrap();
    fs::write(installation.file("key.pem"), key.serialize_pem()).unwrap();
    cert.pem()
}

/// When the certificate of a service expires, as its metrics say (PR-15).
async fn expiry(probes: &Api) -> f64 {
    let metrics = probes.get("/metrics").await.text;
    value(
        &metrics,
        "vestry_tls_certificate_expiry_timestamp_seconds{}",
    )
}

/// When the years 2100 and 2101 begin.
const EXPIRIES: [f64; 2] = [4_102_444_800.0, 4_133_980_800.0];

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

/// PR-49, PR-15: SIGHUP reloads the certificate, and a bad pair leaves the old one in force. The metrics follow.
#[tokio::test(flavor = "multi_thread")]
async fn pr_49_a_renewed_certificate_is_loaded_on_sighup() {
    let mut installation = Installation::sqlite();
    let keys = installation.set_up();
    let first = certify(&installation);
    with_tls(&mut installation);
    let (mut server, probes) = measured(&mut installation).await;
    over_tls(&server, &first, &keys.live)
        .get("/v1/wallets/list")
        .await
        .ok();
    let [of_first, of_second] = EXPIRIES;
    assert!((expiry(&probes).await - of_first).abs() < 1.0);

    let second = certify_until(&installation, 2101);
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
    assert!((expiry(&probes).await - of_second).abs() < 1.0);
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
