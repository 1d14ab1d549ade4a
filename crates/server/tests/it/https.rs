//! HTTPS with a custom certificate, and requests without HTTPS (S-18).

use std::fs;
use std::path::Path;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::process::Signal;

use crate::support::client::{Api, http};
use crate::support::site::{Server, Site};

/// Writes and returns a new certificate for this machine.
fn certify(site: &Site) -> String {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    fs::write(site.file("cert.pem"), cert.pem()).unwrap();
    fs::write(site.file("key.pem"), signing_key.serialize_pem()).unwrap();
    cert.pem()
}

fn with_tls(site: &mut Site) {
    let name = |path: &Path| path.to_str().unwrap().to_owned();
    let (cert, key) = (name(&site.file("cert.pem")), name(&site.file("key.pem")));
    site.set("http.tls.cert", &cert);
    site.set("http.tls.key", &key);
    site.set("http.base_url", "https://localhost:8443");
}

fn over_tls(server: &Server, certificate: &str, key: &str) -> Api {
    let address = server.base_url.replace("http://", "https://");
    Api::over(http(&[certificate]), &address, key)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_loaded_on_sighup() {
    let mut site = Site::sqlite();
    let keys = site.set_up();
    let first = certify(&site);
    with_tls(&mut site);
    let mut server = site.serve().await;
    over_tls(&server, &first, &keys.live)
        .get("/v1/wallets/list")
        .await
        .ok();

    let second = certify(&site);
    server.process.signal(Signal::HUP);
    server.process.logged("certificate reloaded").await;
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

    fs::write(site.file("cert.pem"), "nothing").unwrap();
    server.process.signal(Signal::HUP);
    server
        .process
        .logged("certificate reload failed; keeping the old one")
        .await;
    over_tls(&server, &second, &keys.live)
        .get("/v1/wallets/list")
        .await
        .ok();
    server.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_does_not_match_its_key_is_refused() {
    let mut site = Site::sqlite();
    site.set_up();
    certify(&site);
    let key = fs::read(site.file("key.pem")).unwrap();
    certify(&site);
    fs::write(site.file("key.pem"), key).unwrap();
    with_tls(&mut site);
    let said = site.run(&["serve"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("do not match"), "{said:?}");
}

/// OPS-8: plain HTTP on a non-loopback listener is refused, never redirected.
#[tokio::test(flavor = "multi_thread")]
async fn plain_http_to_the_world_is_refused() {
    let mut site = Site::sqlite();
    let keys = site.set_up();
    site.set("http.listen", "0.0.0.0:0");
    let server = site.serve().await;
    let address = server.base_url.replace("0.0.0.0", "127.0.0.1");
    let answer = Api::new(&address, &keys.live).get("/v1/wallets/list").await;
    assert_eq!(answer.error(400), "https_required");
    server.process.stop().await;
}
