//! `cargo xtask python`: builds the wheel of the Python package, installs it in a separate environment, and runs its tests.
//!
//! The environment has what users have in addition to the package, so that the tests compare with it. Nothing is published.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::DISTRIBUTION;
use crate::{TaskResult, python, workspace};

/// What is installed: the build backend, the runner of tests, the checker of types, and the packages that tests compare with.
const PACKAGES: &[&str] = &[
    "maturin==1.16.0",
    "pytest==9.2.0",
    "mypy==2.4.1",
    "numpy",
    "ml_dtypes",
    "onnx==1.23.2",
    "onnx-ir==1.1.0",
    "nanoarrow==0.9.0",
];

/// What builds the wheel of a release. Zig has the functions of old versions of glibc for all processors, and links with those of
/// one version whatever this machine has.
const RELEASE_PACKAGES: &[&str] = &["maturin==1.16.0", "ziglang==0.17.1"];

/// The systems on which the wheel of a release runs: those with this version of glibc and newer ones. The standard library of
/// Rust needs no older one.
const COMPATIBILITY: &str = "manylinux_2_17";

/// What is measured in addition.
const PEERS: &[&str] = &["onnxslim==0.1.98", "onnxsim==0.8.1"];

/// The time of all files in the archives of a release, in seconds: the first that the format of a wheel can state.
const RELEASE_TIME: &str = "315532800";

/// The largest wheel that is accepted.
const MAX_BYTES: u64 = 15 << 20;

/// Builds and tests. `--bench` measures instead, on a generated model and on those that are named; `--stress` runs the attacks,
/// or those that are named.
pub(crate) fn run(args: &[String]) -> TaskResult {
    match args {
        [] => check().map(|remark| println!("{remark}")),
        [arg, models @ ..] if arg == "--bench" => {
            let python = environment()?;
            install(&python)?;
            let peers = ["-m", "pip", "install", "--quiet"];
            workspace::output(Command::new(&python).args(peers).args(PEERS))?;
            let models = models.iter().map(String::as_str);
            let args: Vec<&str> = std::iter::once("python/benches/compare.py").chain(models).collect();
            python_run(&python, &args)
        }
        [arg, names @ ..] if arg == "--stress" => {
            let python = environment()?;
            install(&python)?;
            let names = names.iter().map(String::as_str);
            let args: Vec<&str> = std::iter::once("python/stress/faults.py").chain(names).collect();
            python_run(&python, &args)
        }
        _ => Err("python takes no argument but `--bench [MODEL...]` or `--stress [NAME...]`".to_owned()),
    }
}

/// Builds, installs and tests the wheel; returns a remark.
pub(crate) fn check() -> Result<String, String> {
    let python = match environment() {
        Ok(python) => python,
        Err(problem) => return Ok(format!("not tested, because the environment cannot be made: {problem}")),
    };
    // The types of the sources need no wheel, and their mistakes are those that are made most.
    python_run(
        &python,
        &["-m", "mypy", "--strict", "python/onnxkit", "python/examples", "python/tests/typed.py"],
    )?;
    let bytes = install(&python)?;
    crate::channels::wheel(&workspace::only_entry(&folder().join("wheels"))?)?;
    python_run(&python, &["-m", "pytest", "-q", "-p", "no:cacheprovider", "python/tests"])?;
    python_run(&python, &["-m", "mypy.stubtest", "--ignore-disjoint-bases", "onnxkit._core"])?;
    Ok(format!("a wheel of {} kB", bytes / 1000))
}

/// The interpreter of the environment with [`PACKAGES`].
pub(crate) fn environment() -> Result<PathBuf, String> {
    let python = python::environment(&folder().join("venv"), PACKAGES)?;
    let is_new = "import sys; sys.exit(sys.version_info < (3, 11))";
    let status = Command::new(&python).args(["-c", is_new]).status();
    match status {
        Ok(status) if status.success() => Ok(python),
        Ok(_) => Err("`python3` is older than 3.11".to_owned()),
        Err(error) => Err(format!("{}: {error}", python.display())),
    }
}

fn folder() -> PathBuf {
    workspace::target().join("python")
}

/// Builds and installs the wheel, and returns its bytes.
pub(crate) fn install(python: &Path) -> Result<u64, String> {
    named()?;
    let wheels = folder().join("wheels");
    let _ = std::fs::remove_dir_all(&wheels);
    println!("building the wheel");
    build(python, "wheel", &[], &wheels)?;
    let wheel = workspace::only_entry(&wheels)?;
    let bytes = size(&wheel)?;
    let arguments = ["-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", "--no-index"];
    workspace::output(Command::new(python).args(arguments).arg(&wheel))?;
    Ok(bytes)
}

/// The bytes of a wheel, which are limited.
fn size(wheel: &Path) -> Result<u64, String> {
    let bytes = std::fs::metadata(wheel).map_err(|error| format!("{}: {error}", wheel.display()))?.len();
    if bytes > MAX_BYTES {
        return Err(format!("the wheel has {bytes} bytes; at most {MAX_BYTES} are accepted"));
    }
    Ok(bytes)
}

/// Builds the wheel of a release for a platform into a folder. Archives of equal contents are equal. It needs no newer system than
/// [`COMPATIBILITY`] states, which `maturin` checks.
pub(crate) fn release(target: &str, folder: &Path) -> TaskResult {
    named()?;
    workspace::install_target(target)?;
    let python = python::environment(&self::folder().join("release"), RELEASE_PACKAGES)?;
    let options = ["--zig", "--target", target, "--compatibility", COMPATIBILITY];
    let wheels = self::folder().join("released");
    workspace::reset(&wheels)?;
    build(&python, "dist", &options, &wheels)?;
    let wheel = workspace::only_entry(&wheels)?;
    size(&wheel)?;
    let name = wheel.file_name().ok_or("the wheel has no name")?;
    workspace::copy_file(&wheel, &folder.join(name))
}

/// Builds the source distribution into a folder, without the crates of others.
pub(crate) fn sdist(folder: &Path) -> TaskResult {
    named()?;
    maturin(&environment()?, &["sdist"], folder)
}

/// Builds the wheel in a profile of the workspace.
fn build(python: &Path, profile: &str, options: &[&str], folder: &Path) -> TaskResult {
    // The interpreter that is asked for its version is the one that the tests run with.
    let interpreter = python.to_str().ok_or("the path of the environment is not UTF-8")?;
    let common = ["build", "--locked", "--profile", profile, "--interpreter", interpreter];
    maturin(python, &[&common, options].concat(), folder)
}

fn maturin(python: &Path, args: &[&str], folder: &Path) -> TaskResult {
    let (name, flags) = workspace::without_paths()?;
    let mut command = Command::new(python);
    command.env(name, flags).args(["-m", "maturin"]).args(args).arg("--out").arg(folder);
    command.env("PYO3_PYTHON", python).env("SOURCE_DATE_EPOCH", RELEASE_TIME);
    // `--zig` runs the module of the first `python3`.
    let mut path = python.parent().unwrap_or(python).as_os_str().to_owned();
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    command.env("PATH", path);
    workspace::output(command.current_dir(workspace::root())).map(drop)
}

/// The name of the distribution is the same everywhere.
fn named() -> TaskResult {
    let path = workspace::root().join("pyproject.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let line = format!("name = \"{DISTRIBUTION}\"");
    if text.lines().any(|found| found == line) {
        Ok(())
    } else {
        Err(format!("{} does not have the line `{line}`", path.display()))
    }
}

/// Runs the interpreter in the root folder. The sources are not on its path: what is installed is tested.
fn python_run(python: &Path, args: &[&str]) -> TaskResult {
    println!("$ python {}", args.join(" "));
    let status = Command::new(python)
        .args(args)
        .current_dir(workspace::root())
        .env("PYTHONSAFEPATH", "1")
        .env("MYPY_CACHE_DIR", "/dev/null")
        .env_remove("PYTHONPATH")
        .status()
        .map_err(|error| format!("{}: {error}", python.display()))?;
    if status.success() { Ok(()) } else { Err(format!("`python {}` failed", args.join(" "))) }
}
