//! `onnx ops check`: everything that is wrong with operator set documents.

use std::fmt::Write as _;

use onnx_check::{CheckOptions, check_operator_set};
use onnx_codec::operator_set::declared;
use onnx_diag::render::text;
use onnx_diag::{Clean, Sink};
use onnx_schema::Registry;

use super::args::CheckOpsArgs;
use super::documents::{self, Read};
use crate::exit::{Failure, Outcome};
use crate::input::display_name;
use crate::output::{Colours, GOOD, Out, paint};
use crate::rules;

pub(super) fn check(args: &CheckOpsArgs, registry: &Registry, out: &mut Out) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::Fine;
    for file in &args.files {
        let name = display_name(file);
        let read = match documents::load(file) {
            Ok(read) => read,
            Err(failure) => {
                out.refused(Some(&name), &failure)?;
                outcome = outcome.max(failure.outcome());
                continue;
            }
        };
        let (sink, contradiction) = findings(read, registry);
        if sink.has_errors() {
            outcome = outcome.max(Outcome::Findings);
        }
        let mut shown = String::new();
        if sink.is_empty() {
            writeln!(shown, "{}: {}", Clean(&name), paint(GOOD, "no findings"))?;
        } else {
            let options = text::Options::new(&name).with_style(&Colours);
            text::render(&mut shown, &sink, &options)?;
        }
        if out.is_for_people() {
            out.text(&shown)?;
        }
        let has_errors = sink.has_errors();
        out.input_of(&name, Some("onnxops"), None, sink, Vec::new())?;
        // What no rule found, such as signatures that are those of another set.
        if let Some(failure) = contradiction.filter(|_| !has_errors) {
            out.refused(Some(&name), &failure.about(&name))?;
            outcome = outcome.max(Outcome::CouldNotRun);
        }
    }
    Ok(outcome)
}

/// What is wrong with a document, and why its operators cannot be used, if they cannot.
fn findings(read: Read, registry: &Registry) -> (Sink, Option<Failure>) {
    let Read { document, signatures, findings: mut sink } = read;
    let set = declared(&document, signatures.as_ref()).map_err(Failure::new);
    // Bodies may call the other operators of their document.
    let with_own = set.and_then(|set| registry.with(&set).map_err(Failure::new));
    let (registry, contradiction) = match with_own {
        Ok(registry) => (registry, None),
        Err(failure) => (registry.clone(), Some(failure)),
    };
    if rules::verify(&document.functions, &mut sink) {
        let options = CheckOptions::default().with_registry(registry);
        sink.merge(check_operator_set(&document, &options));
    }
    (sink, contradiction)
}
