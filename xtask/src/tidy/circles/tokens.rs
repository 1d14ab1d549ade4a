//! Rust sources as words and signs: comments are left out, and what stands between quotes is never taken for code.

/// A word or a sign.
#[derive(Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    /// From 1.
    pub(super) line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// A name, a keyword or a number.
    Word(&'a str),
    /// What stands between the quotes of a string.
    Text(&'a str),
    /// `::`
    Within,
    Sign(char),
}

pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(first) = rest.chars().next() {
        let (kind, length) = next(rest, first);
        tokens.extend(kind.map(|kind| Token { kind, line }));
        let (taken, left) = rest.split_at(length);
        line += taken.matches('\n').count();
        rest = left;
    }
    tokens
}

/// What a text begins with, and how long that is.
fn next(rest: &str, first: char) -> (Option<Kind<'_>>, usize) {
    if first.is_whitespace() {
        return (None, first.len_utf8());
    }
    if rest.starts_with("//") {
        return (None, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (None, comment(rest));
    }
    if let Some((text, length)) = text(rest) {
        return (Some(Kind::Text(text)), length);
    }
    if first == '\'' {
        return (None, quote(rest));
    }
    if rest.starts_with("::") {
        return (Some(Kind::Within), 2);
    }
    let word = rest.split(|c| !is_of_word(c)).next().unwrap_or_default();
    if word.is_empty() {
        (Some(Kind::Sign(first)), first.len_utf8())
    } else {
        (Some(Kind::Word(word)), word.len())
    }
}

fn is_of_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Comments stand inside comments.
fn comment(rest: &str) -> usize {
    let (mut depth, mut left) = (0_usize, rest);
    while let Some(first) = left.chars().next() {
        let taken = if left.starts_with("/*") {
            depth += 1;
            2
        } else if left.starts_with("*/") {
            depth -= 1;
            2
        } else {
            first.len_utf8()
        };
        left = left.get(taken..).unwrap_or_default();
        if depth == 0 {
            break;
        }
    }
    rest.len() - left.len()
}

/// A string of any kind.
fn text(rest: &str) -> Option<(&str, usize)> {
    let body = rest.trim_start_matches(['b', 'c', 'r']);
    let prefix = rest.strip_suffix(body)?;
    let quoted = body.trim_start_matches('#');
    let hashes = body.strip_suffix(quoted)?;
    let is_raw = prefix.contains('r');
    let inside = quoted.strip_prefix('"')?;
    if !is_raw && !hashes.is_empty() {
        return None;
    }
    let end = format!("\"{hashes}");
    let length = if is_raw {
        inside.find(&end)
    } else {
        unescaped_quote(inside)
    };
    let text = inside.get(..length?)?;
    let around = prefix.len() + 2 * (hashes.len() + 1);
    Some((text, around + text.len()))
}

fn unescaped_quote(inside: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (place, c) in inside.char_indices() {
        match c {
            '"' if !is_escaped => return Some(place),
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    None
}

/// A character in quotes, or the sign before the name of a lifetime.
fn quote(rest: &str) -> usize {
    let mut inside = rest.chars().skip(1);
    match (inside.next(), inside.next()) {
        (Some('\\'), Some(escaped)) => {
            let before = 2 + escaped.len_utf8();
            let after = rest.get(before..).unwrap_or_default();
            after.find('\'').map_or(1, |end| before + end + 1)
        }
        (Some(c), Some('\'')) => c.len_utf8() + 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
