use std::io::Write;

use rcgen::generate_simple_self_signed;
use tempfile::NamedTempFile;

use super::*;

fn file(content: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    file
}

fn certificate_pem() -> String {
    generate_simple_self_signed(vec!["localhost".to_owned()])
        .unwrap()
        .cert
        .pem()
}

#[test]
fn authorities_are_added_from_a_file() {
    let bundle = file(&format!("{}\n{}", certificate_pem(), certificate_pem()));
    assert_eq!(from_file(bundle.path()).unwrap().len(), 2);
    assert!(tls("localhost", Some(bundle.path())).is_ok());
    assert!(tls("127.0.0.1", None).is_ok());
}

/// Nothing in a configured file is silently ignored.
#[test]
fn a_file_with_a_broken_entry_is_refused() {
    let good = certificate_pem();
    let broken = good.replacen("MII", "!!!", 1);
    let not_a_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for content in [
        "",
        "hello",
        broken.as_str(),
        not_a_certificate,
        &format!("{good}{broken}"),
        &format!("{good}{not_a_certificate}"),
    ] {
        let refused = tls("localhost", Some(file(content).path()));
        assert!(matches!(refused, Err(BadSettings::CaFileContent)));
    }
    let missing = tls("localhost", Some(Path::new("no/such/file")));
    assert!(matches!(missing, Err(BadSettings::CaFile(_))));
}
