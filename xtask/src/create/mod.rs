//! `cargo xtask new op|rule|pass NAME`: the files of something new, in their places, with the lines that register them.
//!
//! What is created compiles, does nothing, and has a test that fails until it is written.

mod list;
mod op;
mod pass;
mod rule;

use crate::TaskResult;
use crate::tidy::sources::{Files, read_tree};

const USAGE: &str = "\
new op [--group GROUP] [--recipe] NAME    the missing files of an operator that has facts
new rule UNIT/SLUG                        a rule of the checker: `new rule node/operator-missing`
new pass NAME                             a pass: `new pass fuse-normalization`";

/// Files to write.
#[derive(Debug, Default)]
struct Plan {
    /// Path relative to the root, and text, of files that are created.
    created: Vec<(String, String)>,
    /// The same of files that are changed.
    changed: Vec<(String, String)>,
    /// What to do next.
    next: Vec<String>,
}

impl Plan {
    /// Adds a file.
    fn create(&mut self, files: &Files, path: String, text: String) -> TaskResult {
        if files.has(&path) {
            return Err(format!("`{path}` exists"));
        }
        self.created.push((path, text));
        Ok(())
    }

    /// Edits a file, which may be one that was edited before.
    fn change(
        &mut self,
        files: &Files,
        path: &str,
        edit: impl FnOnce(&str) -> Result<String, String>,
    ) -> TaskResult {
        let old = self.changed.iter().position(|(changed, _)| changed == path);
        let text = old.map_or_else(|| files.text(path), |index| &self.changed[index].1);
        let text = edit(text).map_err(|problem| format!("{path}: {problem}"))?;
        match old {
            Some(index) => self.changed[index].1 = text,
            None => self.changed.push((path.to_owned(), text)),
        }
        Ok(())
    }

    /// Writes the files, and formats them.
    fn write(&self) -> TaskResult {
        let root = crate::workspace::root();
        for (path, text) in self.created.iter().chain(&self.changed) {
            let file = root.join(path);
            let written = file.parent().map_or(Ok(()), std::fs::create_dir_all);
            written.and_then(|()| std::fs::write(&file, text)).map_err(|error| format!("{path}: {error}"))?;
        }
        crate::workspace::run("cargo", &["fmt", "--all"])
    }
}

/// Creates the files and prints their paths.
pub(crate) fn run(args: &[String]) -> TaskResult {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let files = read_tree()?;
    let plan = match args.as_slice() {
        ["op", rest @ ..] => op::plan(&files, rest)?,
        ["rule", name] => rule::plan(&files, name)?,
        ["pass", name] => pass::plan(&files, name)?,
        _ => return Err(format!("usage:\n{USAGE}")),
    };
    plan.write()?;
    for (word, list) in [("created", &plan.created), ("changed", &plan.changed)] {
        list.iter().for_each(|(path, _)| println!("{word} {path}"));
    }
    plan.next.iter().for_each(|step| println!("next: {step}"));
    Ok(())
}

/// A name of words in lower case with `separator` between them; an error if it is anything else.
fn words(name: &str, separator: char) -> Result<Vec<&str>, String> {
    let words: Vec<&str> = name.split(['-', '_']).collect();
    let is_word = |word: &&str| {
        !word.is_empty() && word.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
    };
    let begins = name.starts_with(|letter: char| letter.is_ascii_lowercase());
    if begins && words.iter().all(is_word) {
        return Ok(words);
    }
    Err(format!("`{name}` is not a name of words in lower case with `{separator}` between them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        assert_eq!(words("fuse-two_nodes", '-').unwrap(), ["fuse", "two", "nodes"]);
        for name in ["", "Fuse", "fuse--two", "2-nodes", "fuse/two"] {
            assert!(words(name, '-').is_err(), "{name}");
        }
    }

    #[test]
    fn nothing_is_overwritten() {
        let files = Files::new([("a.rs".to_owned(), String::new())]);
        let mut plan = Plan::default();
        assert_eq!(plan.create(&files, "a.rs".to_owned(), String::new()), Err("`a.rs` exists".to_owned()));
        plan.create(&files, "b.rs".to_owned(), String::new()).unwrap();
        for _ in 0..2 {
            plan.change(&files, "a.rs", |text| Ok(format!("{text}x"))).unwrap();
        }
        assert_eq!(plan.changed, [("a.rs".to_owned(), "xx".to_owned())]);
    }
}
