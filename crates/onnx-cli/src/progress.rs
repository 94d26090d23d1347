//! A progress bar for work that takes longer than a second.
//!
//! It is drawn on standard error, only where that is a terminal, and not before a second has passed: most models are
//! done by then, and a bar that flashes up is worse than none.

use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use onnx_diag::Clean;

/// How long to wait before anything is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the bar moves.
const TICK: Duration = Duration::from_millis(120);

/// Work on a number of files. The bar goes away when this is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Dropping it keeps a bar that is not shown yet from being shown.
    _wanted: Option<Sender<()>>,
}

impl Progress {
    pub(crate) fn start(verb: &'static str, files: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(files as u64), ProgressDrawTarget::hidden());
        if !io::stderr().is_terminal() {
            return Self { bar, _wanted: None };
        }
        set_template(
            &bar,
            if files > 1 {
                "{spinner} {prefix} {pos}/{len} [{bar:24}] {elapsed} {wide_msg}"
            } else {
                "{spinner} {prefix} {elapsed} {wide_msg}"
            },
        );
        bar.set_prefix(verb);
        let (sender, receiver) = mpsc::channel();
        let late = bar.clone();
        // Without a thread, the bar is not shown.
        let _ = thread::Builder::new().spawn(move || {
            if receiver.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                late.set_draw_target(ProgressDrawTarget::stderr());
                late.enable_steady_tick(TICK);
            }
        });
        Self { bar, _wanted: Some(sender) }
    }

    /// Says which file is being worked on.
    pub(crate) fn begin(&self, file: &str) {
        self.bar.set_message(Clean(file).to_string());
    }

    /// Starts to count other parts of the work than files: `nodes`.
    pub(crate) fn count(&self, parts: u64, noun: &str) {
        self.bar.set_length(parts);
        self.bar.set_position(0);
        set_template(
            &self.bar,
            &format!("{{spinner}} {{prefix}} {{pos}}/{{len}} {noun} [{{bar:24}}] {{elapsed}} {{wide_msg}}"),
        );
    }

    /// Counts a file, or another part of the work, as done.
    pub(crate) fn end(&self) {
        self.bar.inc(1);
    }

    /// What takes the bar away from another thread, when the process ends.
    pub(crate) fn ending(&self) -> impl Fn() + Send + 'static {
        let bar = self.bar.clone();
        move || bar.finish_and_clear()
    }

    /// Takes the bar away while something is written to the terminal.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        // Otherwise each caller would have a copy of the code around it.
        let write: Box<dyn FnOnce() -> T + '_> = Box::new(write);
        self.bar.suspend(write)
    }
}

fn set_template(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
