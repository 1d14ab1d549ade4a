//! Sentences of English, and what the house style refuses in them.

/// The maximum number of words of a sentence.
const MAX_WORDS: usize = 30;

/// Words and phrases that the house style replaces, in lower case.
const REFUSED: &[&str] = &[
    "whoever",
    "somebody",
    "nobody",
    "anybody",
    "shall",
    "anew",
    "so many",
    "likewise",
    "by itself",
    "meanwhile",
    "any more",
    "in the place of",
    "is told",
    "what is",
    "what was",
    "what comes",
    "what came",
    "what became",
];

/// Words of nearly every English sentence, but of no SQL or JSON.
const COMMON: &[&str] = &["the", "a", "an", "of", "to", "is", "that", "it"];

/// Words that end with a full stop inside a sentence.
const ABBREVIATIONS: &[&str] = &["e.g.", "i.e.", "etc.", "vs.", "cf."];

/// A word with its punctuation, or a piece of inline code.
pub(super) struct Word {
    /// From 1.
    pub(super) line: usize,
    pub(super) text: String,
}

/// A fault in a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    /// The word, or the length.
    pub(super) what: String,
    pub(super) sentence: String,
}

/// The paragraphs, list items, headings and table cells of a text in Markdown.
pub(super) fn paragraphs<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Vec<Word>> {
    let mut paragraphs = vec![Vec::new()];
    let mut is_code = false;
    for (line, text) in lines {
        let text = text.trim_start_matches([' ', '>']);
        let is_fence = text.starts_with("```");
        is_code ^= is_fence;
        let is_item = ["- ", "* ", "#", "|"]
            .iter()
            .any(|start| text.starts_with(start))
            || text
                .split_once(". ")
                .is_some_and(|(number, _)| number.parse::<u8>().is_ok());
        if is_code || is_fence || is_item || text.is_empty() {
            paragraphs.push(Vec::new());
        }
        if is_code || is_fence {
            continue;
        }
        let is_row = text.starts_with('|');
        for (place, cell) in text.split(" |").enumerate() {
            if is_row && place > 0 {
                paragraphs.push(Vec::new());
            }
            if let Some(paragraph) = paragraphs.last_mut() {
                add_words(paragraph, line, cell);
            }
        }
        if text.starts_with('#') {
            paragraphs.push(Vec::new());
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

fn add_words(paragraph: &mut Vec<Word>, line: usize, text: &str) {
    for text in text.split_whitespace() {
        match paragraph.last_mut() {
            // Inline code goes on to its closing quote.
            Some(last) if last.text.matches('`').count() % 2 == 1 => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            _ => paragraph.push(Word {
                line,
                text: text.to_owned(),
            }),
        }
    }
}

/// The faults in the sentences of a paragraph.
pub(super) fn faults(paragraph: &[Word]) -> Vec<Fault> {
    let sentences = paragraph.split_inclusive(|word| ends_sentence(&word.text));
    sentences.flat_map(faults_of).collect()
}

fn ends_sentence(word: &str) -> bool {
    let end = word.trim_end_matches(['"', '\'', ')', '*', '”']);
    let is_abbreviation = ABBREVIATIONS.contains(&end.trim_start_matches('('));
    end.ends_with(['.', '?', '!']) && !end.ends_with("..") && !is_abbreviation
}

fn faults_of(sentence: &[Word]) -> Vec<Fault> {
    let join = |words: Vec<String>| words.join(" ");
    let text = join(sentence.iter().map(|word| word.text.clone()).collect());
    let plain: Vec<String> = sentence.iter().map(|word| plain(&word.text)).collect();
    let is_common = |word: &&String| COMMON.contains(&word.as_str());
    let common = plain.iter().filter(is_common).count();
    let plain = format!(" {} ", join(plain));
    let last = sentence.last().map_or("", |word| word.text.as_str());
    let is_question = last.contains('?');

    let refused = REFUSED.iter().filter(|refused| {
        let is_asked = is_question && refused.starts_with("what ");
        !is_asked && plain.contains(&format!(" {refused} "))
    });
    let mut faults: Vec<String> = refused.map(|refused| format!("`{refused}`")).collect();
    if plain.starts_with(" who ") && !is_question {
        faults.push("`who` as a subject".to_owned());
    }
    let is_word = |word: &&Word| word.text.contains(char::is_alphanumeric);
    let length = sentence.iter().filter(is_word).count();
    if length > MAX_WORDS && common * 20 > length {
        faults.push(format!("{length} words"));
    }
    let line = sentence.first().map_or(1, |word| word.line);
    let faults = faults.into_iter().map(|what| Fault {
        line,
        what,
        sentence: text.clone(),
    });
    faults.collect()
}

/// A word in lower case without its punctuation; anything else, such as code or an address, becomes a quote.
fn plain(word: &str) -> String {
    let word = word.split("](").next().unwrap_or_default();
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !"`{}".contains(c));
    let word = word.strip_suffix("'s").unwrap_or(word);
    let is_word = word.chars().all(|c| c.is_alphabetic() || "-'".contains(c));
    if is_word {
        word.to_lowercase()
    } else {
        "`".to_owned()
    }
}

#[cfg(test)]
mod tests;
