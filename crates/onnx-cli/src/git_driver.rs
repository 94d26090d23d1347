//! `onnx diff --install-git`: makes git show models as this command does.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::args::DiffArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{Out, shown};
use crate::spelling::quoted;

/// The commands that are set in git: the driver for `git diff`, and the text for commands that use no driver. git adds names of
/// files, of which each may begin with `-`.
const COMMANDS: [(&str, &str); 2] =
    [("diff.onnx.command", "diff --git"), ("diff.onnx.textconv", "diff --textconv")];

/// What is set in addition: models are not text, whatever their first bytes are.
const BINARY: (&str, &str) = ("diff.onnx.binary", "true");

/// The end of options.
const END: &str = " --";

/// The line of attributes.
const LINE: &str = "*.onnx diff=onnx";

pub(crate) fn install(args: &DiffArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let scope = if args.global { Scope::Global } else { Scope::Local };
    // A bare repository has no working tree for the attributes.
    let root = match scope {
        Scope::Local => Some(PathBuf::from(line(&["rev-parse", "--show-toplevel"], scope)?)),
        Scope::Global => None,
    };
    let program = program();
    let (missing, open) = settings(scope, &program)?;
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
    for key in open {
        let message =
            format!("a model whose name begins with `-` ends `git diff`: `{key}` does not end with `--`");
        out.warning(&message, Some("add `--` as its last word"));
    }
    let is_named = current(scope, COMMANDS[0].0)?.is_some_and(|set| set.split(' ').next() == Some(NAME));
    if is_named && found_on_path().is_none() {
        out.warning(
            "the command `onnx` is not on the path, where git looks for it",
            Some("add its directory to `PATH`"),
        );
    }
    Ok(Outcome::Fine)
}

/// Settings that are missing, and the keys of the commands that take names of files as options.
type Settings = (Vec<(&'static str, String)>, Vec<&'static str>);

/// Compares what git has with what this command sets. Another driver is an error.
fn settings(scope: Scope, program: &str) -> Result<Settings, Failure> {
    let (mut missing, mut open) = (Vec::new(), Vec::new());
    for (key, words) in COMMANDS {
        let Some(found) = current(scope, key)? else {
            missing.push((key, format!("{program} {words}{END}")));
            continue;
        };
        // Options may follow, such as `--no-metadata`.
        let is_own = [program, NAME].iter().any(|program| {
            let rest =
                found.strip_prefix(*program).and_then(|rest| rest.strip_prefix(' ')?.strip_prefix(words));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        if !is_own {
            return Err(other_driver(scope, key, &found));
        }
        if !found.trim_end().ends_with(END) {
            open.push(key);
        }
    }
    let (key, value) = BINARY;
    match current(scope, key)? {
        None => missing.push((key, value.to_owned())),
        Some(found) if found == value => {}
        Some(found) => return Err(other_driver(scope, key, &found)),
    }
    Ok((missing, open))
}

fn other_driver(scope: Scope, key: &str, found: &str) -> Failure {
    let option = scope.option();
    Failure::new(format_args!("`{key}` is `{}` already", shown(found)))
        .help(format!("to replace it, remove it first: `git config {option} --unset-all {key}`"))
}

/// The name of the command.
const NAME: &str = "onnx";

/// The command as git runs it: its name if the path leads to this program, now and in another shell, and otherwise the path of the
/// program, because git ends with the first driver that it does not find.
fn program() -> String {
    let Some(words) = crate::scan::program() else { return NAME.to_owned() };
    let own = words.first().map(Path::new);
    let is_same = |found: &Path| {
        // The package has its command next to the interpreter.
        let is_own = if words.len() > 1 {
            own.is_some_and(|own| own.parent() == found.parent())
        } else {
            own.is_some_and(|own| own.canonicalize().ok() == found.canonicalize().ok())
        };
        // A virtual environment is on the path of a shell in which it was activated.
        let environment = found.parent().and_then(Path::parent).map(|folder| folder.join("pyvenv.cfg"));
        is_own && !environment.is_some_and(|file| file.is_file())
    };
    if found_on_path().is_some_and(|found| is_same(&found)) {
        return NAME.to_owned();
    }
    let quoted = words.iter().map(|word| Some(quoted(word.to_str()?)));
    quoted.collect::<Option<Vec<_>>>().map_or_else(|| NAME.to_owned(), |words| words.join(" "))
}

/// The command that a shell finds.
fn found_on_path() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let names = ["onnx", "onnx.exe"];
    std::env::split_paths(&paths)
        .find_map(|folder| names.iter().map(|name| folder.join(name)).find(|file| file.is_file()))
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
