//! `onnx diff`, also as git's external diff driver.

use std::path::Path;
use std::process::Command;

use crate::run::{Folder, onnx};

fn model(body: &str) -> String {
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2] x) => (float[2] y) <float[2] w = {{1, 2}}> {{ {body} }}"
    )
}

#[test]
fn edits_are_listed_with_their_places() {
    let folder = Folder::with("a.onnxtxt", model("a = Exp (x) b = Elu <alpha = 0.5> (a) y = Mul (b, w)"));
    folder.put("b.onnxtxt", model("p = Exp (x) q = Elu <alpha = 0.25> (p) y = Mul (q, w)"));
    folder.put("same.onnxtxt", model("p = Exp (x) q = Elu <alpha = 0.5> (p) y = Mul (q, w)"));
    folder.put(
        "weights.onnxtxt",
        model("p = Exp (x) q = Elu <alpha = 0.5> (p) y = Mul (q, w)").replace("2}", "2.5}"),
    );
    let out = onnx(&folder, "diff a.onnxtxt b.onnxtxt").exits(1).out;
    assert_eq!(
        out,
        "~ node Elu(p) -> q  graph \"g\" / node #1 Elu\n    attribute alpha: 0.5 -> 0.25\n\
         1 difference: 3 nodes and 1 initializer correspond\n"
    );
    let out = onnx(&folder, "diff a.onnxtxt same.onnxtxt").exits(0).out;
    assert_eq!(out, "no difference: 3 nodes and 1 initializer correspond\n");
    let run = onnx(&folder, "diff a.onnxtxt weights.onnxtxt").exits(1);
    assert!(run.out.contains("elements: 1 of 2 elements differ: at most 0.5"), "{}", run.out);
    let run = onnx(&folder, "diff a.onnxtxt weights.onnxtxt --structure").exits(0);
    assert!(run.out.ends_with("correspond\nelements were not compared: 1 tensor\n"), "{}", run.out);
    onnx(&folder, "diff a.onnxtxt weights.onnxtxt --atol 0.5").exits(0);
    onnx(&folder, "diff a.onnxtxt weights.onnxtxt --weights --rtol 0.01").exits(1);
    onnx(&folder, "diff a.onnxtxt b.onnxtxt --weights").exits(0);
    onnx(&folder, "diff a.onnxtxt").exits(2).says("two models");
    let json = onnx(&folder, "diff a.onnxtxt b.onnxtxt --format json").exits(1).out;
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let change = &report["result"]["changes"][0];
    assert_eq!((&change["kind"], &change["aspects"][0]["label"]), (&"changed".into(), &"alpha".into()));
    assert_eq!(change["before"]["selector"], "node(1)");
    assert_eq!(change["after"]["selector"], "node(1)");
}

#[test]
fn notes_can_be_left_out() {
    let folder = Folder::with("a.onnxtxt", model("y = Mul (x, w)"));
    folder.put("b.onnxtxt", model("y = Mul (x, w)").replace("21]", "21], producer_name: \"other\""));
    onnx(&folder, "diff a.onnxtxt b.onnxtxt").exits(1);
    onnx(&folder, "diff a.onnxtxt b.onnxtxt --no-metadata").exits(0);
    let hash = |file: &str| {
        onnx(&folder, &format!("hash {file}")).exits(0).out.split(' ').next().unwrap().to_owned()
    };
    assert_eq!(hash("a.onnxtxt"), hash("b.onnxtxt"));
}

#[test]
fn weights_that_cannot_be_read_are_no_agreement() {
    let folder = Folder::with("a.onnxtxt", model("y = Mul (x, w)"));
    onnx(&folder, "convert a.onnxtxt -o b.onnx --weights external=b.data --threshold 0").exits(0);
    onnx(&folder, "diff a.onnxtxt b.onnx").exits(0);
    std::fs::remove_file(folder.path().join("b.data")).unwrap();
    let run = onnx(&folder, "diff a.onnxtxt b.onnx").exits(2).says("1 tensor could not be compared");
    assert!(!run.out.contains("no difference:"), "{}", run.out);
    onnx(&folder, "diff a.onnxtxt b.onnx --weights").exits(2).says("no difference found, but 1 tensor");
    onnx(&folder, "diff a.onnxtxt b.onnx --structure").exits(0);
    folder.put("other.onnxtxt", model("y = Div (x, w)"));
    let run = onnx(&folder, "diff other.onnxtxt b.onnx").exits(1);
    assert!(run.out.contains("elements could not be compared: 1 tensor, such as"), "{}", run.out);
}

/// Runs git in a folder; `None` if git is not installed.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments);
    for (name, value) in [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")] {
        command.env(name, value);
    }
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "a@example.com");
    }
    let output = command.output().ok()?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {arguments:?}: {errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn git_shows_edits_of_models() {
    let folder = Folder::with("m.onnxtxt", model("a = Exp (x) b = Elu <alpha = 0.5> (a) y = Mul (b, w)"));
    let path = folder.path();
    if git(path, &["init", "-q"]).is_none() {
        println!("git is not installed, so its driver is not tested");
        return;
    }
    let run = |arguments: &[&str]| git(path, arguments).unwrap();
    let program = env!("CARGO_BIN_EXE_onnx");
    run(&["config", "diff.onnx.command", &format!("'{program}' diff --git")]);
    folder.put(".gitattributes", "*.onnx diff=onnx\n*.onnxtxt diff=onnx\n");
    onnx(&folder, "convert m.onnxtxt -o m.onnx").exits(0);
    folder.put("broken.onnx", "nothing");
    run(&["add", "."]);
    run(&["commit", "-qm", "one"]);
    folder.put("m.onnxtxt", model("a = Exp (x) b = Elu <alpha = 0.25> (a) y = Mul (b, w)"));
    onnx(&folder, "convert m.onnxtxt -o m.onnx").exits(0);
    folder.put("broken.onnx", "nothing else");
    let out = run(&["diff", "m.onnx"]);
    assert!(out.starts_with("onnx diff m.onnx\n~ node Elu(a) -> b"), "{out}");
    assert!(out.contains("attribute alpha: 0.5 -> 0.25"), "{out}");
    let out = run(&["diff", "broken.onnx"]);
    assert!(out.contains("cannot be compared as models"), "{out}");
    run(&["add", "."]);
    run(&["commit", "-qm", "two"]);
    let out = run(&["log", "-p", "--ext-diff", "-1", "--", "m.onnx"]);
    assert!(out.contains("attribute alpha: 0.5 -> 0.25"), "{out}");
    run(&["mv", "m.onnx", "renamed.onnx"]);
    onnx(&folder, "convert m.onnxtxt -o new.onnx").exits(0);
    run(&["add", "."]);
    let out = run(&["diff", "--cached", "-M"]);
    assert!(out.contains("+ model with 3 nodes"), "{out}");
    assert!(!out.contains("- model"), "{out}");
}

/// A repository, in which the command `onnx` is this one.
struct Repository(Folder);

impl Repository {
    fn new() -> Option<Self> {
        let folder = Folder::with("m.onnxtxt", model("a = Exp (x) b = Elu <alpha = 0.5> (a) y = Mul (b, w)"));
        folder.put("home/empty", "");
        folder.put("bin/empty", "");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_onnx"), folder.path().join("bin/onnx")).unwrap();
        folder.put("work/.gitkeep", "");
        let found = Self(folder);
        let is_there = found.run("git", &["init", "-q"], "work").is_some();
        // Without git there is nothing to set up.
        is_there.then_some(found)
    }

    /// Runs a program in a folder, with a separate configuration of a user; returns its status and what it writes.
    fn run(&self, program: &str, words: &[&str], folder: &str) -> Option<(i32, String)> {
        let root = self.0.path();
        let path = format!("{}:{}", root.join("bin").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(if program == "onnx" { env!("CARGO_BIN_EXE_onnx") } else { program });
        command.args(words).current_dir(root.join(folder)).env("PATH", path).env("HOME", root.join("home"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CEILING_DIRECTORIES", root);
        for name in ["XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_DIR", "GIT_WORK_TREE"] {
            command.env_remove(name);
        }
        for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
            command.env(name, "a@example.com");
        }
        let done = command.output().ok()?;
        let text = [done.stdout, done.stderr].concat();
        Some((done.status.code().unwrap(), String::from_utf8(text).unwrap()))
    }

    #[track_caller]
    fn git(&self, words: &[&str]) -> String {
        let (status, text) = self.run("git", words, "work").unwrap();
        assert_eq!(status, 0, "git {words:?}: {text}");
        text
    }

    #[track_caller]
    fn install(&self, words: &[&str], folder: &str, status: i32) -> String {
        let words = [&["diff", "--install-git"], words].concat();
        let (found, text) = self.run("onnx", &words, folder).unwrap();
        assert_eq!(found, status, "{text}");
        text
    }

    fn commit(&self, alpha: &str) {
        self.0.put(
            "m.onnxtxt",
            model("a = Exp (x) b = Elu <alpha = 0.5> (a) y = Mul (b, w)").replace("0.5", alpha),
        );
        onnx(&self.0, "convert m.onnxtxt -o work/m.onnx").exits(0);
        self.0.put("work/broken.onnx", format!("nothing {alpha}"));
        self.git(&["add", "."]);
        self.git(&["commit", "-qm", alpha]);
    }
}

/// A link of a repository of others can lead anywhere.
#[test]
#[cfg(unix)]
fn attributes_are_not_written_through_a_link() {
    let Some(repository) = Repository::new() else { return };
    repository.0.put("victim", "mine\n");
    let link = repository.0.path().join("work/.gitattributes");
    for target in ["../victim", "../new"] {
        std::os::unix::fs::symlink(target, &link).unwrap();
        let config = repository.0.get("work/.git/config");
        let told = repository.install(&[], "work", 2);
        assert!(told.contains("is a symbolic link"), "{told}");
        assert_eq!(repository.0.get("work/.git/config"), config);
        std::fs::remove_file(&link).unwrap();
    }
    assert_eq!(repository.0.get("victim"), b"mine\n");
    assert!(!repository.0.path().join("new").exists());
}

#[test]
fn one_command_sets_git_up() {
    let Some(repository) = Repository::new() else { return };
    repository.0.put("work/.gitattributes", "*.onnx filter=lfs diff=lfs\n*.bin binary");
    let told = repository.install(&[], "work", 0);
    let file = repository.0.path().canonicalize().unwrap().join("work/.gitattributes");
    assert_eq!(
        told,
        format!(
            "set in this repository: diff.onnx.command, diff.onnx.textconv, diff.onnx.binary\n\
             added to {0}: *.onnx diff=onnx\n\
             undo: git config --local --remove-section diff.onnx, and delete `*.onnx diff=onnx` from {0}\n",
            file.display()
        )
    );
    let attributes = "*.onnx filter=lfs diff=lfs\n*.bin binary\n*.onnx diff=onnx\n";
    assert_eq!(repository.0.get("work/.gitattributes"), attributes.as_bytes());
    // Again, also below: nothing changes.
    let config = repository.0.get("work/.git/config");
    repository.0.put("work/inner/x", "");
    for folder in ["work", "work/inner"] {
        let told = repository.install(&["--local"], folder, 0);
        assert!(told.starts_with("git shows models as text in this repository already\nundo: "), "{told}");
    }
    assert_eq!(repository.0.get("work/.git/config"), config);
    assert_eq!(repository.0.get("work/.gitattributes"), attributes.as_bytes());

    repository.0.put("work/.gitattributes", "*.onnx diff=onnx\n");
    repository.commit("0.5");
    repository.commit("0.25");
    let found = repository.git(&["diff", "HEAD~1", "--", "m.onnx"]);
    assert!(
        found.starts_with("onnx diff m.onnx\n") && found.contains("attribute alpha: 0.5 -> 0.25"),
        "{found}"
    );
    // Commands that use no driver show texts, also of files that are not models.
    let found = repository.git(&["log", "-p", "-1"]);
    assert!(
        found.contains("\n-") && found.contains("alpha = 0.25") && found.contains("alpha = 0.5"),
        "{found}"
    );
    assert!(found.contains("the file is not a model: "), "{found}");
    let found = repository.git(&["blame", "-s", "m.onnx"]);
    assert!(found.contains("alpha = 0.25"), "{found}");
    let found = repository.git(&["diff", "--no-ext-diff", "--no-textconv", "HEAD~1", "--", "broken.onnx"]);
    assert!(found.contains("Binary files"), "{found}");

    // The line that undoes it.
    repository.git(&["config", "--local", "--remove-section", "diff.onnx"]);
    let (status, _) = repository.run("git", &["config", "--get-regexp", "^diff"], "work").unwrap();
    assert_eq!(status, 1);
}

#[test]
fn git_is_set_up_for_a_user() {
    let Some(repository) = Repository::new() else { return };
    let told = repository.install(&["--global"], "home", 0);
    assert!(told.starts_with("set for this user: diff.onnx.command, "), "{told}");
    assert_eq!(repository.0.get("home/.config/git/attributes"), b"*.onnx diff=onnx\n");
    let told = repository.install(&["--global"], "home", 0);
    assert!(told.starts_with("git shows models as text for this user already\n"), "{told}");
    assert_eq!(repository.0.get("home/.config/git/attributes"), b"*.onnx diff=onnx\n");
    repository.commit("0.5");
    repository.commit("0.25");
    let found = repository.git(&["diff", "HEAD~1", "--", "m.onnx"]);
    assert!(found.contains("attribute alpha: 0.5 -> 0.25"), "{found}");
    // A file of attributes that the user chose.
    repository.git(&["config", "--global", "core.attributesFile", "~/mine"]);
    repository.install(&["--global"], "home", 0);
    assert_eq!(repository.0.get("home/mine"), b"*.onnx diff=onnx\n");
}

/// git ends with the first driver that fails, and shows nothing of the files behind.
#[test]
fn no_name_of_a_file_ends_git() {
    let Some(repository) = Repository::new() else { return };
    repository.install(&[], "work", 0);
    repository.commit("0.5");
    let names = ["-b.onnx", "--git.onnx", "--output=.onnx", "-.onnx"];
    let copy = |names: &[&str]| {
        for name in names {
            let model = repository.0.get("work/m.onnx");
            std::fs::write(repository.0.path().join("work").join(name), model).unwrap();
        }
    };
    copy(&names);
    repository.commit("0.25");
    copy(&names);
    repository.0.put("work/z.txt", "last");
    repository.git(&["add", "-N", "z.txt"]);
    let found = repository.git(&["diff"]);
    for name in names {
        let place = found.find(&format!("onnx diff {name}\n")).unwrap_or_else(|| panic!("{name}: {found}"));
        assert!(found[place..].contains("attribute alpha: 0.5 -> 0.25"), "{found}");
    }
    assert!(found.contains("+last"), "{found}");
    let found = repository.git(&["diff", "--no-ext-diff"]);
    assert!(found.matches("alpha = 0.25").count() >= names.len() && found.contains("+last"), "{found}");
    // Settings without the end of options are kept, with a warning.
    repository.git(&["config", "diff.onnx.command", "onnx diff --git --no-metadata"]);
    let told = repository.install(&[], "work", 0);
    assert!(told.contains("`diff.onnx.command` does not end with `--`"), "{told}");
}

#[test]
#[cfg(unix)]
fn git_shows_a_mode_that_changed() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(repository) = Repository::new() else { return };
    repository.install(&[], "work", 0);
    repository.commit("0.5");
    let model = repository.0.path().join("work/m.onnx");
    std::fs::set_permissions(&model, std::fs::Permissions::from_mode(0o755)).unwrap();
    let found = repository.git(&["diff"]);
    assert!(found.starts_with("onnx diff m.onnx\nold mode 100644\nnew mode 100755\n"), "{found}");
}

/// git ends if its driver is not on the path.
#[test]
#[cfg(unix)]
fn git_finds_the_command_that_is_not_on_the_path() {
    let Some(repository) = Repository::new() else { return };
    let bin = repository.0.path().join("bin/onnx");
    std::fs::remove_file(&bin).unwrap();
    let told = repository.install(&[], "work", 0);
    assert!(!told.contains("is not on the path"), "{told}");
    repository.commit("0.5");
    repository.commit("0.25");
    let found = repository.git(&["diff", "HEAD~1", "--", "m.onnx"]);
    assert!(found.contains("attribute alpha: 0.5 -> 0.25"), "{found}");
    let told = repository.install(&[], "work", 0);
    assert!(told.starts_with("git shows models as text in this repository already\n"), "{told}");
    // The command of an environment is on the path of some shells only, and another one of this name is not this.
    for other in [true, false] {
        repository.git(&["config", "--local", "--remove-section", "diff.onnx"]);
        if other {
            repository.0.put("bin/onnx", "");
        } else {
            std::fs::remove_file(&bin).unwrap();
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_onnx"), &bin).unwrap();
            repository.0.put("pyvenv.cfg", "");
        }
        repository.install(&[], "work", 0);
        let set = repository.git(&["config", "diff.onnx.command"]);
        assert!(set.starts_with(['/', '\'']) && set.ends_with(" diff --git --\n"), "{set}");
    }
}

#[test]
fn git_is_not_set_up_where_that_has_no_effect() {
    let Some(repository) = Repository::new() else { return };
    let told = repository.install(&[], "home", 2);
    assert!(told.contains("git refuses: not a git repository") && told.contains("= help: "), "{told}");
    let told = repository.install(&["--local"], "work/.git", 2);
    assert!(told.contains("git refuses: this operation must be run in a work tree"), "{told}");
    repository.install(&["--local", "--global"], "work", 2);
    repository.install(&["a.onnx", "b.onnx"], "work", 2);
    repository.install(&["--git"], "work", 2);
    let (status, told) = repository.run("onnx", &["diff", "a.onnx", "b.onnx", "--global"], "work").unwrap();
    assert!(status == 2 && told.contains("--install-git"), "{told}");
    // Another driver is kept, and nothing is changed.
    repository.git(&["config", "diff.onnx.command", "other"]);
    let config = repository.0.get("work/.git/config");
    let told = repository.install(&[], "work", 2);
    assert!(told.contains("`diff.onnx.command` is `other` already"), "{told}");
    assert!(told.contains("`git config --local --unset-all diff.onnx.command`"), "{told}");
    assert_eq!(repository.0.get("work/.git/config"), config);
    assert!(!repository.0.path().join("work/.gitattributes").exists());
    // Options of this one are kept.
    repository.git(&["config", "diff.onnx.command", "onnx diff --git --no-metadata"]);
    repository.install(&[], "work", 0);
    assert_eq!(repository.git(&["config", "diff.onnx.command"]), "onnx diff --git --no-metadata\n");
    // A line that takes precedence is mentioned.
    repository.0.put("work/.git/info/attributes", "*.onnx -diff\n");
    repository.0.put("work/.gitattributes", "");
    let told = repository.install(&[], "work", 0);
    assert!(told.contains("warning: another line of attributes takes precedence"), "{told}");
}

#[test]
fn a_text_for_git_is_printed_whatever_the_file_is() {
    let folder = Folder::with("m.onnxtxt", model("y = Mul (x, w)"));
    folder.put("broken.onnx", "nothing");
    let found = onnx(&folder, "diff --textconv m.onnxtxt").exits(0).out;
    assert_eq!(found, onnx(&folder, "print --digest m.onnxtxt").exits(0).out);
    let found = onnx(&folder, "diff --textconv broken.onnx").exits(0);
    assert!(found.out.starts_with("the file is not a model: ") && found.err.is_empty(), "{found:?}");
    onnx(&folder, "diff --textconv m.onnxtxt broken.onnx").exits(2).says("one model");
    onnx(&folder, "diff --textconv --git m.onnxtxt").exits(2);
}
