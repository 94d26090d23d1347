//! The manifests and documents that state the version.

use serde_json::Value;

use crate::workspace::DISTRIBUTION;

/// Returns one sentence for each place that does not state this version. A file that does not exist is empty.
pub(super) fn problems(version: &str, crates: &[String], read: impl Fn(&str) -> String) -> Vec<String> {
    let mut problems = Vec::new();
    workspace_manifest(version, &read("Cargo.toml"), &mut problems);
    for name in crates {
        let path = format!("crates/{name}/Cargo.toml");
        if !read(&path).lines().any(|line| line == "version.workspace = true") {
            problems.push(format!("{path}: add `version.workspace = true`"));
        }
    }
    lock_file(version, &read("Cargo.lock"), &mut problems);
    if !read("pyproject.toml").lines().any(|line| line == r#"dynamic = ["version"]"#) {
        problems.push("pyproject.toml: the version is that of `Cargo.toml`: set `dynamic`".to_owned());
    }
    npm_manifest(version, &read("web/npm/package.json"), &mut problems);
    changelog(version, &read("CHANGELOG.md"), &mut problems);
    install_page(version, &read("docs/install.md"), &mut problems);
    problems
}

fn workspace_manifest(version: &str, text: &str, problems: &mut Vec<String>) {
    let stated = format!("version = \"{version}\"");
    let mut section = "";
    let mut is_stated = false;
    for line in text.lines() {
        if line.starts_with('[') {
            section = line;
        }
        is_stated |= section == "[workspace.package]" && line == stated;
        let is_own = section == "[workspace.dependencies]" && line.contains("path = \"crates/");
        if is_own && !line.contains(&stated) {
            problems.push(format!("Cargo.toml: `{line}` does not state {version}"));
        }
    }
    if !is_stated {
        problems.push(format!("Cargo.toml: [workspace.package] does not have the line `{stated}`"));
    }
}

/// Packages without a source are those of the workspace.
fn lock_file(version: &str, text: &str, problems: &mut Vec<String>) {
    let stated = format!("version = \"{version}\"");
    let mut own = text.split("[[package]]").skip(1).filter(|entry| !entry.contains("\nsource = ")).peekable();
    if own.peek().is_none() {
        problems.push("Cargo.lock: no package of the workspace".to_owned());
    }
    for entry in own.filter(|entry| !entry.lines().any(|line| line == stated)) {
        let name = entry.lines().find(|line| line.starts_with("name = ")).unwrap_or_default();
        problems.push(format!("Cargo.lock: the package with {name} does not have version {version}"));
    }
}

fn npm_manifest(version: &str, text: &str, problems: &mut Vec<String>) {
    let manifest: Value = serde_json::from_str(text).unwrap_or_default();
    for (key, expected) in [("name", DISTRIBUTION), ("version", version)] {
        if manifest[key] != expected {
            problems.push(format!("web/npm/package.json: `{key}` is {}, not {expected:?}", manifest[key]));
        }
    }
}

/// The first section is that of the version; its date may be open until the release.
fn changelog(version: &str, text: &str, problems: &mut Vec<String>) {
    let title = text.lines().find(|line| line.starts_with("## ")).unwrap_or_default();
    if !title.starts_with(&format!("## {version} – ")) {
        problems.push(format!("CHANGELOG.md: the first section is `{title}`, not that of {version}"));
    }
}

/// The page names tags, for hooks and the action.
fn install_page(version: &str, text: &str, problems: &mut Vec<String>) {
    let action = format!("uses: {DISTRIBUTION}/{DISTRIBUTION}@v");
    for marker in ["rev: v", action.as_str()] {
        let stated: Vec<&str> =
            text.lines().filter_map(|line| line.split_once(marker)).map(|(_, stated)| stated).collect();
        if stated.is_empty() {
            problems.push(format!("docs/install.md: no line with `{marker}`"));
        }
        for stated in stated.into_iter().filter(|&stated| stated != version) {
            problems.push(format!("docs/install.md: `{marker}{stated}` is not that of {version}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &str); 7] = [
        (
            "Cargo.toml",
            "[workspace.package]\nversion = \"1.2.0\"\n[workspace.dependencies]\n\
             a = { path = \"crates/a\", version = \"1.2.0\" }\nb = \"3\"\n",
        ),
        ("crates/a/Cargo.toml", "[package]\nversion.workspace = true\n"),
        (
            "Cargo.lock",
            "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.2.0\"\n\n\
             [[package]]\nname = \"b\"\nversion = \"3.0.0\"\nsource = \"registry\"\n",
        ),
        ("pyproject.toml", "dynamic = [\"version\"]\n"),
        ("web/npm/package.json", r#"{"name": "onnxkit", "version": "1.2.0"}"#),
        ("CHANGELOG.md", "# Changelog\n\n## 1.2.0 – unreleased\n\n## 1.1.0 – 2026-01-01\n"),
        ("docs/install.md", "    rev: v1.2.0\n      - uses: onnxkit/onnxkit@v1.2.0\n"),
    ];

    fn found(version: &str, files: &[(&str, &str)]) -> Vec<String> {
        let read = |path: &str| files.iter().find(|file| file.0 == path).map_or("", |file| file.1).to_owned();
        let problems = problems(version, &["a".to_owned()], read);
        problems.iter().map(|problem| problem.split_once(": ").unwrap().0.to_owned()).collect()
    }

    #[test]
    fn files_that_agree_are_accepted() {
        assert_eq!(found("1.2.0", &FILES), [""; 0]);
    }

    #[test]
    fn every_place_of_another_version_is_reported() {
        let stating = [
            "Cargo.toml",
            "Cargo.toml",
            "Cargo.lock",
            "web/npm/package.json",
            "CHANGELOG.md",
            "docs/install.md",
            "docs/install.md",
        ];
        assert_eq!(found("1.3.0", &FILES), stating);
        // A version that begins with another one is not that one.
        assert_eq!(found("1.2", &FILES), stating);
    }

    #[test]
    fn files_without_a_version_are_reported() {
        for (index, (path, _)) in FILES.iter().enumerate() {
            let mut files = FILES.to_vec();
            files.remove(index);
            let found = found("1.2.0", &files);
            assert!(!found.is_empty() && found.iter().all(|place| place == path), "{path}: {found:?}");
        }
    }
}
