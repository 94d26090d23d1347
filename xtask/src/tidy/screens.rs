//! Every picture with which the tests of the page compare a screen is committed, and none is left over. Chromium makes them, so
//! that otherwise only the longest step of CI says that one is missing.

use std::collections::BTreeSet;

use super::Violation;
use super::sources::Files;

const TESTS: &str = "web/test/";
const PICTURES: &str = "web/test/screens";

/// What begins the comparison of a screen with the picture of a name.
const CALL: &str = "screen(page, \"";

/// The names of the committed pictures.
pub(super) fn pictures() -> Result<BTreeSet<String>, String> {
    let folder = crate::workspace::root().join(PICTURES);
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter_map(|name| name.strip_suffix(".png").map(str::to_owned)).collect())
}

pub(super) fn check(files: &Files, pictures: &BTreeSet<String>, violations: &mut Vec<Violation>) {
    let mut used = BTreeSet::new();
    let tests = files.iter().filter(|(path, _)| path.starts_with(TESTS) && path.ends_with(".mjs"));
    for (path, text) in tests {
        for (index, line) in text.lines().enumerate() {
            for name in line.split(CALL).skip(1).filter_map(|rest| rest.split('"').next()) {
                used.insert(name);
                if !pictures.contains(name) {
                    let problem = format!(
                        "`{PICTURES}/{name}.png` is missing: run `cargo xtask page --bless`, and inspect it"
                    );
                    violations.push(Violation::new(format!("{path}:{}", index + 1), problem));
                }
            }
        }
    }
    for name in pictures.iter().filter(|name| !used.contains(name.as_str())) {
        violations.push(Violation::new(format!("{PICTURES}/{name}.png"), "no test compares with it"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_those_of_the_tests() {
        let text = "await screen(page, \"first\");\nawait screen(page, \"path\");";
        let files = Files::new([("web/test/site.mjs".to_owned(), text.to_owned())]);
        let mut violations = Vec::new();
        check(&files, &["first", "old"].map(str::to_owned).into(), &mut violations);
        let found: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "web/test/site.mjs:2: `web/test/screens/path.png` is missing: run `cargo xtask page --bless`, and inspect it",
                "web/test/screens/old.png: no test compares with it",
            ]
        );
    }
}
