//! Dependency cycles between sibling modules, the modules with the same parent.
//!
//! If one of them, or a module inside it, uses another, or a module inside that, this is an arrow between the two, and arrows
//! must not form a cycle. A module and its own parent may use each other, since a parent is what its parts share and what
//! puts them together. Test code does not count.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::Finding;
use super::contexts;
use super::known_arrows::KnownArrows;
use super::modules::{Arrow, Modules, Number};

/// The arrows between siblings, each with the first place where it is used.
type Arrows<'a> = BTreeMap<Number, BTreeMap<Number, Arrow<'a>>>;

pub(super) fn check(crates: &[Modules<'_>], known: &KnownArrows) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut needed = BTreeSet::new();
    for modules in crates {
        let mut arrows = between_siblings(modules);
        needed.extend(known_in(modules, &arrows, known));
        for (from, targets) in &mut arrows {
            targets.retain(|to, _| !known.circles.contains(&name(modules, *from, *to)));
        }
        findings.extend(circles(modules, &arrows));
    }
    findings.extend(KnownArrows::stale(&known.circles, &needed));
    findings
}

/// The known arrows that are still part of a cycle.
fn known_in(modules: &Modules<'_>, arrows: &Arrows<'_>, known: &KnownArrows) -> Vec<String> {
    let mut needed = Vec::new();
    for (from, targets) in arrows {
        for to in targets.keys() {
            let name = name(modules, *from, *to);
            if known.circles.contains(&name) && shortest_way(arrows, *to, *from).is_some() {
                needed.push(name);
            }
        }
    }
    needed
}

/// The name of an arrow in the list of known ones.
fn name(modules: &Modules<'_>, from: Number, to: Number) -> String {
    let (from, to) = (modules.path(from), modules.path(to));
    format!("{}: {from} -> {to}", modules.directory())
}

fn circles(modules: &Modules<'_>, arrows: &Arrows<'_>) -> Vec<Finding> {
    let mut found = BTreeSet::new();
    for module in arrows.keys() {
        if let Some(mut circle) = shortest_way(arrows, *module, *module) {
            // A cycle is reported once, whatever module it is found from.
            let first = circle.iter().min().copied();
            let place = circle.iter().position(|module| Some(*module) == first);
            circle.rotate_left(place.unwrap_or_default());
            found.insert(circle);
        }
    }
    let findings = found.iter();
    findings
        .filter_map(|circle| finding(modules, arrows, circle))
        .collect()
}

fn between_siblings<'a>(modules: &Modules<'a>) -> Arrows<'a> {
    let mut arrows = Arrows::new();
    for arrow in modules.arrows() {
        let (from, to) = (modules.line(arrow.from), modules.line(arrow.to));
        let mut steps = from.into_iter().zip(to);
        // They differ from the first sibling on, and never if one is inside the other.
        if let Some((from, to)) = steps.find(|(from, to)| from != to)
            && !contexts::have_a_rule(modules, from, to)
        {
            arrows.entry(from).or_default().entry(to).or_insert(arrow);
        }
    }
    arrows
}

/// The shortest way from one module to another, or back to itself, without its end.
fn shortest_way(arrows: &Arrows<'_>, start: Number, end: Number) -> Option<Vec<Number>> {
    let mut reached_from = HashMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(module) = waiting.pop_front() {
        for next in arrows.get(&module).into_iter().flat_map(BTreeMap::keys) {
            if *next == end {
                let before = |module: &Number| reached_from.get(module).copied();
                let mut way: Vec<_> = std::iter::successors(Some(module), before).collect();
                way.reverse();
                return Some(way);
            }
            if *next != start && !reached_from.contains_key(next) {
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
            "{} uses {} at {}:{}",
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
        format!("dependency cycle: {steps}"),
    ))
}

#[cfg(test)]
mod tests;
