//! The rule `value-info-without-value`: an entry of `value_info` describes no value.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::{Def, Model};

use super::value_info_twice::drop_entries;
use crate::cx::GraphCx;

pub(crate) static RULE: Rule = Rule::new(
    2210,
    "value-info-without-value",
    Severity::Warning,
    "Entries of `value_info` describe values that do not exist.",
)
.with_spec("IR: Graphs")
.with_explain(include_str!("value_info_without_value.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    let (id, model) = (cx.id, cx.model);
    // A name that is used and not defined is reported where it is used.
    let stale = || {
        let values = model.value_info(id).map(|entry| entry.value());
        values.filter(|&value| {
            matches!(model.value(value).def(), Def::Unresolved(_)) && !model.value(value).is_used()
        })
    };
    let Some(first) = stale().next() else { return };
    // One diagnostic per graph: a tool that removed nodes without their `value_info` usually left many entries.
    cx.report(&RULE, |places| {
        let name = places.str(model.value(first).name());
        let message = if name.is_empty() {
            "the entry has no name".to_owned()
        } else {
            format!("nothing defines {}, which is described here", Quoted(name))
        };
        let found = Diagnostic::new(&RULE, places.value_info(id, first), message).help("remove the entry");
        match stale().count().saturating_sub(1) {
            0 => found,
            more => found.note(format!("{more} more entries of this graph describe no value")),
        }
    });
}

/// Drops entries that describe no value.
pub(crate) fn fix(model: &mut Model) -> Vec<String> {
    let mut stale = Vec::new();
    let done = drop_entries(model, "describes no value", |model, _, entry| {
        let record = model.value(entry.value());
        let is_stale = matches!(record.def(), Def::Unresolved(_)) && !record.is_used();
        if is_stale {
            stale.push(entry.value());
        }
        is_stale
    });
    for value in stale {
        // The value is kept if something outside the data flow still refers to it.
        let _ = model.erase_value(value);
    }
    done
}
