//! The checks of manifests: lints from the workspace, no build scripts, crate roots that forbid `unsafe`.

use super::Violation;
use super::metadata::{Metadata, Package};
use super::sources::{Files, UNSAFE_MODULES};

/// Lints that a check of the architecture relies on; each must be in the workspace's lint table.
const NEEDED_LINTS: &[&str] = &[
    "unsafe_code",
    "missing_docs",
    "iter_over_hash_type",
    "unwrap_used",
    "expect_used",
    "panic",
    "todo",
    "unimplemented",
    "print_stdout",
    "print_stderr",
    "too_many_lines",
];

pub(super) fn check(metadata: &Metadata, files: &Files, violations: &mut Vec<Violation>) {
    for package in &metadata.packages {
        one_package(package, files, violations);
    }
    lint_table(files.text("Cargo.toml"), violations);
    if !files.text("clippy.toml").lines().any(|line| line == "too-many-lines-threshold = 60") {
        violations.push(Violation::new("clippy.toml", "functions stay under 60 lines: set the threshold"));
    }
}

fn one_package(package: &Package, files: &Files, violations: &mut Vec<Violation>) {
    let folder = package.folder();
    let manifest = format!("{folder}/Cargo.toml");
    if package.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "custom-build")) {
        let problem =
            "build scripts are not allowed: generate with `cargo xtask codegen` and commit the result";
        violations.push(Violation::new(manifest.as_str(), problem));
    }
    if !section(files.text(&manifest), "lints").any(|line| line == "workspace = true") {
        violations.push(Violation::new(manifest.as_str(), "add `[lints] workspace = true`"));
    }
    if !package.is_crate() {
        return;
    }
    let root = ["lib.rs", "main.rs"]
        .map(|file| format!("{folder}/src/{file}"))
        .into_iter()
        .find(|path| files.has(path));
    let Some(root) = root else {
        violations.push(Violation::new(folder, "has neither src/lib.rs nor src/main.rs"));
        return;
    };
    // `forbid` cannot be lifted by the one module that needs to.
    let has_unsafe =
        UNSAFE_MODULES.iter().any(|(path, _)| path.starts_with(&format!("{folder}/")) && files.has(path));
    let level = if has_unsafe { "deny" } else { "forbid" };
    let attribute = format!("#![{level}(unsafe_code)]");
    if !files.text(&root).lines().any(|line| line == attribute) {
        violations.push(Violation::new(root, format!("add `{attribute}` to the crate root")));
    }
}

fn lint_table(root_manifest: &str, violations: &mut Vec<Violation>) {
    let table: Vec<&str> = section(root_manifest, "workspace.lints.rust")
        .chain(section(root_manifest, "workspace.lints.clippy"))
        .collect();
    for lint in NEEDED_LINTS {
        let is_on = table.iter().any(|line| {
            line.strip_prefix(lint).is_some_and(|rest| {
                let rest = rest.trim_start();
                rest.starts_with('=') && !rest.contains("allow")
            })
        });
        if !is_on {
            violations
                .push(Violation::new("Cargo.toml", format!("the lint `{lint}` is not in the lint table")));
        }
    }
}

/// The lines of a section of a TOML file.
fn section<'a>(toml: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let header = format!("[{name}]");
    toml.lines()
        .map(str::trim)
        .skip_while(move |line| *line != header)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weakened_lint_table_is_noticed() {
        let full = format!(
            "[workspace.lints.rust]\n{}\n[x]\n",
            NEEDED_LINTS.iter().map(|lint| format!("{lint} = \"deny\"\n")).collect::<String>()
        );
        let problems = |toml: &str| {
            let mut violations = Vec::new();
            lint_table(toml, &mut violations);
            violations.len()
        };
        assert_eq!(problems(&full), 0);
        assert_eq!(problems(&full.replace("todo = \"deny\"", "todo = \"allow\"")), 1);
        assert_eq!(problems(&full.replace("panic = ", "panicky = ")), 1);
        assert_eq!(problems(""), NEEDED_LINTS.len());
    }
}
