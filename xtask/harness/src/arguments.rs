//! Command-line arguments.

use std::collections::VecDeque;

use crate::failure::Failure;

/// The arguments of a command. Options are taken out one by one, and leftover arguments are an error.
pub struct Arguments {
    command: &'static str,
    rest: VecDeque<String>,
}

impl Arguments {
    /// The arguments after the name of the command, which error messages contain.
    pub fn new(command: &'static str, arguments: &[String]) -> Self {
        Self {
            command,
            rest: arguments.iter().cloned().collect(),
        }
    }

    /// Whether a flag is present.
    pub fn flag(&mut self, name: &str) -> bool {
        let before = self.rest.len();
        self.rest.retain(|argument| argument != name);
        self.rest.len() < before
    }

    /// Whether the command may install missing tools: not with `--no-install`.
    pub fn install(&mut self) -> bool {
        !self.flag("--no-install")
    }

    /// The value after an option; the last one if it is repeated.
    pub fn value(&mut self, name: &str) -> Result<Option<String>, Failure> {
        self.values(name).map(|mut values| values.pop())
    }

    /// The values of an option that may be repeated.
    pub fn values(&mut self, name: &str) -> Result<Vec<String>, Failure> {
        let mut values = Vec::new();
        while let Some(place) = self.rest.iter().position(|argument| argument == name) {
            let _name = self.rest.remove(place);
            let value = self.rest.remove(place);
            values.push(value.ok_or_else(|| self.wrong(&format!("`{name}` needs a value")))?);
        }
        Ok(values)
    }

    /// The number after an option, from 1 on.
    pub fn number(&mut self, name: &str) -> Result<Option<u32>, Failure> {
        let Some(value) = self.value(name)? else {
            return Ok(None);
        };
        match value.parse() {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => Err(self.wrong(&format!("`{name}` needs a number from 1"))),
        }
    }

    /// The remaining arguments, which must not be options.
    pub fn words(self) -> Result<Vec<String>, Failure> {
        match self.rest.iter().find(|argument| argument.starts_with('-')) {
            Some(other) => Err(self.wrong(&format!("unknown option `{other}`"))),
            None => Ok(self.rest.into()),
        }
    }

    /// Checks that no argument is left over.
    pub fn end(self) -> Result<(), Failure> {
        match self.rest.front() {
            Some(other) => Err(self.wrong(&format!("unknown argument `{other}`"))),
            None => Ok(()),
        }
    }

    /// A usage error of this command.
    pub fn wrong(&self, message: &str) -> Failure {
        Failure::Usage(format!("{}: {message}", self.command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Arguments {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Arguments::new("try", &words)
    }

    #[test]
    fn options_are_taken_out_and_words_remain() {
        let mut given = arguments(&[
            "a",
            "-p",
            "one",
            "--no-install",
            "-p",
            "two",
            "--n",
            "7",
            "b",
        ]);
        assert_eq!(given.values("-p").unwrap(), ["one", "two"]);
        assert!(!given.install());
        assert!(given.install());
        assert_eq!(given.number("--n").unwrap(), Some(7));
        assert_eq!(given.number("--n").unwrap(), None);
        assert_eq!(given.words().unwrap(), ["a", "b"]);
    }

    #[test]
    fn missing_values_and_unknown_options_are_usage_errors() {
        let is_usage = |outcome: Result<(), Failure>| matches!(outcome, Err(Failure::Usage(_)));
        assert!(is_usage(arguments(&["--n"]).number("--n").map(drop)));
        assert!(is_usage(arguments(&["--n", "0"]).number("--n").map(drop)));
        assert!(is_usage(arguments(&["--other"]).words().map(drop)));
        assert!(is_usage(arguments(&["word"]).end()));
        assert!(arguments(&[]).end().is_ok());
    }
}
