use vestry_edge::Auth::{Public, SecretKeyOrPublicToken};
use vestry_edge::{by_path, by_prefix};

use super::*;

/// The router takes the first path that matches, so an id must not come before a fixed segment in the same position.
#[test]
fn no_endpoint_is_shadowed_by_an_id() {
    let paths: Vec<String> = by_path(endpoints())
        .iter()
        .map(|endpoints| endpoints[0].path.clone())
        .collect();
    for (index, path) in paths.iter().enumerate() {
        for earlier in &paths[..index] {
            assert!(!fits(earlier, path), "{earlier} shadows {path}");
        }
    }
    assert!(fits("/v1/wallets/{wallet_id}", "/v1/wallets/list"));
}

fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<&str>, Vec<&str>) =
        (pattern.split('/').collect(), path.split('/').collect());
    pattern.len() == path.len()
        && pattern
            .iter()
            .zip(&path)
            .all(|(pattern, path)| pattern == path || pattern.starts_with('{'))
}

/// A group handles every path that begins with its prefix, so each path must belong to exactly one group.
#[test]
fn every_path_is_in_exactly_one_group() {
    let groups = by_prefix(endpoints());
    let mut grouped = 0;
    for (prefix, paths) in &groups {
        for endpoints in paths {
            let path = &endpoints[0].path;
            grouped += 1;
            for (other, _) in &groups {
                let fits = path == other || path.starts_with(&format!("{other}/"));
                let is_its_own = other == prefix;
                assert!(other.is_empty() || fits == is_its_own, "{path} in {other}");
            }
        }
    }
    assert_eq!(grouped, by_path(endpoints()).len());
    assert_eq!(groups[0].0, "");
    let prefixes: Vec<_> = groups.iter().map(|(prefix, _)| prefix.as_str()).collect();
    assert!(prefixes.contains(&"/v1/wallets") && prefixes.contains(&"/v1/auth/users"));
}

/// The gate is per path: all methods of a path require the same kind of key.
#[test]
fn the_endpoints_of_a_path_require_the_same_key() {
    for endpoints in by_path(endpoints()) {
        assert!(
            endpoints
                .iter()
                .all(|endpoint| endpoint.auth == endpoints[0].auth),
            "{}",
            endpoints[0].path
        );
    }
}

/// Calls that require a secret key are never open to pages; calls that accept a public token always are.
#[test]
fn m_25_pages_may_call_what_needs_no_secret_key() {
    let for_pages = endpoints()
        .into_iter()
        .filter(|endpoint| endpoint.for_pages);
    let for_pages: Vec<_> = for_pages
        .map(|endpoint| (endpoint.path, endpoint.auth))
        .collect();
    assert_eq!(
        for_pages,
        [
            (
                "/v1/auth/oauth/{provider}/begin".to_owned(),
                SecretKeyOrPublicToken
            ),
            ("/v1/auth/jwks/{app_id}".to_owned(), Public),
        ]
    );
    let takes_token = |endpoint: &Endpoint| endpoint.auth == SecretKeyOrPublicToken;
    assert!(
        endpoints()
            .iter()
            .all(|endpoint| !takes_token(endpoint) || endpoint.for_pages)
    );
}
