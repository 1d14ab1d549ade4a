use super::*;
use crate::tidy::tree::File;

fn found(text: &str) -> usize {
    let file = File {
        path: "a.md".to_owned(),
        text: text.to_owned(),
    };
    check(&Tree { files: vec![file] }).len()
}

#[test]
fn every_pattern_is_found() {
    for (one, other) in DIRECTORIES {
        assert_eq!(found(&format!("see {one}{other}x")), 1, "{one}{other}");
        assert_eq!(
            found(&format!("{one}{other}x")),
            1,
            "{one}{other} at the start"
        );
    }
    for (one, other) in REGISTRIES {
        assert_eq!(found(&format!("a {one}{other} b")), 1, "{one}{other}");
    }
}

#[test]
fn a_part_of_a_longer_path_is_not_a_path_of_a_machine() {
    let (one, other) = DIRECTORIES[0];
    assert_eq!(found(&format!("https://example.com{one}{other}x")), 0);
    assert_eq!(found(&format!("${{DIR}}{one}{other}x")), 0);
}
