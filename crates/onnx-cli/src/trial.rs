//! Trials of models by a command: `COMMAND {}`, for `reduce` and `rewrite --bisect`.
//!
//! No shell runs. The exit status of the command is that of `git bisect run`: 0 means that the model is good, 125 that it
//! cannot be tried, 126 and 127 end the work, everything else that it is bad.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use onnx_codec::file::{PrivateFile, PrivateFolder};
use onnx_codec::{EncodeOptions, encode};
use onnx_ir::Model;
use onnx_pass::Trial;
use onnx_types::Interrupt;
use regex::bytes::Regex;

use crate::exit::Failure;
use crate::input::{Loaded, is_stream};
use crate::interrupt;
use crate::output::shown;

/// The exit status of a command that cannot try a model, and those of commands that cannot be run.
const UNDECIDED: i32 = 125;
const STOP: [i32; 2] = [126, 127];

/// How much of the output of a command is searched, in bytes.
const MAX_OUTPUT: u64 = 4 << 20;

/// How long to wait before the status of the command is read again, at most.
const TICK: Duration = Duration::from_millis(5);

/// A command that tries models.
pub(crate) struct Trials<'a> {
    command: &'a [OsString],
    model: PrivateFile,
    output: PrivateFile,
    /// Removed after the files in it.
    _folder: PrivateFolder,
    /// What the output of a command that fails has to contain.
    wanted: Option<Regex>,
    /// The time after which a command is ended, and has failed.
    time: Option<Duration>,
    /// What ends the work, and the command with it.
    interrupt: Interrupt,
    /// How the command failed last with output that does not match.
    missed: RefCell<Option<String>>,
}

impl<'a> Trials<'a> {
    /// Trials of variants of a model. Their file is in a private directory, or next to the model if it has external data, so that
    /// they find it.
    pub(crate) fn new(input: &Path, loaded: &Loaded, command: &'a [OsString]) -> Result<Self, Failure> {
        let temporaries = interrupt::temporaries();
        let folder = PrivateFolder::new(&std::env::temp_dir(), &temporaries)?;
        let model = match is_stream(input) || !has_external_data(&loaded.model) {
            true => folder.file(".onnx"),
            false => PrivateFile::beside(input.parent().unwrap_or(Path::new("")), ".onnx", &temporaries)?,
        };
        let output = folder.file(".log");
        let (wanted, time, missed) = (None, None, RefCell::default());
        let interrupt = loaded.execution.interrupt.clone();
        Ok(Self { command, model, output, _folder: folder, wanted, time, interrupt, missed })
    }

    /// Sets what the output of a command that fails has to contain.
    pub(crate) fn matching(mut self, wanted: Option<Regex>) -> Self {
        self.wanted = wanted;
        self
    }

    /// Sets the time after which a command is ended, and has failed.
    pub(crate) const fn within(mut self, time: Option<Duration>) -> Self {
        self.time = time;
        self
    }

    /// Runs the command on a model.
    pub(crate) fn run(&self, model: &Model) -> Result<Trial, Failure> {
        self.model.write(&encode(model, &EncodeOptions::default())?)?;
        let words = self.words();
        let (program, arguments) = words.split_first().ok_or_else(|| {
            Failure::new("a command is missing").help("write it behind `--`: `-- COMMAND {}`")
        })?;
        let name = shown(&program.to_string_lossy());
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        if self.wanted.is_some() {
            let failed = |error| Failure::not_writable(format_args!("the output of the command: {error}"));
            let file = self.output.create()?;
            command.stdout(file.try_clone().map_err(failed)?).stderr(file);
        } else {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        let cannot = |error: std::io::Error| {
            let help = match error.kind() {
                ErrorKind::NotFound => {
                    "is it installed, and is its directory in `PATH`? One in this directory is `./NAME`"
                }
                ErrorKind::PermissionDenied => {
                    "`chmod +x` makes a file a command; a script is an argument of its interpreter: `-- python NAME`"
                }
                _ => "try it on its own: `COMMAND model.onnx`",
            };
            Failure::new(format_args!("the command `{name}` cannot be run: {error}")).help(help)
        };
        let mut child = command.spawn().map_err(cannot)?;
        let status = wait(&mut child, self.time, &self.interrupt).map_err(cannot)?;
        self.interrupt.check()?;
        match status.map(|status| status.code()) {
            Some(Some(0)) => Ok(Trial::Good),
            Some(Some(UNDECIDED)) => Ok(Trial::Undecided),
            Some(Some(code)) if STOP.contains(&code) => Err(Failure::new(format_args!(
                "the command `{name}` ended with status {code}"
            ))
            .help("126 and 127 mean that the command cannot be run; 125 that it cannot try the model")),
            // A signal or the time ended it, or it failed.
            other => match self.unmatched_output()? {
                Some(output) => {
                    let end = other
                        .flatten()
                        .map_or_else(|| "no status".to_owned(), |code| format!("status {code}"));
                    self.missed.replace(Some(format!("it ended with {end}{}", last_line(&output))));
                    Ok(Trial::Good)
                }
                None => Ok(Trial::Bad),
            },
        }
    }

    /// The command with the file of the model in the place of `{}`, or at the end.
    fn words(&self) -> Vec<OsString> {
        let file = self.model.path();
        let mut has_place = false;
        let mut words: Vec<OsString> = Vec::new();
        for argument in self.command {
            let parts: Vec<&str> =
                argument.to_str().map(|text| text.split("{}").collect()).unwrap_or_default();
            if parts.len() < 2 {
                words.push(argument.clone());
                continue;
            }
            has_place = true;
            let mut word = OsString::new();
            for (index, part) in parts.iter().enumerate() {
                word.push(if index == 0 { OsStr::new("") } else { file.as_os_str() });
                word.push(part);
            }
            words.push(word);
        }
        if !has_place {
            words.push(file.into_os_string());
        }
        words
    }

    /// How the command failed last with output that does not match, as a clause.
    pub(crate) fn missed(&self) -> Option<String> {
        self.missed.borrow().clone()
    }

    /// The output of a command that did not fail in the way that is looked for; `None` if it did.
    fn unmatched_output(&self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(wanted) = &self.wanted else { return Ok(None) };
        let mut output = Vec::new();
        let read =
            File::open(self.output.path()).and_then(|file| file.take(MAX_OUTPUT).read_to_end(&mut output));
        read.map_err(|error| Failure::not_readable(format_args!("the output of the command: {error}")))?;
        Ok((!wanted.is_match(&output)).then_some(output))
    }
}

/// The last line of an output that is not empty, as the end of a clause.
fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.map_or_else(
        || " and has no output".to_owned(),
        |line| format!("; the last line of its output is `{}`", shown(line)),
    )
}

/// Waits for a process; `None` if the time or an interrupt ended it.
pub(crate) fn wait(
    child: &mut Child,
    time: Option<Duration>,
    interrupt: &Interrupt,
) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if time.is_some_and(|time| start.elapsed() >= time) || interrupt.check().is_err() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = pause.saturating_mul(2).min(TICK);
    }
}

fn has_external_data(model: &Model) -> bool {
    let mut graphs = model.all_graphs();
    let is_external = |value| {
        let constant = model.value(value).initializer();
        constant.and_then(|constant| constant.dense()).is_some_and(onnx_types::tensor::Tensor::is_external)
    };
    let has_attribute = |node| {
        let attributes = model.node(node).attributes().iter();
        attributes.filter_map(|attribute| attribute.value().to_tensor()).any(|tensor| tensor.is_external())
    };
    graphs.any(|graph| model.initializers(graph).any(is_external) || model.nodes(graph).any(has_attribute))
}
