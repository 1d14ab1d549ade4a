use super::*;

/// What is found in a crate of these files.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(path, text)| File {
        path: format!("crates/a/src/{path}"),
        text: (*text).to_owned(),
    });
    let tree = Tree {
        files: files.collect(),
    };
    check(&tree).iter().map(ToString::to_string).collect()
}

/// What is found in two modules, `one` and `other`.
fn found_between(one: &str, other: &str) -> Vec<String> {
    let root = "mod one;\nmod other;\npub use other::{Thing, make as made};\nuse std::fmt;\n";
    found(&[("lib.rs", root), ("one.rs", one), ("other.rs", other)])
}

#[test]
fn two_that_name_each_other_are_a_circle() {
    assert_eq!(
        found_between("use crate::other::Thing;\n", "\nuse super::one::f;\n"),
        [
            "crates/a/src/one.rs:1: a circle of modules: one names other at crates/a/src/one.rs:1, \
             other names one at crates/a/src/other.rs:2"
        ]
    );
}

#[test]
fn an_arrow_that_does_not_come_back_is_none() {
    assert!(found_between("use crate::other::Thing;\n", "use std::fmt;\n").is_empty());
    assert!(found_between("use crate::other::Thing;\n", "use self::one::f;\n").is_empty());
    assert!(found_between("use crate::other::Thing;\n", "use one::f;\n").is_empty());
    assert!(found_between("use crate::other::Thing;\n", "fn f() { fmt::one() }\n").is_empty());
}

/// Whatever way a module is named in.
#[test]
fn every_way_to_name_a_module_is_seen() {
    for text in [
        "use crate::other;",
        "use crate::other::*;",
        "use crate::{fmt, other::{self, Thing}};",
        "use crate::Thing;",
        "use crate::{fmt::{self}, made};",
        "use super::Thing as Mine;",
        "use super::{fmt, made as mine};",
        "fn f(thing: &crate::Thing) {}",
        "fn f() { crate::other::make() }",
        "fn f() { 1 + super::made() }",
        "type T = Vec<<u8 as crate::other::Thing>::Out>;",
        "macro_rules! m { () => { $crate::other::make() }; }",
        "use super::{self as root}; fn f() { root::made() }",
        "mod inside { use crate::other::Thing; }",
        "mod inside { use super::super::made; }",
        "fn f() { use crate::other::make; }",
        "fn f(x: &'static str) -> char { crate::other::make('\"') }",
    ] {
        assert_eq!(found_between(text, "use crate::one;").len(), 1, "{text}");
    }
}

#[test]
fn comments_texts_and_bounds_are_not_names() {
    for text in [
        "//! See [`crate::other`].\n// crate::other::make()\n/* crate::other */",
        "const T: &str = \"crate::other::make\";",
        "const T: &str = r#\"use \"crate::other;\"#;",
        "pub(crate) fn f<'a>(x: &'a str) -> impl Fn() + use<'a> {}",
        "pub(in crate::one) fn f() {}",
    ] {
        assert!(found_between(text, "use crate::one;").is_empty(), "{text}");
    }
}

#[test]
fn tests_may_name_whom_they_like() {
    for text in [
        "#[cfg(test)]\nmod tests { use crate::other; }",
        "#[cfg(test)]\nuse crate::other::{Thing, make};\n",
        "#[cfg(all(test, unix))]\n#[allow(dead_code)]\nfn f(x: [u8; 2]) { crate::other::make() }",
        "#[cfg(test)]\nmod tests;",
    ] {
        assert!(found_between(text, "use crate::one;").is_empty(), "{text}");
    }
    let text = "#[cfg(any(test, unix))]\nuse crate::other;";
    assert_eq!(found_between(text, "use crate::one;").len(), 1);
    let text = "#[cfg(test)]\nfn f() {}\nuse crate::other;";
    assert_eq!(found_between(text, "use crate::one;").len(), 1);
}

/// What stands inside a module counts for it, on both ends and in both kinds of directories.
#[test]
fn parts_count_for_the_whole() {
    let files = [
        ("lib.rs", "mod one;\nmod other;\n"),
        ("one.rs", "mod deep;\n"),
        ("one/deep.rs", "use crate::other::part::Thing;\n"),
        ("other/mod.rs", "mod part;\nmod rest;\n"),
        ("other/part.rs", "pub struct Thing;\n"),
        ("other/rest.rs", "use crate::one::deep::f;\n"),
    ];
    assert_eq!(
        found(&files),
        [
            "crates/a/src/one/deep.rs:1: a circle of modules: one names other at \
             crates/a/src/one/deep.rs:1, other names one at crates/a/src/other/rest.rs:1"
        ]
    );
}

#[test]
fn parts_of_one_module_are_looked_at_on_their_own() {
    let files = [
        ("main.rs", "mod whole;\n"),
        ("whole/mod.rs", "mod one;\nmod other;\nuse other::Thing;\n"),
        ("whole/one.rs", "use super::Thing;\n"),
        ("whole/other.rs", "use crate::whole::one;\n"),
    ];
    let found = found(&files);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].contains("whole::one names whole::other"),
        "{found:?}"
    );
}

#[test]
fn a_parent_and_its_parts_may_name_each_other() {
    let files = [
        ("lib.rs", "mod whole;\nstruct Root(whole::part::Thing);\n"),
        ("whole.rs", "mod part;\nuse part::Thing;\npub fn f() {}\n"),
        ("whole/part.rs", "use super::f;\nuse crate::Root;\n"),
    ];
    assert!(found(&files).is_empty());
}

#[test]
fn a_circle_over_several_is_told_once() {
    let files = [
        ("lib.rs", "mod one;\nmod three;\nmod two;\nmod watcher;\n"),
        ("one.rs", "use crate::two;\n"),
        ("two.rs", "use crate::three;\n"),
        ("three.rs", "use crate::one;\n"),
        ("watcher.rs", "use crate::{one, two};\n"),
    ];
    let found = found(&files);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("one names two"), "{found:?}");
    assert!(found[0].contains("three names one"), "{found:?}");
}

/// A file that is compiled twice is two modules.
#[test]
fn a_module_may_be_elsewhere() {
    let files = [
        ("lib.rs", "mod one;\nmod other;\n"),
        (
            "one/mod.rs",
            "#[path = \"../shared/mod.rs\"]\nmod shared;\n",
        ),
        (
            "other/mod.rs",
            "#[path = \"../shared/mod.rs\"]\nmod shared;\n",
        ),
        ("shared/mod.rs", "mod part;\n"),
        ("shared/part.rs", "use crate::one;\n"),
    ];
    assert!(found(&files).is_empty());
    let mut files = files;
    files[1].1 = "#[path = \"../shared/mod.rs\"]\nmod shared;\nuse crate::other;\n";
    let found = found(&files);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("other names one at crates/a/src/shared/part.rs:1"));
}

#[test]
fn an_import_of_itself_ends() {
    assert!(found_between("use crate::one::f;\nuse f::g;\nuse g::f;\n", "").is_empty());
}
