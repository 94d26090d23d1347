//! The licences of what is linked into each artefact, with their texts: a committed file for each, which comes with the artefact.
//!
//! The texts are those in the archives of the crates. What belongs to the compiler has no such archive here, and its texts are in
//! `xtask/licenses`; so are those of crates that have none.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::codegen::{Mode, ensure};
use crate::contents::{self, Artefact, Crate, Id};
use crate::{TaskResult, workspace};

/// The name of the file in each artefact.
pub(crate) const FILE: &str = "THIRD-PARTY-LICENSES";

/// How the names of files with licences begin.
const LICENSE_FILES: [&str; 7] =
    ["license", "licence", "copying", "copyright", "notice", "patents", "unlicense"];

/// Folders of a crate that are not linked.
const NOT_LINKED: [&str; 5] = ["tests", "test", "benches", "examples", "target"];

/// Parts of the compiler that every program contains, with their licences; the folders of their texts have their names.
const STANDARD_LIBRARY: [(&str, &str); 11] = [
    ("std", "(MIT OR Apache-2.0) AND Unicode-3.0"),
    ("addr2line", "Apache-2.0 OR MIT"),
    ("adler2", "0BSD OR MIT OR Apache-2.0"),
    ("cfg-if", "MIT OR Apache-2.0"),
    ("compiler_builtins", "MIT AND Apache-2.0 WITH LLVM-exception AND (MIT OR Apache-2.0)"),
    ("gimli", "MIT OR Apache-2.0"),
    ("hashbrown", "MIT OR Apache-2.0"),
    ("memchr", "Unlicense OR MIT"),
    ("miniz_oxide", "MIT OR Zlib OR Apache-2.0"),
    ("object", "Apache-2.0 OR MIT"),
    ("rustc-demangle", "MIT OR Apache-2.0"),
];

/// What only programs of a system contain, and what only modules of WebAssembly do.
const NATIVE: [(&str, &str); 1] = [("libc", "MIT OR Apache-2.0")];
const WASM: [(&str, &str); 1] = [("dlmalloc", "MIT OR Apache-2.0")];

/// The C library of the command, which is linked statically, and what unwinds its stack.
const STATIC: [(&str, &str); 2] =
    [("libunwind", LLVM), ("musl", "MIT AND BSD-2-Clause AND BSD-3-Clause AND ISC")];

/// What the linker of the wheel adds to it.
const ZIG: [(&str, &str); 2] = [("libunwind", LLVM), ("zig", "MIT")];

/// The licence of the libraries of LLVM.
const LLVM: &str = "Apache-2.0 WITH LLVM-exception AND (NCSA OR MIT)";

/// Something with a licence.
struct Part {
    name: String,
    license: String,
    /// The names and the contents of the files with its licences.
    texts: Vec<(String, String)>,
}

/// The path of the file of an artefact in the repository.
pub(crate) const fn path(artefact: Artefact) -> &'static str {
    match artefact {
        Artefact::Command => "THIRD-PARTY-LICENSES",
        Artefact::Wheel => "python/THIRD-PARTY-LICENSES",
        Artefact::Npm => "web/npm/THIRD-PARTY-LICENSES",
    }
}

/// Writes the files of all artefacts, or checks that they are current. All platforms of an artefact have one file.
pub(crate) fn generate(mode: Mode) -> TaskResult {
    for artefact in Artefact::ALL {
        let mut texts = artefact.targets().iter().map(|target| text(artefact, target));
        let first = texts.next().unwrap_or_else(|| Err("an artefact without platforms".to_owned()))?;
        for (other, target) in texts.zip(artefact.targets().iter().skip(1)) {
            if other? != first {
                return Err(format!(
                    "the {} of {target} contains other crates than that of {}: write a file for each",
                    artefact.name(),
                    artefact.targets()[0]
                ));
            }
        }
        ensure(mode, path(artefact), &first)?;
    }
    Ok(())
}

/// Checks that the committed file is that of a platform.
pub(crate) fn check(artefact: Artefact, target: &str) -> TaskResult {
    let path = path(artefact);
    if workspace::read(&workspace::root().join(path))? == text(artefact, target)? {
        return Ok(());
    }
    Err(format!("{path} is not that of the {} for {target}: run `cargo xtask codegen`", artefact.name()))
}

/// The crates in a text, as pairs of name and version.
pub(crate) fn listed(text: &str) -> Vec<(&str, &str)> {
    let list = text.split("\n\n").skip_while(|&part| part != "Crates").nth(1).unwrap_or_default();
    list.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split_once(' ')).collect()
}

fn text(artefact: Artefact, target: &str) -> Result<String, String> {
    let (_, crates) = contents::crates(artefact, target)?;
    let curated = workspace::root().join("xtask/licenses");
    let crates = crates.iter().filter(|(_, found)| !found.is_own);
    let crates: Vec<Part> = crates.map(|(id, found)| part(id, found, &curated)).collect::<Result<_, _>>()?;
    let system: &[(&str, &str)] = if artefact == Artefact::Npm { &WASM } else { &NATIVE };
    let statically: &[(&str, &str)] = match artefact {
        Artefact::Command => &STATIC,
        Artefact::Wheel => &ZIG,
        Artefact::Npm => &[],
    };
    let compiler = STANDARD_LIBRARY.iter().chain(system).chain(statically);
    let compiler: Vec<Part> = compiler
        .map(|&(name, license)| {
            let texts = texts(&curated.join(name))?;
            if texts.is_empty() {
                return Err(format!("xtask/licenses/{name} has no text"));
            }
            Ok(Part { name: name.to_owned(), license: license.to_owned(), texts })
        })
        .collect::<Result<_, String>>()?;
    Ok(render(&format!("`{}`", artefact.package()), &crates, &compiler))
}

/// The licences of a crate.
fn part(id: &Id, found: &Crate, curated: &Path) -> Result<Part, String> {
    let (name, version) = id;
    let license = found
        .license
        .as_deref()
        .ok_or_else(|| format!("{name} {version} states no licence in its manifest"))?;
    let mut texts = texts(&found.folder)?;
    if texts.is_empty() {
        texts = self::texts(&curated.join(name))?;
    }
    if texts.is_empty() {
        return Err(format!(
            "{name} {version} contains no text of a licence: add that of `{license}` to xtask/licenses/{name}"
        ));
    }
    Ok(Part { name: format!("{name} {version}"), license: contents::expression(license), texts })
}

/// The files with licences below a folder, by path.
fn texts(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(inner) = open.pop() {
        let Ok(entries) = fs::read_dir(&inner) else { continue };
        let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !NOT_LINKED.contains(&name.as_str()) {
                    open.push(path);
                }
            } else if is_license(&name) {
                let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                let relative = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
                found.insert(relative, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// Sources may have such names, too.
fn is_license(name: &str) -> bool {
    let name = name.to_lowercase();
    let is_source = [".rs", ".py", ".toml", ".json", ".sh"].iter().any(|end| name.ends_with(end));
    !is_source && LICENSE_FILES.iter().any(|start| name.starts_with(start))
}

/// Texts that differ in white space only are one.
fn render(package: &str, crates: &[Part], compiler: &[Part]) -> String {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut texts: Vec<(String, &str)> = Vec::new();
    let mut lists = String::new();
    for (title, parts) in [("Crates", crates), ("Parts of the compiler and its libraries", compiler)] {
        let _ = write!(lists, "\n{title}\n\n");
        for part in parts {
            let mut used = Vec::new();
            for (file, text) in &part.texts {
                let key = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let number = *numbers.entry(key).or_insert_with(|| {
                    texts.push((format!("{file} of {}", part.name), text));
                    texts.len()
                });
                if !used.contains(&number) {
                    used.push(number);
                }
            }
            let used: Vec<String> = used.iter().map(|number| format!("[{number}]")).collect();
            let _ = write!(lists, "{}\n    {}\n    {}\n", part.name, part.license, used.join(" "));
        }
    }
    let mut file = format!(
        "Third-party licenses\n\nWhat is compiled from {package} contains {} crates of others and parts of the compiler. Each is listed with \
         its licenses as an\nSPDX expression, and with the numbers of their texts, which follow the lists. Generated by `cargo xtask codegen`.\n",
        crates.len()
    );
    file.push_str(&lists);
    for (number, (title, text)) in texts.iter().enumerate() {
        let _ = write!(file, "\n{}\n[{}] {title}\n\n", "=".repeat(80), number + 1);
        for line in text.trim_matches(['\n', '\r', '\u{feff}']).lines() {
            file.push_str(line.trim_end());
            file.push('\n');
        }
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{remove, write};

    fn named(name: &str, texts: &[(&str, &str)]) -> Part {
        let texts = texts.iter().map(|&(file, text)| (file.to_owned(), text.to_owned())).collect();
        Part { name: name.to_owned(), license: "MIT".to_owned(), texts }
    }

    #[test]
    fn equal_texts_are_printed_once() {
        let crates = [
            named("a 1.0.0", &[("LICENSE", "Of a\n")]),
            named("b 2.0.0", &[("COPYING", "both\n text \n"), ("LICENSE", "Of  a")]),
        ];
        let text = render("`p`", &crates, &[named("std", &[("LICENSE", "both text\r\n")])]);
        let lists = "\nCrates\n\na 1.0.0\n    MIT\n    [1]\nb 2.0.0\n    MIT\n    [2] [1]\n\n\
                     Parts of the compiler and its libraries\n\nstd\n    MIT\n    [2]\n";
        assert!(text.contains(lists), "{text}");
        let line = "=".repeat(80);
        let texts = format!(
            "\n{line}\n[1] LICENSE of a 1.0.0\n\nOf a\n\n{line}\n[2] COPYING of b 2.0.0\n\nboth\n text\n"
        );
        assert!(text.ends_with(&texts), "{text}");
        assert_eq!(listed(&text), [("a", "1.0.0"), ("b", "2.0.0")]);
    }

    #[test]
    fn crates_without_a_text_need_a_curated_one() {
        let folder = workspace::target().join("notices-test");
        remove(&folder).unwrap();
        let id = ("a".to_owned(), "1.0.0".to_owned());
        let license = Some("MIT/Apache-2.0".to_owned());
        let source = folder.join("a-1.0.0");
        let mut found = Crate { license, is_own: false, folder: source.clone(), depends: [].into() };
        write(&source.join("src/license.rs"), "mod license;").unwrap();
        write(&source.join("tests/LICENSE"), "of a model").unwrap();
        let problem = part(&id, &found, &folder.join("curated")).err().unwrap();
        let expected =
            "a 1.0.0 contains no text of a licence: add that of `MIT/Apache-2.0` to xtask/licenses/a";
        assert_eq!(problem, expected);
        write(&folder.join("curated/a/LICENSE-MIT"), "curated").unwrap();
        let with_text = part(&id, &found, &folder.join("curated")).unwrap();
        assert_eq!(with_text.license, "MIT OR Apache-2.0");
        assert_eq!(with_text.texts, [("LICENSE-MIT".to_owned(), "curated".to_owned())]);
        write(&source.join("src/tables/LICENSE-UNICODE"), "tables").unwrap();
        let with_text = part(&id, &found, &folder.join("curated")).unwrap();
        assert_eq!(with_text.texts, [("src/tables/LICENSE-UNICODE".to_owned(), "tables".to_owned())]);
        found.license = None;
        assert!(part(&id, &found, &folder).err().unwrap().ends_with("states no licence in its manifest"));
        remove(&folder).unwrap();
    }
}
