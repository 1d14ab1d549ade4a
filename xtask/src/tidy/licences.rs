//! Licences: everything we link may be given away with the product.

use toml::{Table, Value};

use super::Finding;
use super::tree::Tree;
use super::workspace::Workspace;

/// The list of permitted licences is the one of cargo-deny.
const LIST: &str = "deny.toml";

pub(super) fn check(tree: &Tree, workspace: &Workspace) -> Vec<Finding> {
    let permitted = tree
        .find(LIST)
        .and_then(|file| permitted(&file.text))
        .unwrap_or_default();
    if permitted.is_empty() {
        return vec![Finding::new(
            LIST,
            "there is no `allow` list under [licenses]",
        )];
    }
    let refused = workspace.packages.iter().filter(|package| {
        !package
            .licence
            .as_deref()
            .is_some_and(|expression| is_permitted(expression, &permitted))
    });
    refused
        .map(|package| {
            let licence = package.licence.as_deref().unwrap_or("no licence");
            let message = format!(
                "{} {}: {licence} is not permitted by {LIST}",
                package.name, package.version
            );
            Finding::new("Cargo.lock", message)
        })
        .collect()
}

/// `licenses.allow` of the configuration of cargo-deny.
fn permitted(configuration: &str) -> Option<Vec<String>> {
    let configuration: Table = configuration.parse().ok()?;
    let list = configuration.get("licenses")?.get("allow")?.as_array()?;
    list.iter()
        .map(|licence| Value::as_str(licence).map(str::to_owned))
        .collect()
}

/// Whether an SPDX expression can be satisfied with permitted licences. The slash of older manifests means OR.
fn is_permitted(expression: &str, permitted: &[String]) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader {
        rest: &words,
        permitted,
    };
    reader.any_of() == Some(true) && reader.rest.is_empty()
}

/// Reads an expression from left to right; each step answers `None` where it is not well-formed.
struct Reader<'a> {
    rest: &'a [&'a str],
    permitted: &'a [String],
}

impl<'a> Reader<'a> {
    /// `A OR B OR …`
    fn any_of(&mut self) -> Option<bool> {
        let mut permitted = self.all_of()?;
        while self.skip("OR") {
            permitted |= self.all_of()?;
        }
        Some(permitted)
    }

    /// `A AND B AND …`, which binds closer than OR.
    fn all_of(&mut self) -> Option<bool> {
        let mut permitted = self.term()?;
        while self.skip("AND") {
            permitted &= self.term()?;
        }
        Some(permitted)
    }

    /// A licence, with or without an exception, or an expression in parentheses.
    fn term(&mut self) -> Option<bool> {
        if self.skip("(") {
            let permitted = self.any_of()?;
            return self.skip(")").then_some(permitted);
        }
        let licence = self.next()?;
        if self.skip("WITH") {
            let exception = self.next()?;
            return Some(self.permits(&format!("{licence} WITH {exception}")));
        }
        Some(self.permits(licence))
    }

    fn permits(&self, licence: &str) -> bool {
        self.permitted.iter().any(|permitted| permitted == licence)
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Steps over this word when it comes next.
    fn skip(&mut self, word: &str) -> bool {
        let is_next = self.rest.first() == Some(&word);
        if is_next {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        is_next
    }
}

#[cfg(test)]
mod tests;
