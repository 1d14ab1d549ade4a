//! The software bill of materials of a release, in the format CycloneDX 1.5.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use toml::Table;

use crate::failure::{Context, Failure};
use crate::image::Package;
use crate::{process, project};

/// The crate of the binary.
const ROOT: &str = "vestry-server";

/// The bill of the binary built from a checkout, and of the Debian packages in its image. Equal inputs give equal documents.
pub(crate) fn bill(source: &Path, binary: &str, packages: &[Package]) -> Result<Value, Failure> {
    let mut tree = project::cargo();
    tree.current_dir(source)
        .args(["tree", "--locked", "--package", ROOT])
        // Procedural macros and build scripts run when it is built, and are not in it.
        .args(["--edges", "normal,no-proc-macro"])
        .args(["--prefix", "depth", "--format", "{p}|{l}|"]);
    let graph = Graph::parse(&process::output(&mut tree)?)?;
    let lock = fs::read_to_string(source.join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let checksums = checksums(&lock)?;
    let root = &graph.root;
    let crates = graph.licences.iter().filter(|(id, _)| *id != root);
    let crates = crates.map(|(id, licence)| component(id, licence, checksums.get(id)));
    let components: Vec<Value> = crates.chain(packages.iter().map(of_debian)).collect();
    let dependencies = graph.below.iter().map(|(id, below)| {
        let below: Vec<String> = below.iter().map(Id::url).collect();
        json!({ "ref": id.url(), "dependsOn": below })
    });
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": root.url(),
            "name": "vestry",
            "version": root.version,
            "licenses": graph.licences.get(root).map(|it| licences(it)),
            "hashes": [{ "alg": "SHA-256", "content": binary }],
        } },
        "components": components,
        "dependencies": dependencies.collect::<Vec<_>>(),
    }))
}

/// A package of the image, which the binary does not contain.
fn of_debian(package: &Package) -> Value {
    let Package {
        name,
        version,
        architecture,
        ..
    } = package;
    // A plus sign has a meaning in such URLs.
    let escaped = version.replace('+', "%2B");
    let purl = format!("pkg:deb/debian/{name}@{escaped}?arch={architecture}");
    json!({ "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl })
}

/// A crate in a version.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    name: String,
    version: String,
}

impl Id {
    /// The package URL, by which the crate is named in the document.
    fn url(&self) -> String {
        format!(
            "pkg:cargo/{}@{}",
            self.name,
            self.version.replace('+', "%2B")
        )
    }
}

/// The crates of a binary.
struct Graph {
    root: Id,
    /// Each crate with its licence.
    licences: BTreeMap<Id, String>,
    /// Each crate with those that it uses directly.
    below: BTreeMap<Id, BTreeSet<Id>>,
}

impl Graph {
    /// Reads the output of `cargo tree`: a crate in each line, after its depth, and its dependencies below its first line.
    fn parse(tree: &str) -> Result<Self, Failure> {
        let mut licences = BTreeMap::new();
        let mut below: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
        let mut above: Vec<Id> = Vec::new();
        for line in tree.lines() {
            let (depth, id, licence) = node(line)
                .ok_or_else(|| Failure::new(format!("cannot read a line of cargo tree: {line}")))?;
            above.truncate(depth);
            if let Some(user) = above.last() {
                below.entry(user.clone()).or_default().insert(id.clone());
            }
            below.entry(id.clone()).or_default();
            licences.insert(id.clone(), licence.to_owned());
            above.push(id);
        }
        let root = above.into_iter().next();
        Ok(Self {
            root: root.ok_or_else(|| Failure::new("cargo tree printed nothing"))?,
            licences,
            below,
        })
    }
}

/// Depth, crate and licence in a line such as `3clap v4.6.7|MIT OR Apache-2.0| (*)`.
fn node(line: &str) -> Option<(usize, Id, &str)> {
    let (package, rest) = line.split_once('|')?;
    let name = package.trim_start_matches(|it: char| it.is_ascii_digit());
    let depth = package.strip_suffix(name)?.parse().ok()?;
    let mut words = name.split(' ');
    let id = Id {
        name: words.next()?.to_owned(),
        version: words.next()?.strip_prefix('v')?.to_owned(),
    };
    Some((depth, id, rest.split_once('|')?.0))
}

fn component(id: &Id, licence: &str, checksum: Option<&String>) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": id.url(),
        "name": id.name,
        "version": id.version,
        "licenses": licences(licence),
    });
    // A crate without a checksum is ours, and in no registry.
    if let (Some(fields), Some(checksum)) = (component.as_object_mut(), checksum) {
        fields.insert("purl".to_owned(), json!(id.url()));
        let hashes = json!([{ "alg": "SHA-256", "content": checksum }]);
        fields.insert("hashes".to_owned(), hashes);
    }
    component
}

fn checksums(lock: &str) -> Result<BTreeMap<Id, String>, Failure> {
    let lock: Table = lock.parse().context("cannot parse Cargo.lock")?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let packages = packages.into_iter().flatten().filter_map(|package| {
        let field = |name| package.get(name)?.as_str().map(str::to_owned);
        let id = Id {
            name: field("name")?,
            version: field("version")?,
        };
        Some((id, field("checksum")?))
    });
    Ok(packages.collect())
}

/// The licence of a crate. The slash of older manifests means OR.
fn licences(licence: &str) -> Value {
    match licence {
        "" => json!([]),
        licence => json!([{ "expression": licence.replace(" / ", "/").replace('/', " OR ") }]),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::bill;
    use crate::project;

    fn texts<'a>(bill: &'a Value, list: &str, field: &str) -> BTreeSet<&'a str> {
        let list = bill[list].as_array().unwrap().iter();
        list.map(|it| it[field].as_str().unwrap()).collect()
    }

    #[test]
    fn pr_46_the_bill_names_what_the_binary_contains() {
        let bill = bill(&project::root(), "00", &[]).unwrap();
        let names = texts(&bill, "components", "name");
        for expected in ["vestry-domain", "clap", "rustls", "tikv-jemallocator"] {
            assert!(names.contains(expected), "{expected}");
        }
        for other in ["vestry-server", "vestry-testkit", "proptest", "xtask"] {
            assert!(!names.contains(other), "{other}");
        }
        // Each dependency is a component too, or the binary.
        let mut known = texts(&bill, "components", "bom-ref");
        known.insert(bill["metadata"]["component"]["bom-ref"].as_str().unwrap());
        assert_eq!(known, texts(&bill, "dependencies", "ref"));
        let clap = bill["components"].as_array().unwrap().iter();
        let clap = clap.clone().find(|it| it["name"] == "clap").unwrap();
        assert_eq!(clap["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(clap["hashes"][0]["content"].as_str().unwrap().len(), 64);
    }
}
