//! `onnx limits`: what a model may cost, and how much of it.

use std::fmt::Write as _;

use onnx_types::LIMITS;
use serde_json::{Value, json};

use crate::args::{LimitsArgs, LimitsFormat};
use crate::exit::{Failure, Outcome};
use crate::output::{DIM, KEY, Out, paint};

pub(crate) fn run(args: &LimitsArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let text = match args.format {
        LimitsFormat::Text => table()?,
        LimitsFormat::Json => json()?,
    };
    out.text(&text)?;
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

fn json() -> Result<String, Failure> {
    let limits: Vec<Value> = LIMITS
        .iter()
        .map(|limit| {
            json!({
                "name": limit.name,
                "default": limit.default_value(),
                "unit": limit.unit,
                "guards": limit.guards,
            })
        })
        .collect();
    let text = serde_json::to_string_pretty(&limits).map_err(Failure::new)?;
    Ok(format!("{text}\n"))
}
