//! `onnx infer --guards`: the conditions under which the inferred shapes hold.

use std::fmt;

use onnx_ir::{Model, ValueId};
use onnx_shape_infer::{FactScope, Guard, Inference, Strength};
use serde_json::json;

use crate::args::GuardFormat;
use crate::exit::Failure;
use crate::json::JsonText;
use crate::output::{DIM, paint, shown};
use crate::size::plural;

/// Writes a line of text.
type Write<'a> = dyn FnMut(fmt::Arguments<'_>) -> Result<(), Failure> + 'a;

/// Writes the list of guards, and at most `limit` of them as text.
pub(super) fn list(
    model: &Model,
    inference: &Inference,
    format: GuardFormat,
    limit: usize,
    write: &mut Write<'_>,
) -> Result<(), Failure> {
    if format == GuardFormat::Json {
        let guards: Vec<_> = inference.guards(model).map(|guard| object(&guard)).collect();
        return write(format_args!("{}", JsonText::of(&json!({ "guards": guards }))?.as_str()));
    }
    let mut guards = inference.guards(model);
    let mut count = 0_u64;
    for guard in guards.by_ref().take(limit) {
        count += 1;
        write(format_args!("{}", line(&guard)))?;
    }
    match guards.count() {
        // A report without conditions needs no line about them.
        0 if count == 0 && limit < usize::MAX => Ok(()),
        0 => write(format_args!("{}", plural(count, "guard"))),
        more => write(format_args!("and {}: `--guards` lists all", plural(more as u64, "more guard"))),
    }
}

/// Writes the guards that the shape of a value can depend on, for `--why`.
pub(super) fn of_value(
    model: &Model,
    inference: &Inference,
    value: ValueId,
    write: &mut Write<'_>,
) -> Result<(), Failure> {
    let guards = inference.guards_of(model, value);
    if !guards.is_empty() {
        write(format_args!("  what is known holds if:"))?;
    }
    guards.iter().try_for_each(|guard| write(format_args!("    {}", line(guard))))
}

fn line(guard: &Guard) -> String {
    let line = guard.line();
    match line.split_once("  # ") {
        Some((condition, comment)) => {
            format!("{}  {}", shown(condition), paint(DIM, format_args!("# {}", shown(comment))))
        }
        None => shown(&line),
    }
}

/// A guard as JSON.
pub(super) fn object(guard: &Guard) -> serde_json::Value {
    json!({
        "condition": guard.condition,
        "strength": match guard.fact.strength {
            Strength::Proved => "proved",
            Strength::Assumed => "assumed",
        },
        "scope": match guard.fact.scope {
            FactScope::Model => "model",
            FactScope::Graph(_) => "graph",
        },
        "graph": guard.graph,
        "op": guard.op,
        "node": guard.node,
        "reason": guard.reason,
    })
}
