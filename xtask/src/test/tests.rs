use super::*;

fn parsed(arguments: &[&str]) -> Result<Request, Failure> {
    let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    Request::parse(&arguments)
}

#[test]
fn no_arguments_request_everything() {
    let request = parsed(&[]).unwrap();
    assert!(request.install && request.is_whole());
    assert!(parsed(&["--no-install"]).unwrap().is_whole());
}

#[test]
fn packages_and_filters_request_a_part() {
    let request = parsed(&[
        "-p",
        "vestry-domain",
        "email",
        "--no-install",
        "--package",
        "vestry-app",
    ])
    .unwrap();
    assert_eq!(request.packages, ["vestry-domain", "vestry-app"]);
    assert_eq!(request.filters, ["email"]);
    assert!(!request.install && !request.is_whole());
}

#[test]
fn unknown_options_are_usage_errors() {
    assert!(matches!(parsed(&["--release"]), Err(Failure::Usage(_))));
    assert!(matches!(parsed(&["-p"]), Err(Failure::Usage(_))));
}
