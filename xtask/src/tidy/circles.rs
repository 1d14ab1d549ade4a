//! Modules that know each other in a circle.
//!
//! Looked at are siblings, the modules with the same parent: whatever one of them, or anything inside it, names of another, or
//! of anything inside that, is an arrow between the two, and arrows may not lead back to where they began. A module and its
//! own parent may name each other, since a parent is what its parts have in common and what puts them together. Tests do not
//! count.

mod modules;
mod tokens;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::Finding;
use super::tree::{File, Tree};
use modules::{Arrow, Modules, Number};

/// The arrows between siblings, each with the first place where it is drawn.
type Arrows<'a> = BTreeMap<Number, BTreeMap<Number, Arrow<'a>>>;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let roots = tree.files.iter().filter(|file| is_root(file));
    roots
        .flat_map(|root| of_crate(&Modules::read(tree, root)))
        .collect()
}

fn is_root(file: &File) -> bool {
    let is_ours = file.path.starts_with("crates/") || file.path.starts_with("xtask/");
    is_ours && (file.path.ends_with("/src/lib.rs") || file.path.ends_with("/src/main.rs"))
}

fn of_crate(modules: &Modules<'_>) -> Vec<Finding> {
    let arrows = between_siblings(modules);
    let mut found = BTreeSet::new();
    for module in arrows.keys() {
        if let Some(mut circle) = shortest_circle(&arrows, *module) {
            // A circle is reported once, even if several others lead through it.
            let first = circle.iter().min().copied();
            let place = circle.iter().position(|module| Some(*module) == first);
            circle.rotate_left(place.unwrap_or_default());
            found.insert(circle);
        }
    }
    let findings = found.iter();
    findings
        .filter_map(|circle| finding(modules, &arrows, circle))
        .collect()
}

fn between_siblings<'a>(modules: &Modules<'a>) -> Arrows<'a> {
    let mut arrows = Arrows::new();
    for arrow in modules.arrows() {
        let (from, to) = (modules.line(arrow.from), modules.line(arrow.to));
        let mut steps = from.into_iter().zip(to);
        // Where their ways from the root part; they do not where one is inside the other.
        if let Some((from, to)) = steps.find(|(from, to)| from != to) {
            arrows.entry(from).or_default().entry(to).or_insert(arrow);
        }
    }
    arrows
}

/// The shortest way from a module back to itself.
fn shortest_circle(arrows: &Arrows<'_>, start: Number) -> Option<Vec<Number>> {
    let mut reached_from = HashMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(module) = waiting.pop_front() {
        for next in arrows.get(&module).into_iter().flat_map(BTreeMap::keys) {
            if *next == start {
                let before = |module: &Number| reached_from.get(module).copied();
                let mut way: Vec<_> = std::iter::successors(Some(module), before).collect();
                way.reverse();
                return Some(way);
            }
            if !reached_from.contains_key(next) {
                reached_from.insert(*next, module);
                waiting.push_back(*next);
            }
        }
    }
    None
}

fn finding(modules: &Modules<'_>, arrows: &Arrows<'_>, circle: &[Number]) -> Option<Finding> {
    let after = circle.iter().cycle().skip(1);
    let mut steps = Vec::new();
    let mut place = None;
    for (from, to) in circle.iter().zip(after) {
        let arrow = arrows.get(from)?.get(to)?;
        steps.push(format!(
            "{} names {} at {}:{}",
            modules.path(*from),
            modules.path(*to),
            arrow.file.path,
            arrow.line
        ));
        place = place.or(Some((&arrow.file.path, arrow.line)));
    }
    let (path, line) = place?;
    let steps = steps.join(", ");
    Some(Finding::at(
        path,
        line,
        format!("a circle of modules: {steps}"),
    ))
}

#[cfg(test)]
mod tests;
