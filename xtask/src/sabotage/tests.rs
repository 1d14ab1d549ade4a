use super::{HOLES, found, judge};

/// What cargo prints when every hole was found.
fn all_found() -> String {
    let mut said = String::new();
    for hole in HOLES {
        said += &format!("test {} ... FAILED\n", hole.test);
    }
    said += "\nfailures:\n\n";
    for hole in HOLES {
        said += &format!(
            "---- {} stdout ----\nthread panicked at file.rs:1:1:\n{}\n\n",
            hole.test, hole.says
        );
    }
    said
}

#[test]
fn a_hole_is_found_by_its_own_test_in_its_own_words() {
    let said = all_found();
    assert!(judge(&said).is_ok());
    for hole in HOLES {
        let passed = said.replace(
            &format!("test {} ... FAILED", hole.test),
            &format!("test {} ... ok", hole.test),
        );
        assert!(!found(&passed, hole));
        assert!(judge(&passed).is_err());
        let otherwise = said.replace(hole.says, "no database");
        assert!(!found(&otherwise, hole));
        assert!(judge(&otherwise).is_err());
    }
    assert!(judge("error: could not compile").is_err());
}
