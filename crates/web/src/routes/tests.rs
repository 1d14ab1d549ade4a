use super::*;

/// The router takes the first path that fits, so an id must not stand before a fixed segment in its place.
#[test]
fn no_endpoint_hides_behind_an_id() {
    let paths: Vec<String> = by_path()
        .iter()
        .map(|endpoints| endpoints[0].path.clone())
        .collect();
    for (index, path) in paths.iter().enumerate() {
        for earlier in &paths[..index] {
            assert!(
                !fits(earlier, path),
                "{earlier} takes the requests of {path}"
            );
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

/// The gate is per path: two methods of one path cannot ask for different keys.
#[test]
fn the_endpoints_of_a_path_ask_for_the_same_key() {
    for endpoints in by_path() {
        assert!(
            endpoints
                .iter()
                .all(|endpoint| endpoint.access == endpoints[0].access),
            "{}",
            endpoints[0].path
        );
    }
}
