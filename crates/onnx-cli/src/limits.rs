//! `onnx limits`: what a model may cost, and how much of it.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use clap::Args;
use onnx_types::{Execution, Interrupt, LIMITS, Limits};
use serde_json::json;

use crate::args::LimitsArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{DIM, KEY, Out, paint};

/// How much work and memory a model may cost.
#[derive(Debug, Default, Args)]
pub(crate) struct LimitArgs {
    /// Change a limit, once for each, as in `nodes=20000000`; `onnx limits` lists them.
    #[arg(long, value_name = "NAME=N", value_parser = bound, display_order = 92)]
    set_limit: Vec<(String, u64)>,
    /// End the command after this time, as in `90s` or `5m`; it then writes no output.
    #[arg(long, value_name = "TIME", value_parser = timeout, display_order = 93)]
    timeout: Option<Interrupt>,
}

impl LimitArgs {
    /// The limits and the timeout, for all work of the command.
    pub(crate) fn execution(&self) -> Execution {
        let execution = Execution::from(self.limits());
        execution.with_interrupt(self.timeout.clone().unwrap_or(Interrupt::NEVER))
    }

    /// The limits only.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for (name, value) in &self.set_limit {
            // The parser of the arguments knows the names.
            let _ = limits.set(name, *value);
        }
        limits
    }
}

/// An interrupt after a time, which begins when the arguments are read.
fn timeout(text: &str) -> Result<Interrupt, String> {
    let units = [("ms", 1.0e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let seconds = units.iter().find_map(|(unit, length)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(number * length)
    });
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let time = time.ok_or("write a number with its unit: `ms`, `s`, `m` or `h`")?;
    let start = Instant::now();
    Ok(Interrupt::when(move || start.elapsed() >= time))
}

/// A limit and its value on the command line.
fn bound(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=N")?;
    if !LIMITS.iter().any(|limit| limit.name == name) {
        return Err("there is no such limit; `onnx limits` lists them".to_owned());
    }
    let value = value.parse().map_err(|_| format!("{name} takes a whole number from 0 to {}", u64::MAX))?;
    Ok((name.to_owned(), value))
}

pub(crate) fn run(_: &LimitsArgs, out: &mut Out) -> Result<Outcome, Failure> {
    if out.is_for_people() {
        out.text(&table()?)?;
    } else {
        out.result_kind("limits/1", "limits");
        out.items(items());
    }
    Ok(Outcome::Fine)
}

fn table() -> Result<String, Failure> {
    let widest = LIMITS.iter().map(|limit| limit.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for limit in LIMITS {
        let default = limit.default_value().map_or_else(|| "none".to_owned(), |value| value.to_string());
        let name = format!("{:<widest$}", limit.name);
        let guards = paint(DIM, limit.guards);
        writeln!(text, "{}  {default:>11} {:<9}  {guards}", paint(KEY, name), limit.unit)?;
    }
    Ok(text)
}

fn items() -> Vec<String> {
    let limit = |limit: &onnx_types::Limit| {
        json!({
            "name": limit.name,
            "default": limit.default_value(),
            "unit": limit.unit,
            "guards": limit.guards,
        })
        .to_string()
    };
    LIMITS.iter().map(limit).collect()
}
