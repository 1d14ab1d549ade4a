use super::*;
use crate::tidy::modules;
use crate::tidy::tree::{File, Tree};

fn found(files: &[(&str, &str)]) -> Vec<String> {
    found_besides(&[], files)
}

/// The findings in a crate of these files, where some arrows are known.
fn found_besides(known: &[&str], files: &[(&str, &str)]) -> Vec<String> {
    let known = KnownArrows {
        circles: known.iter().map(|arrow| (*arrow).to_owned()).collect(),
        ..KnownArrows::default()
    };
    let files = files.iter().map(|(path, text)| File {
        path: format!("crates/a/src/{path}"),
        text: (*text).to_owned(),
    });
    let tree = Tree {
        files: files.collect(),
    };
    let crates = modules::of_crates(&tree).unwrap();
    let findings = check(&crates, &known);
    findings.iter().map(ToString::to_string).collect()
}

/// The findings in two modules, `one` and `other`.
fn found_between(one: &str, other: &str) -> Vec<String> {
    let root = "mod one;\nmod other;\npub use other::{Thing, make as made};\nuse std::fmt;\n";
    found(&[("lib.rs", root), ("one.rs", one), ("other.rs", other)])
}

#[test]
fn two_that_name_each_other_are_a_circle() {
    assert_eq!(
        found_between("use crate::other::Thing;\n", "\nuse super::one::f;\n"),
        [
            "crates/a/src/one.rs:1: dependency cycle: one uses other at crates/a/src/one.rs:1, \
             other uses one at crates/a/src/other.rs:2"
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
            "crates/a/src/one/deep.rs:1: dependency cycle: one uses other at \
             crates/a/src/one/deep.rs:1, other uses one at crates/a/src/other/rest.rs:1"
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
        found[0].contains("whole::one uses whole::other"),
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
    assert!(found[0].contains("one uses two"), "{found:?}");
    assert!(found[0].contains("three uses one"), "{found:?}");
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
    assert!(found[0].contains("other uses one at crates/a/src/shared/part.rs:1"));
}

#[test]
fn an_import_of_itself_ends() {
    assert!(found_between("use crate::one::f;\nuse f::g;\nuse g::f;\n", "").is_empty());
}

/// A service whose methods are spread over two modules.
fn found_in_service(one: &str, other: &str) -> Vec<String> {
    let root = "mod one;\nmod other;\nmod service;\npub use service::Service;\n";
    let service = "pub struct Service;\nimpl Service { pub fn new() -> Self { Self } }\n";
    found(&[
        ("lib.rs", root),
        ("service.rs", service),
        ("one.rs", one),
        ("other.rs", other),
    ])
}

#[test]
fn two_that_call_methods_of_each_other_are_a_circle() {
    let one = "use crate::Service;\nimpl Service {\n    fn one(&self) {\n        self.other()\n    }\n}\n";
    let other = "use crate::Service;\nimpl Service { fn other(&self) { self.one() } }\n";
    assert_eq!(
        found_in_service(one, other),
        [
            "crates/a/src/one.rs:4: dependency cycle: one uses other at crates/a/src/one.rs:4, \
             other uses one at crates/a/src/other.rs:2"
        ]
    );
}

#[test]
fn every_way_to_call_a_method_is_seen() {
    let other = "impl crate::Service { fn other(&self) { self.one() } }";
    for call in [
        "impl Service { fn one(&self) { Self::other(self) } }",
        "impl Service { fn one(&self) { Service::other(self) } }",
        "impl Service { fn one(&self) { crate::service::Service::other(self) } }",
        "impl Service { fn one(&self) { self\n.other().await } }",
        "impl Service { fn one(&self) { assert!(1 + self.other(), \"{}\", 1) } }",
        "impl Service { fn one(&self) { [1].map(|_| self.other()); } }",
        "impl Service { fn one(&self) {} } fn f(service: &Service) { service.other() }",
        "impl Service { fn one(&self) {} } struct A; impl A { fn f(&self) { self.service.other() } }",
    ] {
        let one = format!("use crate::Service;\n{call}");
        assert_eq!(found_in_service(&one, other).len(), 1, "{call}");
    }
}

#[test]
fn methods_of_other_values_are_not_seen() {
    let other = "impl crate::Service { fn other(&self) { self.one() } }";
    for call in [
        "impl Service { fn one(&self) { self.ports.other() } }",
        "impl Service { fn one(&self) { self.new() } }",
        "impl Service { fn one(&self) {} } struct A; impl A { fn f(&self) { self.other() } }",
        "impl Service { fn one(&self) {} } #[cfg(test)] impl Service { fn f(&self) { self.other() } }",
    ] {
        let one = format!("use crate::Service;\n{call}");
        assert!(found_in_service(&one, other).is_empty(), "{call}");
    }
}

#[test]
fn known_arrows_are_accepted_while_they_are_part_of_a_circle() {
    let root = ("lib.rs", "mod one;\nmod other;\n");
    let one = ("one.rs", "use crate::other;\n");
    let circle = [root, one, ("other.rs", "use crate::one;\n")];
    let known = "crates/a/src: one -> other";
    assert!(found_besides(&[known], &circle).is_empty());
    assert_eq!(
        found_besides(&[known], &[root, one, ("other.rs", "")]),
        ["xtask/arrows.toml: remove the outdated entry `crates/a/src: one -> other`"]
    );
}
