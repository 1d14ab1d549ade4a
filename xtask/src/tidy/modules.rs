//! The modules of a crate and their arrows: which module uses which.
//!
//! The modules are read from the syntax tree, starting at the root of the crate, without test code. A path is resolved through
//! imports and re-exports to the module that declares its target. A method call is resolved if the inherent impls of its type
//! are spread over modules, like those of `Service`. Such calls are `Service::find`, `self.find(…)` inside an impl of `Service`, and
//! `service.find(…)`, where the receiver has the name of the type. Other method calls, and paths inside attributes, are not seen.

use std::collections::{BTreeMap, HashMap};

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Ident, ImplItem, Item, Member, Meta, Token, Type, UseTree};

use super::tree::{File, Tree};
use crate::failure::{Context, Failure};

/// The maximum number of imports between a name and its target. A longer chain is an import of itself.
const MAX_IMPORTS: usize = 16;

/// The modules of a crate; the first one is its root.
pub(super) struct Modules<'a> {
    all: Vec<Module<'a>>,
    methods: Vec<Method>,
    /// The methods of types whose inherent impls are spread over modules.
    spread: BTreeMap<TypeName, HashMap<String, Number>>,
}

/// The number of a module in its crate.
pub(super) type Number = usize;
const ROOT: Number = 0;

/// The module that declares a type, and its name there.
type TypeName = (Number, String);

struct Module<'a> {
    name: String,
    file: &'a File,
    parent: Option<Number>,
    children: BTreeMap<String, Number>,
    imports: HashMap<String, Path>,
    uses: Vec<(Use, usize)>,
}

/// A use of something, perhaps of this crate, with the line.
enum Use {
    Path(Path),
    /// A method call: the name of the receiver, and the method.
    Method(String, String),
}

/// A path in the source, and the module in which its first name is looked up.
#[derive(Clone)]
struct Path {
    start: Number,
    names: Vec<String>,
    /// Whether its target is certainly in this crate.
    is_ours: bool,
}

/// A method of an inherent impl.
struct Method {
    of: Path,
    name: String,
    module: Number,
}

/// One module uses another.
pub(super) struct Arrow<'a> {
    pub(super) from: Number,
    pub(super) to: Number,
    pub(super) file: &'a File,
    /// From 1.
    pub(super) line: usize,
}

/// All crates of this repository.
pub(super) fn of_crates(tree: &Tree) -> Result<Vec<Modules<'_>>, Failure> {
    let is_root = |file: &&File| {
        let is_ours = file.path.starts_with("crates/") || file.path.starts_with("xtask/");
        is_ours && (file.path.ends_with("/src/lib.rs") || file.path.ends_with("/src/main.rs"))
    };
    let roots = tree.files.iter().filter(is_root);
    roots.map(|root| Modules::read(tree, root)).collect()
}

impl<'a> Modules<'a> {
    /// The crate with this root.
    fn read(tree: &'a Tree, root: &'a File) -> Result<Self, Failure> {
        let mut modules = Self {
            all: Vec::new(),
            methods: Vec::new(),
            spread: BTreeMap::new(),
        };
        let number = modules.add(String::new(), root, None);
        let children_in = directory(&root.path).to_owned();
        modules.read_file(tree, number, children_in)?;
        modules.spread = modules.spread_methods();
        Ok(modules)
    }

    fn read_file(
        &mut self,
        tree: &'a Tree,
        number: Number,
        children_in: String,
    ) -> Result<(), Failure> {
        let Some(file) = self.all.get(number).map(|module| module.file) else {
            return Ok(());
        };
        let syntax = syn::parse_file(&file.text).context(&file.path)?;
        let mut reader = Reader {
            tree,
            modules: self,
            number,
            children_in,
            self_type: None,
            failure: None,
        };
        reader.visit_file(&syntax);
        reader.failure.map_or(Ok(()), Err)
    }

    fn add(&mut self, name: String, file: &'a File, parent: Option<Number>) -> Number {
        let number = self.all.len();
        if let Some(parent) = parent.and_then(|parent| self.all.get_mut(parent)) {
            parent.children.insert(name.clone(), number);
        }
        self.all.push(Module {
            name,
            file,
            parent,
            children: BTreeMap::new(),
            imports: HashMap::new(),
            uses: Vec::new(),
        });
        number
    }

    fn spread_methods(&self) -> BTreeMap<TypeName, HashMap<String, Number>> {
        let mut types: BTreeMap<TypeName, HashMap<String, Number>> = BTreeMap::new();
        for method in &self.methods {
            if let Some((module, names)) = self.target(&method.of, MAX_IMPORTS)
                && let Some(name) = names.into_iter().next()
            {
                let methods = types.entry((module, name)).or_default();
                methods.insert(method.name.clone(), method.module);
            }
        }
        types.retain(|_, methods| {
            let mut modules = methods.values();
            let first = modules.next();
            modules.any(|module| Some(module) != first)
        });
        types
    }

    /// The directory of the sources, such as `crates/app/src`.
    pub(super) fn directory(&self) -> &'a str {
        self.all
            .first()
            .map_or("", |root| directory(&root.file.path))
    }

    /// The path of a module inside its crate.
    pub(super) fn path(&self, number: Number) -> String {
        let names = self.line(number).into_iter().skip(1);
        let names = names.filter_map(|number| Some(self.all.get(number)?.name.as_str()));
        names.collect::<Vec<_>>().join("::")
    }

    /// The name of the module directly below the root that is or contains a module.
    pub(super) fn top(&self, number: Number) -> Option<&str> {
        let top = *self.line(number).get(1)?;
        Some(&self.all.get(top)?.name)
    }

    /// From the root to a module, both included.
    pub(super) fn line(&self, number: Number) -> Vec<Number> {
        let parent = |number: &Number| self.all.get(*number)?.parent;
        let mut line: Vec<Number> = std::iter::successors(Some(number), parent).collect();
        line.reverse();
        line
    }

    /// All arrows, in the order of the sources.
    pub(super) fn arrows(&self) -> impl Iterator<Item = Arrow<'a>> {
        let modules = self.all.iter().enumerate();
        modules.flat_map(move |(from, module)| {
            module.uses.iter().filter_map(move |(used, line)| {
                Some(Arrow {
                    from,
                    to: self.module_of(used)?,
                    file: module.file,
                    line: *line,
                })
            })
        })
    }

    fn module_of(&self, used: &Use) -> Option<Number> {
        match used {
            Use::Path(path) => {
                let (module, names) = self.target(path, MAX_IMPORTS)?;
                let mut names = names.into_iter();
                let (name, method) = (names.next(), names.next());
                let method = name.zip(method).and_then(|(name, method)| {
                    self.spread.get(&(module, name))?.get(&method).copied()
                });
                Some(method.unwrap_or(module))
            }
            Use::Method(receiver, method) => {
                let mut types = self.spread.iter();
                types.find_map(|((_, name), methods)| {
                    methods
                        .get(method)
                        .filter(|_| is_named_after(receiver, name))
                        .copied()
                })
            }
        }
    }

    /// The module that a path leads to, and the names that are left in it; `None` for a path into another crate.
    fn target(&self, path: &Path, imports_left: usize) -> Option<(Number, Vec<String>)> {
        let mut number = path.start;
        for (place, name) in path.names.iter().enumerate() {
            let module = self.all.get(number)?;
            if let Some(child) = module.children.get(name) {
                number = *child;
            } else if let Some(import) = module.imports.get(name) {
                let mut imported = import.clone();
                imported
                    .names
                    .extend(path.names.iter().skip(place + 1).cloned());
                return self.target(&imported, imports_left.checked_sub(1)?);
            } else if place == 0
                && !path.is_ours
                && !self.spread.contains_key(&(number, name.clone()))
            {
                return None;
            } else {
                return Some((number, path.names.iter().skip(place).cloned().collect()));
            }
        }
        Some((number, Vec::new()))
    }
}

/// Reads one module.
struct Reader<'r, 'a> {
    tree: &'a Tree,
    modules: &'r mut Modules<'a>,
    number: Number,
    /// The directory of its children.
    children_in: String,
    /// The type of the current impl.
    self_type: Option<Path>,
    failure: Option<Failure>,
}

/// Skips test code.
macro_rules! without_tests {
    ($($visit:ident($node:ident);)*) => {$(
        fn $visit(&mut self, node: &'ast syn::$node) {
            if !is_for_tests(&node.attrs) {
                visit::$visit(self, node);
            }
        }
    )*};
}

impl<'ast> Visit<'ast> for Reader<'_, '_> {
    without_tests! {
        visit_item_const(ItemConst);
        visit_item_enum(ItemEnum);
        visit_item_fn(ItemFn);
        visit_item_macro(ItemMacro);
        visit_item_static(ItemStatic);
        visit_item_struct(ItemStruct);
        visit_item_trait(ItemTrait);
        visit_item_type(ItemType);
        visit_impl_item_fn(ImplItemFn);
        visit_field(Field);
        visit_local(Local);
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    /// `pub(in path)` uses nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    /// `mod name;`, whose file is read, or `mod name { … }`.
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs)
            && let Err(failure) = self.module(item)
        {
            self.failure.get_or_insert(failure);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_for_tests(&item.attrs) {
            self.import(&item.tree, &mut Vec::new());
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if is_for_tests(&item.attrs) {
            return;
        }
        let outer = self.self_type.take();
        if let Type::Path(of) = &*item.self_ty {
            self.self_type = self.resolve(&names(&of.path)).map(|path| Path {
                is_ours: true,
                ..path
            });
        }
        if let Some(of) = self.self_type.as_ref().filter(|_| item.trait_.is_none()) {
            for item in &item.items {
                if let ImplItem::Fn(method) = item {
                    self.modules.methods.push(Method {
                        of: of.clone(),
                        name: method.sig.ident.unraw().to_string(),
                        module: self.number,
                    });
                }
            }
        }
        visit::visit_item_impl(self, item);
        self.self_type = outer;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        // A path with a leading `::` belongs to another crate, or begins with a type. A single name was declared or imported.
        if let Some(first) = path.segments.first()
            && path.leading_colon.is_none()
            && path.segments.len() > 1
        {
            self.uses(&names(path), first.ident.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let Some(receiver) = last_name(&call.receiver) {
            self.calls(receiver, &call.method);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }
}

impl Reader<'_, '_> {
    fn module(&mut self, item: &syn::ItemMod) -> Result<(), Failure> {
        let name = item.ident.unraw().to_string();
        let Some(file) = self.modules.all.get(self.number).map(|module| module.file) else {
            return Ok(());
        };
        let inside = format!("{}/{name}", self.children_in);
        if let Some((_, items)) = &item.content {
            let mut reader = Reader {
                tree: self.tree,
                number: self.modules.add(name, file, Some(self.number)),
                modules: self.modules,
                children_in: inside,
                self_type: None,
                failure: None,
            };
            items.iter().for_each(|item: &Item| reader.visit_item(item));
            return reader.failure.map_or(Ok(()), Err);
        }
        let found = if let Some(path) = path_attribute(&item.attrs) {
            let path = joined(directory(&file.path), &path);
            let file = self.tree.find(&path);
            file.map(|file| (file, directory(&path).to_owned()))
        } else {
            let files = [format!("{inside}.rs"), format!("{inside}/mod.rs")];
            let mut files = files.iter().filter_map(|path| self.tree.find(path));
            files.next().map(|file| (file, inside))
        };
        let Some((file, children_in)) = found else {
            return Ok(());
        };
        let number = self.modules.add(name, file, Some(self.number));
        self.modules.read_file(self.tree, number, children_in)
    }

    /// One branch of a `use`.
    fn import(&mut self, branch: &UseTree, before: &mut Vec<String>) {
        let (ident, bound) = match branch {
            UseTree::Path(path) => {
                before.push(path.ident.unraw().to_string());
                self.import(&path.tree, before);
                before.pop();
                return;
            }
            UseTree::Group(group) => {
                for branch in &group.items {
                    self.import(branch, before);
                }
                return;
            }
            UseTree::Glob(glob) => {
                self.uses(before, glob.star_token.span);
                return;
            }
            UseTree::Name(name) => (&name.ident, None),
            UseTree::Rename(rename) => (&rename.ident, Some(&rename.rename)),
        };
        let mut names = before.clone();
        if ident != "self" {
            names.push(ident.unraw().to_string());
        }
        let bound = bound.map(|bound| bound.unraw().to_string());
        if let Some(bound) = bound.or_else(|| names.last().cloned())
            && let Some(path) = self.uses(&names, ident.span())
            && let Some(module) = self.modules.all.get_mut(self.number)
        {
            module.imports.insert(bound, path);
        }
    }

    /// The paths and method calls in the arguments or the definition of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = tokens.as_slice();
        while let [first, behind @ ..] = rest {
            rest = behind;
            match first {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(first) => {
                    let mut names = vec![first.unraw().to_string()];
                    while let [one, other, TokenTree::Ident(name), behind @ ..] = rest
                        && is_sign(one, ':')
                        && is_sign(other, ':')
                    {
                        names.push(name.unraw().to_string());
                        rest = behind;
                    }
                    if names.len() > 1 {
                        self.uses(&names, first.span());
                    } else if let [dot, TokenTree::Ident(method), TokenTree::Group(_), ..] = rest
                        && is_sign(dot, '.')
                    {
                        self.calls(first, method);
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    fn calls(&mut self, receiver: &Ident, method: &Ident) {
        let name = method.unraw().to_string();
        let used = match self.self_type.clone() {
            Some(mut path) if receiver == "self" => {
                path.names.push(name);
                Use::Path(path)
            }
            _ => Use::Method(receiver.unraw().to_string(), name),
        };
        self.record(used, method.span());
    }

    fn uses(&mut self, names: &[String], span: Span) -> Option<Path> {
        let path = self.resolve(names)?;
        self.record(Use::Path(path.clone()), span);
        Some(path)
    }

    fn record(&mut self, used: Use, span: Span) {
        if let Some(module) = self.modules.all.get_mut(self.number) {
            module.uses.push((used, span.start().line));
        }
    }

    /// Replaces the keywords at the start of a path.
    fn resolve(&self, names: &[String]) -> Option<Path> {
        let mut path = Path {
            start: self.number,
            names: Vec::new(),
            is_ours: false,
        };
        let mut rest = names;
        while let [first, behind @ ..] = rest {
            match first.as_str() {
                "crate" => path.start = ROOT,
                "super" => path.start = self.modules.all.get(path.start)?.parent?,
                "self" => {}
                "Self" => path.clone_from(self.self_type.as_ref()?),
                _ => break,
            }
            path.is_ours = true;
            rest = behind;
        }
        path.names.extend_from_slice(rest);
        Some(path)
    }
}

fn names(path: &syn::Path) -> Vec<String> {
    let segments = path.segments.iter();
    segments
        .map(|segment| segment.ident.unraw().to_string())
        .collect()
}

/// The variable or field of a receiver.
fn last_name(receiver: &Expr) -> Option<&Ident> {
    match receiver {
        Expr::Path(path) => path.path.get_ident(),
        Expr::Field(field) => match &field.member {
            Member::Named(name) => Some(name),
            Member::Unnamed(_) => None,
        },
        _ => None,
    }
}

/// Whether a variable has the name of a type, in its own case.
fn is_named_after(variable: &str, name: &str) -> bool {
    let words = variable.split('_').collect::<String>();
    words.eq_ignore_ascii_case(name)
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    fn requires_test(condition: &Meta) -> bool {
        match condition {
            Meta::Path(path) => path.is_ident("test"),
            Meta::List(list) if list.path.is_ident("all") => list
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .is_ok_and(|conditions| conditions.iter().any(requires_test)),
            Meta::List(_) | Meta::NameValue(_) => false,
        }
    }
    let mut conditions = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .filter_map(|attribute| attribute.parse_args::<Meta>().ok());
    conditions.any(|condition| requires_test(&condition))
}

/// The file of a module, as `#[path = "…"]` states it.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let meta = attribute.meta.require_name_value().ok()?;
        match &meta.value {
            Expr::Lit(value) if meta.path.is_ident("path") => match &value.lit {
                syn::Lit::Str(path) => Some(path.value()),
                _ => None,
            },
            _ => None,
        }
    })
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Joins a path to a directory, resolving `.` and `..`.
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
