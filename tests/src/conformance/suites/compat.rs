//! The part of the suite `text` that asks the reference itself: it must read what is printed for it.
//!
//! * The reference accepts the text of a model, and takes it for the message that the parser here takes it for.
//! * If nothing was omitted or stored differently, that is the message that was printed, except for fields that hold
//!   their default.
//! * The same holds for the main graph, every function, and every node of the main graph, each as a standalone part.
//!
//! If the reference is not available, this part is skipped with a note.

use onnx_codec::Decoded;
use onnx_text::{
    ParseOptions, PrintError, PrintOptions, Printed, parse_function, parse_graph, parse_model, parse_node,
    print_function, print_graph, print_node,
};
use prost_reflect::{DynamicMessage, Value, prost::Message as _, text_format::FormatOptions};

use super::text::{Kind, TextSuite, inside, refused, write};
use crate::conformance::reference::{Answer, Reference};
use crate::conformance::report::Failure;
use crate::conformance::runner::Outcome;

/// Texts above this size, in bytes, are not given to the reference.
const LARGE: usize = 16 << 20;

/// The printed model and what its file holds.
pub(super) struct Case<'a> {
    pub(super) decoded: &'a Decoded,
    pub(super) bytes: &'a [u8],
    pub(super) printed: &'a Printed,
    /// Whether to check graph, functions and nodes as standalone parts as well.
    pub(super) parts: bool,
}

/// Lets the reference parse a model that was printed as the reference's syntax has it, and its parts.
pub(super) fn check(
    suite: &TextSuite,
    reference: &Reference,
    case: &Case<'_>,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    if let Some(reason) = reference.absent() {
        outcome.remarks.push(format!("the reference was not asked: {reason}"));
        return Ok(());
    }
    if case.printed.text.len() > LARGE {
        outcome.counts.push("compat too large".to_owned());
        return Ok(());
    }
    // A model with decoding diagnostics, or that text cannot represent, may not be a valid message for other readers.
    let is_read = case.decoded.findings.diagnostics().is_empty();
    let is_lossless = case.printed.left_out.diagnostics().is_empty();
    let original = match suite.message(Kind::Model, case.bytes) {
        Err(failure) if is_read && is_lossless => return Err(failure),
        original => original.ok().filter(|_| is_read),
    };
    let asked = Asked { suite, reference };
    let equal = asked.check(Kind::Model, case.printed, original.as_ref())?;
    outcome.counts.push(if equal { "compat equal" } else { "compat with losses" }.to_owned());
    if case.parts { asked.parts(case.decoded, original.as_ref(), outcome) } else { Ok(()) }
}

/// What is needed to ask about a text.
struct Asked<'a> {
    suite: &'a TextSuite,
    reference: &'a Reference,
}

impl Asked<'_> {
    /// Lets the reference parse one text. Returns `true` if it is known to represent the message that was printed.
    fn check(
        &self,
        kind: Kind,
        printed: &Printed,
        original: Option<&DynamicMessage>,
    ) -> Result<bool, Failure> {
        let name = |what: &str| match kind {
            Kind::Model => format!("compat-{what}"),
            Kind::Graph => format!("compat-graph-{what}"),
            Kind::Function => format!("compat-function-{what}"),
            Kind::Node => format!("compat-node-{what}"),
        };
        let text = &printed.text;
        let question = [&[kind as u8], text.as_bytes()].concat();
        let answer = self.reference.ask(&question).map_err(|error| Failure::new(name("crash"), error))?;
        let theirs = match answer {
            Answer::Message(bytes) => self.suite.message(kind, &bytes)?,
            Answer::Refused(complaint) => {
                let complaint = complaint.lines().take(4).collect::<Vec<_>>().join(" / ");
                return Err(Failure::new(name("refused-by-reference"), complaint));
            }
        };
        let options = ParseOptions::default();
        let parsed = match kind {
            Kind::Model => parse_model(text, &options),
            Kind::Graph => parse_graph(text, &options),
            Kind::Function => parse_function(text, &options).map(|(model, _)| model),
            Kind::Node => parse_node(text, &options).map(|(model, _)| model),
        };
        let parsed = parsed.map_err(|error| refused(&name("text"), &error, text))?;
        let ours = self.suite.part(kind, &write(&parsed)?)?;
        same(name("parsed-otherwise"), &ours, &theirs)?;
        let Some(original) = original.filter(|_| printed.left_out.diagnostics().is_empty()) else {
            return Ok(false);
        };
        same(name("differs"), original, &theirs)?;
        Ok(true)
    }

    /// Asks about the main graph, the functions, and the nodes of the main graph.
    fn parts(
        &self,
        decoded: &Decoded,
        original: Option<&DynamicMessage>,
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        let model = &decoded.model;
        let options = PrintOptions::compat();
        let printed = |printed: Result<Printed, PrintError>| {
            printed.map_err(|error| Failure::new("not-printed", error.to_string()))
        };
        let graph = model.main_graph();
        let message = original.and_then(|original| inside(original, "graph"));
        self.check(Kind::Graph, &printed(print_graph(model, graph, &options))?, message.as_ref())?;
        outcome.counts.push("compat graphs".to_owned());
        let nodes = message.as_ref().map(|message| messages(message, "node")).unwrap_or_default();
        for (index, node) in model.nodes(graph).enumerate() {
            self.check(Kind::Node, &printed(print_node(model, node, &options))?, nodes.get(index))?;
            outcome.counts.push("compat nodes".to_owned());
        }
        let functions = original.map(|original| messages(original, "functions")).unwrap_or_default();
        for (index, &function) in model.functions().iter().enumerate() {
            let printed = printed(print_function(model, function, &options))?;
            self.check(Kind::Function, &printed, functions.get(index))?;
            outcome.counts.push("compat functions".to_owned());
        }
        Ok(())
    }
}

/// The messages in a repeated field.
fn messages(message: &DynamicMessage, field: &str) -> Vec<DynamicMessage> {
    match message.get_field_by_name(field).as_deref() {
        Some(Value::List(list)) => list.iter().filter_map(|item| item.as_message().cloned()).collect(),
        _ => Vec::new(),
    }
}

fn same(kind: String, ours: &DynamicMessage, theirs: &DynamicMessage) -> Result<(), Failure> {
    if ours.encode_to_vec() == theirs.encode_to_vec() {
        return Ok(());
    }
    let options = FormatOptions::new().skip_unknown_fields(false);
    let text = |message: &DynamicMessage| message.to_text_format_with_options(&options);
    let (ours, theirs) = (text(ours), text(theirs));
    let common = ours.bytes().zip(theirs.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let from = text.floor_char_boundary(common.saturating_sub(60));
        let to = text.floor_char_boundary(common.saturating_add(120));
        text.get(from..to).unwrap_or_default().to_owned()
    };
    Err(Failure::new(kind, format!("\n  ours …{}\ntheirs …{}", around(&ours), around(&theirs))))
}
