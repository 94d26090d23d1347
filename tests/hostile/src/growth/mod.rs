//! Commands on models that grow: the steps of each command grow at most a little faster than the model.
//!
//! `growth/commands.txt` has the commands, the module `axes` the models. Every command runs on every axis at two sizes. The exponent is
//! that of the steps beyond those on a model of almost nothing; steps are executed branches, which do not depend on the load
//! of the machine. `growth/known.txt` lists pairs that grow faster, each with the reason; a pair that no longer does must not be
//! listed.

mod axes;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use axes::AXES;

/// The commands: names and arguments.
const COMMANDS: &str = include_str!("../../growth/commands.txt");

/// Pairs of a command and an axis that grow faster than allowed, with the reason.
const KNOWN: &str = include_str!("../../growth/known.txt");

/// The sizes of the models.
const SIZES: [usize; 3] = [1, 800, 3200];

/// The greatest exponent.
const EXPONENT: f64 = 1.25;

/// Steps below which the growth is that of small constants.
const FEW: f64 = 3_000_000.0;

/// The greatest growth of memory from the smaller to the larger size, in KiB, beyond the growth in proportion.
const MEMORY: f64 = 32_768.0;

/// What a command took.
#[derive(Clone, Copy, Debug)]
struct Taken {
    steps: f64,
    /// Peak memory in KiB.
    memory: f64,
}

/// Runs the commands whose name and axis contain `only`, tells each row, and returns the number of pairs that are out of
/// bounds.
///
/// # Errors
///
/// Returns an error if the program does not start, or reports no steps.
pub fn run(program: &Path, only: &str, mut tell: impl FnMut(&str)) -> io::Result<usize> {
    let directory = std::env::temp_dir().join(format!("onnx-growth-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let result = pairs(program, only, &directory, &mut tell);
    fs::remove_dir_all(&directory)?;
    result
}

fn pairs(program: &Path, only: &str, directory: &Path, tell: &mut impl FnMut(&str)) -> io::Result<usize> {
    let mut failed = 0;
    for (axis, make) in AXES {
        let wanted: Vec<(&str, &str)> =
            commands().filter(|(name, _)| format!("growth/{name}/{axis}").contains(only)).collect();
        if wanted.is_empty() {
            continue;
        }
        let mut models = Vec::new();
        for size in SIZES {
            let text = directory.join(format!("{size}.onnxtxt"));
            fs::write(&text, make(size))?;
            let binary = directory.join(format!("{size}.onnx"));
            measure(program, directory, &format!("convert {} -o {}", text.display(), binary.display()))?;
            models.push((text, binary));
        }
        for (name, arguments) in wanted {
            let taken: Vec<Taken> = models
                .iter()
                .map(|model| measure(program, directory, &filled(arguments, model, directory)))
                .collect::<Result<_, _>>()?;
            let (row, is_wrong) = judged(name, axis, &taken);
            failed += usize::from(is_wrong);
            tell(&row);
        }
    }
    Ok(failed)
}

/// The names and arguments of the commands.
fn commands() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = COMMANDS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(' ')).map(|(name, arguments)| (name, arguments.trim()))
}

fn filled(arguments: &str, (text, binary): &(PathBuf, PathBuf), directory: &Path) -> String {
    let parts = [("{t}", text.clone()), ("{m}", binary.clone()), ("{o}", directory.join("o.onnx"))];
    let parts = parts.into_iter().chain([("{d}", directory.to_owned())]);
    parts.fold(arguments.to_owned(), |text, (name, path)| text.replace(name, &path.display().to_string()))
}

/// Runs the program, which writes its steps and its peak memory into a file.
fn measure(program: &Path, directory: &Path, arguments: &str) -> io::Result<Taken> {
    let report = directory.join("steps");
    // Results of the command before.
    for old in ["o.onnx", "o.json", "j.json", "w.safetensors"] {
        let _ = fs::remove_file(directory.join(old));
    }
    let _ = fs::remove_dir_all(directory.join("parts"));
    Command::new(program)
        .args(arguments.split(' '))
        .env("ONNX_STEPS", &report)
        .env("RAYON_NUM_THREADS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let text = fs::read_to_string(&report)?;
    fs::remove_file(&report)?;
    let mut numbers = text.split_whitespace().filter_map(|number| number.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(steps), Some(memory)) => Ok(Taken { steps, memory }),
        _ => Err(io::Error::other(format!("`{arguments}` reports no steps"))),
    }
}

/// The row of a pair, and whether it is out of bounds.
fn judged(name: &str, axis: &str, taken: &[Taken]) -> (String, bool) {
    let [base, small, large] = *taken else { return (format!("growth/{name}/{axis}: not measured"), true) };
    let factor = SIZES[2] as f64 / SIZES[1] as f64;
    let beyond = |taken: Taken| (taken.steps - base.steps).max(1.0);
    // Below, the steps of the smaller model say nothing about growth.
    let least = FEW / factor;
    let exponent = (beyond(large) / beyond(small).max(least)).ln() / factor.ln();
    let allowed = base.memory + (small.memory - base.memory).max(0.0) * factor + MEMORY;
    let grows = beyond(large) > FEW && exponent > EXPONENT;
    let is_large = large.memory > allowed;
    let is_known = KNOWN.lines().any(|line| line.split(" # ").next() == Some(&*format!("{name}/{axis}")));
    let mut row = format!(
        "{:<48} {:>12} {:>12} steps, exponent {exponent:.2}, {:.0} KiB",
        format!("growth/{name}/{axis}"),
        small.steps,
        large.steps,
        large.memory
    );
    let is_wrong = (grows || is_large) != is_known;
    let note = match (grows, is_large, is_known) {
        (true, _, false) => "  OUT OF BOUNDS: the steps grow too fast",
        (_, true, false) => "  OUT OF BOUNDS: the memory grows too fast",
        (false, false, true) => "  OUT OF BOUNDS: within them, but listed in known.txt",
        (_, _, true) => "  (listed)",
        (false, false, false) => "",
    };
    let _ = write!(row, "{note}");
    (row, is_wrong)
}

#[cfg(test)]
mod tests {
    use onnx_text::{ParseOptions, parse_model};

    use super::*;

    #[test]
    fn models_are_parsed_and_grow() {
        for (axis, make) in AXES {
            let sizes = [1, 48, 96].map(|size| {
                let text = make(size);
                let model = parse_model(&text, &ParseOptions::default());
                assert!(model.is_ok(), "{axis}: {:?}\n{text}", model.err());
                text.len()
            });
            assert!(sizes[0] < sizes[1] && sizes[1] < sizes[2], "{axis}: {sizes:?}");
        }
    }

    #[test]
    fn growth_is_judged() {
        let taken = |steps: [f64; 3], memory: [f64; 3]| {
            [0, 1, 2].map(|index| Taken { steps: steps[index], memory: memory[index] })
        };
        let linear = [1e6, 3e6, 9e6];
        let is_wrong = |steps, memory| judged("no-command", "no-axis", &taken(steps, memory)).1;
        assert!(!is_wrong(linear, [1e4, 2e4, 5e4]));
        assert!(is_wrong([1e6, 3e6, 33e6], [1e4, 2e4, 5e4]));
        assert!(is_wrong(linear, [1e4, 2e4, 16e4]));
        // Growth of a few steps is that of constants.
        assert!(!is_wrong([1e6, 1.1e6, 2.7e6], [1e4, 2e4, 5e4]));
        assert!(!is_wrong([1e6, 1.0e6, 5.0e6], [1e4, 2e4, 5e4]));
    }

    #[test]
    fn known_pairs_exist_and_have_reasons() {
        for line in KNOWN.lines() {
            let (pair, reason) = line.split_once(" # ").unwrap_or_else(|| panic!("no reason: {line}"));
            let (command, axis) = pair.split_once('/').unwrap();
            assert!(commands().any(|(name, _)| name == command) && !reason.is_empty(), "{line}");
            assert!(AXES.iter().any(|(name, _)| *name == axis), "{line}");
        }
    }
}
