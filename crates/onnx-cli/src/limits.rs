//! Limits on what a model may cost: `--limit`, `--timeout`, and `onnx explain --list limits`.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use clap::Args;
use onnx_types::{Execution, Interrupt, LIMITS, Limit, Limits};
use serde_json::{Value, json};

use crate::args::{COMMON, Command, DebugArgs, DebugCommand};
use crate::exit::Failure;
use crate::output::{DIM, KEY, paint};
use crate::{memory, size};

/// Limits that differ from their defaults.
#[derive(Debug, Default, Args)]
pub(crate) struct LimitChanges {
    /// Change a limit, once for each, as in `nodes=20M` or `input_bytes=4GiB`; `onnx explain --list limits` lists them.
    #[arg(long = "limit", value_name = "NAME=N", value_parser = bound, display_order = 92, help_heading = COMMON)]
    changed: Vec<(String, u64)>,
}

/// How much work and memory a model may cost.
#[derive(Debug, Default, Args)]
pub(crate) struct LimitArgs {
    #[command(flatten)]
    changes: LimitChanges,
    /// End the command after this time, as in `90s` or `5m`; it then writes no output.
    #[arg(long, value_name = "TIME", value_parser = timeout, display_order = 93, help_heading = COMMON)]
    timeout: Option<Interrupt>,
}

impl LimitArgs {
    /// The limits and the timeout, for all work of the command.
    pub(crate) fn execution(&self) -> Execution {
        Execution::from(self.limits()).with_interrupt(self.interrupt())
    }

    /// The timeout, or the interrupt of work without one.
    pub(crate) fn interrupt(&self) -> Interrupt {
        self.timeout.clone().unwrap_or(Interrupt::NEVER)
    }

    /// The timeout.
    pub(crate) const fn timeout(&self) -> Option<&Interrupt> {
        self.timeout.as_ref()
    }

    /// The limits only.
    pub(crate) fn limits(&self) -> Limits {
        self.changes.limits()
    }
}

impl Command {
    /// The limits and the timeout.
    pub(crate) fn bounds(&self) -> Option<&LimitArgs> {
        Some(match self {
            Self::Check(args) => &args.input.bounds,
            Self::Info(args) => &args.input.bounds,
            Self::Cost(args) => &args.input.bounds,
            Self::Infer(args) => &args.input.bounds,
            Self::Run(args) => &args.input.bounds,
            Self::Compare(args) => &args.input.bounds,
            Self::Diff(args) => &args.input.bounds,
            Self::Hash(args) => &args.input.bounds,
            Self::Convert(args) => &args.input.bounds,
            Self::Quantize(args) => &args.input.bounds,
            Self::Rewrite(args) => &args.edits.input.bounds,
            Self::Simplify(args) => &args.edits.input.bounds,
            Self::Edit(args) => &args.input.bounds,
            Self::Extract(args) => &args.input.bounds,
            Self::Merge(args) => &args.input.bounds,
            Self::Inline(args) => &args.input.bounds,
            Self::Outline(args) => &args.input.bounds,
            Self::Print(args) => &args.input.bounds,
            Self::Draw(args) => &args.input.bounds,
            Self::Find(args) => &args.input.bounds,
            Self::Reduce(args) => &args.input.bounds,
            Self::View(args) => &args.input.bounds,
            Self::Weights(args) => args.bounds(),
            Self::Fmt(args) => &args.bounds,
            Self::Debug(DebugArgs { command: DebugCommand::Verify(args) }) => &args.input.bounds,
            Self::Scan(_)
            | Self::Explain(_)
            | Self::Ops(_)
            | Self::Smith(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::SelfTest(_) => return None,
        })
    }
}

impl LimitChanges {
    /// The names and values.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (&str, u64)> {
        self.changed.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// All limits.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits { run_steps: RUN_STEPS, ..Limits::default() };
        if let Some(bytes) = memory::usable() {
            limits.run_bytes = bytes;
        }
        for (name, value) in &self.changed {
            // The parser of the arguments knows the names.
            let _ = limits.set(name, *value);
        }
        limits
    }
}

/// The work of a run in the command, unless the user sets it: some seconds of loops, or of operations on elements.
pub(crate) const RUN_STEPS: u64 = 1 << 32;

/// How a limit is raised.
pub(crate) fn advice(name: &str) -> String {
    // Runs have a limit that depends on the weights, so its default says little.
    let value = if name == "run_steps" { "10T" } else { "N" };
    format!("`--limit {name}={value}` raises the limit; `onnx explain {name}` describes it")
}

/// The context of runs of a model with this number of bytes of weights, which allow more work: models that take long have weights.
/// A limit that the user sets is kept.
pub(crate) fn for_weights(execution: &Execution, bytes: u64) -> Execution {
    /// An element of a weight is used for a thousand others, as in a convolution of a large image.
    const STEPS_PER_BYTE: u64 = 4096;
    /// Minutes of products of matrices.
    const MOST: u64 = 1 << 40;
    let mut limits = execution.limits;
    if limits.run_steps == RUN_STEPS {
        limits.run_steps = RUN_STEPS.saturating_add(bytes.saturating_mul(STEPS_PER_BYTE)).min(MOST);
    }
    execution.clone().with_limits(limits)
}

/// An interrupt after a time, which begins when the arguments are read.
fn timeout(text: &str) -> Result<Interrupt, String> {
    let time = duration(text)?;
    let start = Instant::now();
    Ok(Interrupt::when(move || start.elapsed() >= time))
}

/// A time with its unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1.0e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let seconds = units.iter().find_map(|(unit, length)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(number * length)
    });
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| match seconds {
        Some(seconds) if seconds > 0.0 => "the time is too long".to_owned(),
        _ => "write a number with its unit: `ms`, `s`, `m` or `h`".to_owned(),
    })
}

/// A limit and its value on the command line.
fn bound(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=N")?;
    if !LIMITS.iter().any(|limit| limit.name == name) {
        let near = onnx_schema::nearest(name, LIMITS.iter().map(|limit| limit.name));
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        return Err(format!("{near}`onnx explain --list limits` lists the limits"));
    }
    let value = size::number(value).ok_or_else(|| {
        format!(
            "{name} takes a whole number from 0 to {}, also with `k`, `M`, `G`, `T`, `KiB`, `MiB`, `GiB` or `TiB`",
            u64::MAX
        )
    })?;
    Ok((name.to_owned(), value))
}

/// The limits with their defaults, for people.
pub(crate) fn table() -> Result<String, Failure> {
    let widest = LIMITS.iter().map(|limit| limit.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    LIMITS.iter().try_for_each(|limit| row(&mut text, limit, widest))?;
    Ok(text)
}

/// One limit, for people.
pub(crate) fn page(limit: &Limit) -> Result<String, Failure> {
    let mut text = String::new();
    row(&mut text, limit, 0)?;
    writeln!(text, "\nto change it: --limit {}=N", limit.name)?;
    Ok(text)
}

fn row(text: &mut String, limit: &Limit, widest: usize) -> Result<(), Failure> {
    let default = limit.default_value().map_or_else(|| "none".to_owned(), |value| value.to_string());
    let name = format!("{:<widest$}", limit.name);
    let guards = paint(DIM, limit.guards);
    Ok(writeln!(text, "{}  {default:>11} {:<9}  {guards}", paint(KEY, name), limit.unit)?)
}

/// A limit, as an item of `limits/1`.
pub(crate) fn item(limit: &Limit) -> Value {
    json!({
        "name": limit.name,
        "default": limit.default_value(),
        "unit": limit.unit,
        "guards": limit.guards,
    })
}
