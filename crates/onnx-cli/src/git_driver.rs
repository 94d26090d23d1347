//! `onnx diff --install-git`: makes git show models as this command does.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::args::DiffArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{Out, shown};

/// What is set in git: the driver for `git diff`, the text for commands that use no driver, and that models are not text, whatever
/// their first bytes are.
const SETTINGS: [(&str, &str); 3] = [
    ("diff.onnx.command", "onnx diff --git"),
    ("diff.onnx.textconv", "onnx diff --textconv"),
    ("diff.onnx.binary", "true"),
];

/// The line of attributes.
const LINE: &str = "*.onnx diff=onnx";

pub(crate) fn install(args: &DiffArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let scope = if args.global { Scope::Global } else { Scope::Local };
    // A bare repository has no working tree for the attributes.
    let root = match scope {
        Scope::Local => Some(PathBuf::from(line(&["rev-parse", "--show-toplevel"], scope)?)),
        Scope::Global => None,
    };
    let mut missing = Vec::new();
    for (key, value) in SETTINGS {
        match current(scope, key)? {
            None => missing.push((key, value)),
            // Options may follow, such as `--no-metadata`.
            Some(found) if found == value || found.starts_with(&format!("{value} ")) => {}
            Some(found) => {
                let option = scope.option();
                let message = format_args!("`{key}` is `{}` already", shown(&found));
                return Err(Failure::new(message).help(format!(
                    "to replace it, remove it first: `git config {option} --unset-all {key}`"
                )));
            }
        }
    }
    let attributes = match &root {
        Some(root) => root.join(".gitattributes"),
        None => global_attributes()?,
    };
    // A repository decides where its links lead, and git does not read attributes through them.
    if root.is_some() && attributes.is_symlink() {
        let message = format_args!("`{}` is a symbolic link", shown(&attributes.to_string_lossy()));
        return Err(Failure::new(message).help("git does not read it: put a file in its place"));
    }
    let before = read(&attributes)?;
    let has_line = match &root {
        Some(root) => is_effective(root)?,
        None => states_line(&before),
    };
    for (key, value) in &missing {
        line(&["config", scope.option(), key, value], scope)?;
    }
    if !has_line {
        append(&attributes, &before)?;
    }
    let mut text = String::new();
    let place = scope.place();
    let file = shown(&attributes.to_string_lossy());
    let keys: Vec<&str> = missing.iter().map(|(key, _)| *key).collect();
    if keys.is_empty() && has_line {
        text.push_str(&format!("git shows models as text {place} already\n"));
    }
    if !keys.is_empty() {
        text.push_str(&format!("set {place}: {}\n", keys.join(", ")));
    }
    if !has_line {
        text.push_str(&format!("added to {file}: {LINE}\n"));
    }
    let option = scope.option();
    text.push_str(&format!(
        "undo: git config {option} --remove-section diff.onnx, and delete `{LINE}` from {file}\n"
    ));
    out.text(&text)?;
    warn(root.as_deref().filter(|_| !has_line), out)?;
    Ok(Outcome::Fine)
}

/// Tells what keeps git from using what was set.
fn warn(root: Option<&Path>, out: &Out) -> Result<(), Failure> {
    if let Some(root) = root
        && !is_effective(root)?
    {
        let help =
            "`git check-attr diff model.onnx` shows the attribute, and `.git/info/attributes` comes first";
        out.warning("another line of attributes takes precedence", Some(help));
    }
    let is_found = std::env::var_os("PATH").is_some_and(|paths| {
        let names = ["onnx", "onnx.exe"];
        std::env::split_paths(&paths).any(|folder| names.iter().any(|name| folder.join(name).is_file()))
    });
    if !is_found {
        out.warning(
            "the command `onnx` is not on the path, where git looks for it",
            Some("add its directory to `PATH`"),
        );
    }
    Ok(())
}

/// Where git is configured.
#[derive(Clone, Copy)]
enum Scope {
    Local,
    Global,
}

impl Scope {
    const fn option(self) -> &'static str {
        match self {
            Self::Local => "--local",
            Self::Global => "--global",
        }
    }

    const fn place(self) -> &'static str {
        match self {
            Self::Local => "in this repository",
            Self::Global => "for this user",
        }
    }
}

fn git(words: &[&str]) -> Result<Output, Failure> {
    Command::new("git").args(words).output().map_err(|error| {
        Failure::new(format_args!("`git` cannot be run: {error}")).help("install git, or add it to `PATH`")
    })
}

/// The line that git prints.
fn line(words: &[&str], scope: Scope) -> Result<String, Failure> {
    let done = git(words)?;
    if done.status.success() {
        let text = String::from_utf8_lossy(&done.stdout);
        return Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned());
    }
    let reason = String::from_utf8_lossy(&done.stderr);
    let reason = reason.lines().next().unwrap_or_default().trim_start_matches("fatal: ").to_owned();
    let failure = Failure::new(format_args!("git refuses: {reason}"));
    Err(match scope {
        Scope::Local => failure.help("run this in the working tree of a repository, or use `--global`"),
        Scope::Global => failure,
    })
}

/// The value of a setting.
fn current(scope: Scope, key: &str) -> Result<Option<String>, Failure> {
    let done = git(&["config", scope.option(), "--get", key])?;
    let text = String::from_utf8_lossy(&done.stdout);
    Ok(done.status.success().then(|| text.strip_suffix('\n').unwrap_or(&text).to_owned()))
}

/// Whether git uses the driver for a model in the root of a working tree, whichever line says so.
fn is_effective(root: &Path) -> Result<bool, Failure> {
    let root = root.to_string_lossy();
    let found = line(&["-C", &root, "check-attr", "-z", "diff", "model.onnx"], Scope::Local)?;
    Ok(found.split('\0').nth(2) == Some("onnx"))
}

/// The file of attributes of a user.
fn global_attributes() -> Result<PathBuf, Failure> {
    let stated = git(&["config", "--global", "--type=path", "--get", "core.attributesFile"])?;
    let text = String::from_utf8_lossy(&stated.stdout);
    if stated.status.success() && !text.trim_end().is_empty() {
        return Ok(PathBuf::from(text.trim_end_matches('\n')));
    }
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
    let folder = folder.ok_or_else(|| {
        Failure::new("the directory of the user is unknown").help("set `HOME`, or use `--local`")
    })?;
    Ok(folder.join("git/attributes"))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    match fs::read(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Failure::not_readable(format_args!("{}: cannot be read: {error}", path.display()))),
    }
}

/// Whether a line names the driver for models.
fn states_line(text: &[u8]) -> bool {
    String::from_utf8_lossy(text).lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("*.onnx") && words.any(|word| word == "diff=onnx")
    })
}

fn append(path: &Path, before: &[u8]) -> Result<(), Failure> {
    let start = if before.is_empty() || before.ends_with(b"\n") { "" } else { "\n" };
    let written = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(format!("{start}{LINE}\n").as_bytes())
    };
    written().map_err(|error| Failure::cannot_write(path, error))
}
