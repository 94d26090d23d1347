//! What the programs share that read a model with another Rust library: `NAME PATH ROUNDS WAY` prints samples of one way to
//! read it as a JSON object, as `measure` does for this workspace.
#![forbid(unsafe_code)]

// The clock and the output are those of `measure`: the file is the same.
#[path = "../../src/samples.rs"]
pub mod samples;

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use samples::Samples;

/// The model to read.
pub struct Job<'a> {
    path: &'a Path,
    rounds: usize,
    samples: Samples,
}

impl Job<'_> {
    /// Measures reading from bytes in memory. Those that take them for themselves get a copy, which is made before.
    ///
    /// # Errors
    ///
    /// What the library says when it does not take the model.
    pub fn bytes<T, E: Display>(
        &mut self,
        mut read: impl FnMut(Vec<u8>) -> Result<T, E>,
    ) -> Result<(), String> {
        let bytes = std::fs::read(self.path).map_err(|error| error.to_string())?;
        self.rounds(|samples, name| {
            let copy = bytes.clone();
            samples.time(name, || read(copy)).map(drop).map_err(|error| error.to_string())
        })
    }

    /// Measures reading from a file.
    ///
    /// # Errors
    ///
    /// What the library says when it does not take the model.
    pub fn file<T, E: Display>(&mut self, mut read: impl FnMut(&Path) -> Result<T, E>) -> Result<(), String> {
        let path = self.path;
        self.rounds(|samples, name| {
            samples.time(name, || read(path)).map(drop).map_err(|error| error.to_string())
        })
    }

    /// As for this workspace, the first round pays for memory that the process does not have yet, and is apart.
    fn rounds(
        &mut self,
        mut round: impl FnMut(&mut Samples, &str) -> Result<(), String>,
    ) -> Result<(), String> {
        round(&mut self.samples, "first-read")?;
        (0..self.rounds).try_for_each(|_| round(&mut self.samples, "read"))
    }
}

/// Reads the arguments, measures the way that they name, and prints the samples, or the reason why there are none.
pub fn main(measure: impl FnOnce(&str, &mut Job<'_>) -> Result<(), String>) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.as_slice() {
        [path, rounds, way] => {
            rounds.parse().map_err(|error| format!("`{rounds}`: {error}")).and_then(|rounds| {
                let mut job = Job { path: Path::new(path), rounds, samples: Samples::default() };
                measure(way, &mut job).map(|()| job.samples.to_json())
            })
        }
        _ => Err("the arguments are PATH ROUNDS WAY".to_owned()),
    };
    match result {
        Ok(printed) => {
            println!("{printed}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The answer to a way that a program does not know.
///
/// # Errors
///
/// Always.
pub fn unknown(way: &str) -> Result<(), String> {
    Err(format!("there is no way `{way}`"))
}
