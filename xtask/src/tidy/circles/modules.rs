//! The modules of a crate, and which of them name which.
//!
//! Read from the text alone: modules are followed from the root of the crate as they are declared, without those that are
//! compiled for tests only, and every path that begins with `crate`, `self`, `super`, or a name that the module declares or
//! imports is followed to the module that has what it names, through whatever re-exports it. Not seen is what the text does
//! not show, which module has a method that is called on a value or a macro that needs no path, and what attributes name.

use std::collections::{BTreeMap, HashMap};

use super::tokens::{Kind, Token, tokens};
use crate::tidy::tree::{File, Tree};

/// How many imports lead from a name to what it stands for at most. More is an import of itself.
const MAX_IMPORTS: usize = 16;

/// The modules of a crate; the first one is its root.
pub(super) struct Modules<'a> {
    all: Vec<Module<'a>>,
}

/// The number of a module in its crate.
pub(super) type Number = usize;
const ROOT: Number = 0;

struct Module<'a> {
    name: &'a str,
    file: &'a File,
    parent: Option<Number>,
    children: BTreeMap<&'a str, Number>,
    imports: HashMap<&'a str, Path<'a>>,
    named: Vec<(Path<'a>, usize)>,
}

/// A path as it is written, and the module in which its first name is looked up.
#[derive(Clone)]
struct Path<'a> {
    start: Number,
    names: Vec<&'a str>,
    /// Whether it is certain that it names something of this crate.
    is_ours: bool,
}

/// One module names another.
pub(super) struct Arrow<'a> {
    pub(super) from: Number,
    pub(super) to: Number,
    pub(super) file: &'a File,
    /// From 1.
    pub(super) line: usize,
}

impl<'a> Modules<'a> {
    /// The crate with this root.
    pub(super) fn read(tree: &'a Tree, root: &'a File) -> Self {
        let mut modules = Self { all: Vec::new() };
        let number = modules.add("", root, None);
        let mut reader = Reader {
            tree,
            modules: &mut modules,
            tokens: tokens(&root.text),
            at: 0,
            number,
            children_in: directory(&root.path).to_owned(),
        };
        reader.read();
        modules
    }

    fn add(&mut self, name: &'a str, file: &'a File, parent: Option<Number>) -> Number {
        let number = self.all.len();
        self.all.push(Module {
            name,
            file,
            parent,
            children: BTreeMap::new(),
            imports: HashMap::new(),
            named: Vec::new(),
        });
        if let Some(parent) = parent.and_then(|parent| self.all.get_mut(parent)) {
            parent.children.insert(name, number);
        }
        number
    }

    /// The path of a module inside its crate.
    pub(super) fn path(&self, number: Number) -> String {
        let names = self.line(number).into_iter().skip(1);
        let names = names.filter_map(|number| Some(self.all.get(number)?.name));
        names.collect::<Vec<_>>().join("::")
    }

    /// From the root to a module, both included.
    pub(super) fn line(&self, number: Number) -> Vec<Number> {
        let parent = |number: &Number| self.all.get(*number)?.parent;
        let mut line: Vec<Number> = std::iter::successors(Some(number), parent).collect();
        line.reverse();
        line
    }

    /// Everything that one module names of another.
    pub(super) fn arrows(&self) -> impl Iterator<Item = Arrow<'a>> {
        let modules = self.all.iter().enumerate();
        modules.flat_map(move |(from, module)| {
            module.named.iter().filter_map(move |(path, line)| {
                Some(Arrow {
                    from,
                    to: self.named_by(path, MAX_IMPORTS)?,
                    file: module.file,
                    line: *line,
                })
            })
        })
    }

    /// The module that has what a path names; `None` for what is another crate's.
    fn named_by(&self, path: &Path<'a>, imports_left: usize) -> Option<Number> {
        let mut number = path.start;
        for (place, name) in path.names.iter().enumerate() {
            let module = self.all.get(number)?;
            if let Some(child) = module.children.get(name) {
                number = *child;
            } else if let Some(import) = module.imports.get(name) {
                let mut imported = import.clone();
                imported.names.extend(path.names.iter().skip(place + 1));
                return self.named_by(&imported, imports_left.checked_sub(1)?);
            } else if place == 0 && !path.is_ours {
                return None;
            } else {
                break;
            }
        }
        Some(number)
    }
}

/// Reads one module.
struct Reader<'r, 'a> {
    tree: &'a Tree,
    modules: &'r mut Modules<'a>,
    tokens: Vec<Token<'a>>,
    at: usize,
    number: Number,
    /// The directory of its children.
    children_in: String,
}

/// What stands before an item.
#[derive(Default)]
struct Attributes<'a> {
    is_for_tests: bool,
    /// Of a module.
    path: Option<&'a str>,
}

impl<'a> Reader<'_, 'a> {
    fn kind(&self, ahead: usize) -> Option<Kind<'a>> {
        let token = self.tokens.get(self.at + ahead)?;
        Some(token.kind)
    }

    fn word(&self, ahead: usize) -> Option<&'a str> {
        match self.kind(ahead)? {
            Kind::Word(word) => Some(word),
            Kind::Text(_) | Kind::Within | Kind::Sign(_) => None,
        }
    }

    fn is(&self, ahead: usize, sign: char) -> bool {
        self.kind(ahead) == Some(Kind::Sign(sign))
    }

    fn read(&mut self) {
        while self.kind(0).is_some() {
            let attributes = self.attributes();
            if attributes.is_for_tests {
                self.skip_item();
                continue;
            }
            match self.word(0) {
                Some("mod") if self.word(1).is_some() => self.module(&attributes),
                // Not the bounds of a type, `use<'a>`.
                Some("use") if !self.is(1, '<') => self.imports(),
                Some(_) if self.kind(1) == Some(Kind::Within) => self.path(),
                // The name behind it belongs to a type, or to another crate.
                None if self.kind(0) == Some(Kind::Within) => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn attributes(&mut self) -> Attributes<'a> {
        let mut attributes = Attributes::default();
        while self.is(0, '#') && (self.is(1, '[') || self.is(1, '!') && self.is(2, '[')) {
            let start = self.at;
            self.at += if self.is(1, '[') { 1 } else { 2 };
            self.skip_group();
            let inside = self.tokens.get(start..self.at).unwrap_or_default();
            let says = |word| inside.iter().any(|token| token.kind == Kind::Word(word));
            attributes.is_for_tests |= says("cfg") && says("test") && !says("any") && !says("not");
            if says("path") {
                attributes.path = inside.iter().find_map(|token| match token.kind {
                    Kind::Text(text) => Some(text),
                    Kind::Word(_) | Kind::Within | Kind::Sign(_) => None,
                });
            }
        }
        attributes
    }

    /// From an opening bracket behind its closing one.
    fn skip_group(&mut self) {
        let mut depth = 0_usize;
        while let Some(kind) = self.kind(0) {
            self.at += 1;
            match kind {
                Kind::Sign('(' | '[' | '{') => depth += 1,
                Kind::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// An item ends with its block, or with a semicolon.
    fn skip_item(&mut self) {
        while let Some(kind) = self.kind(0) {
            match kind {
                Kind::Sign('{') => return self.skip_group(),
                Kind::Sign('(' | '[') => self.skip_group(),
                Kind::Sign(')' | ']' | '}') => return,
                Kind::Sign(';') => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    /// `mod name;`, whose file is found, or `mod name { … }`.
    fn module(&mut self, attributes: &Attributes<'a>) {
        let Some(name) = self.word(1) else {
            return;
        };
        let Some(file) = self.modules.all.get(self.number).map(|module| module.file) else {
            return;
        };
        self.at += 2;
        let inside = format!("{}/{name}", self.children_in);
        if self.is(0, '{') {
            let start = self.at + 1;
            self.skip_group();
            let tokens = self.tokens.get(start..self.at).unwrap_or_default().to_vec();
            self.child(name, file, tokens, inside);
            return;
        }
        let found = if let Some(path) = attributes.path {
            let path = joined(directory(&file.path), path);
            self.tree
                .find(&path)
                .map(|file| (file, directory(&path).to_owned()))
        } else {
            let files = [format!("{inside}.rs"), format!("{inside}/mod.rs")];
            let mut files = files.iter().filter_map(|path| self.tree.find(path));
            files.next().map(|file| (file, inside))
        };
        if let Some((file, children_in)) = found {
            self.child(name, file, tokens(&file.text), children_in);
        }
    }

    fn child(
        &mut self,
        name: &'a str,
        file: &'a File,
        tokens: Vec<Token<'a>>,
        children_in: String,
    ) {
        let number = self.modules.add(name, file, Some(self.number));
        let mut reader = Reader {
            tree: self.tree,
            modules: self.modules,
            tokens,
            at: 0,
            number,
            children_in,
        };
        reader.read();
    }

    /// `use …;`
    fn imports(&mut self) {
        self.at += 1;
        self.import(&[]);
    }

    /// One branch of a `use`.
    fn import(&mut self, before: &[&'a str]) {
        let line = self.tokens.get(self.at).map_or(0, |token| token.line);
        let mut names = before.to_vec();
        // `$crate`, and the beginning of a path that is certainly another crate's.
        while self.is(0, '$') || self.kind(0) == Some(Kind::Within) {
            self.at += 1;
        }
        while let Some(name) = self.word(0) {
            names.push(name);
            self.at += 1;
            if self.kind(0) != Some(Kind::Within) {
                break;
            }
            self.at += 1;
        }
        if self.is(0, '{') {
            self.at += 1;
            while !self.is(0, '}') && self.kind(0).is_some() {
                let start = self.at;
                self.import(&names);
                if self.is(0, ',') || self.at == start {
                    self.at += 1;
                }
            }
            self.at += 1;
            return;
        }
        if self.is(0, '*') {
            self.at += 1;
            self.name(&names, line);
            return;
        }
        if names.last() == Some(&"self") {
            names.pop();
        }
        let mut bound = names.last().copied();
        if self.word(0) == Some("as") {
            bound = self.word(1);
            self.at += 2;
        }
        if let Some(path) = self.name(&names, line)
            && let Some(bound) = bound
            && let Some(module) = self.modules.all.get_mut(self.number)
        {
            module.imports.insert(bound, path);
        }
    }

    /// A path in the midst of code.
    fn path(&mut self) {
        let line = self.tokens.get(self.at).map_or(0, |token| token.line);
        let mut names = Vec::new();
        while let Some(name) = self.word(0) {
            names.push(name);
            self.at += 1;
            if self.kind(0) != Some(Kind::Within) {
                break;
            }
            self.at += 1;
        }
        self.name(&names, line);
    }

    /// Notes that this module names something.
    fn name(&mut self, names: &[&'a str], line: usize) -> Option<Path<'a>> {
        let mut start = self.number;
        let mut rest = names;
        let mut is_ours = false;
        while let Some((first @ ("crate" | "self" | "super"), behind)) =
            rest.split_first().map(|(first, behind)| (*first, behind))
        {
            start = match first {
                "crate" => ROOT,
                "super" => self.modules.all.get(start)?.parent?,
                _ => start,
            };
            is_ours = true;
            rest = behind;
        }
        let path = Path {
            start,
            names: rest.to_vec(),
            is_ours,
        };
        let module = self.modules.all.get_mut(self.number)?;
        module.named.push((path.clone(), line));
        Some(path)
    }
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// A path from a directory, without the steps up in it.
fn joined(directory: &str, path: &str) -> String {
    let mut names: Vec<&str> = directory.split('/').collect();
    for name in path.split('/') {
        match name {
            "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.join("/")
}
