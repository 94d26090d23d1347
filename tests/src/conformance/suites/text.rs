//! Text: printing and parsing lose nothing, and the parser agrees with the reference.
//!
//! For every message that can be read:
//!
//! * the full text of its model parses, and the parsed model is written as the same bytes;
//! * so does the standalone text of its main graph, of each of its nodes, and of each function;
//! * the text that is printed for people parses, unless tensors are elided, and so does the reference's subset.
//!
//! If the reference is available, it reads what is printed for it: see `compat`.
//!
//! For every recorded call of the reference's parser the verdict is the same, and so is the message, except for fields
//! that hold their default.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_codec::{DecodeOptions, Decoded, EncodeOptions, decode, encode};
use onnx_ir::Model;
use onnx_proto::FILE_DESCRIPTOR_SET;
use onnx_text::{
    ParseError, ParseOptions, PrintError, PrintOptions, Printed, parse_function, parse_graph, parse_model,
    parse_node, print_function, print_graph, print_model, print_node,
};
use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, Kind as FieldKind, ReflectMessage as _, Value};

use super::compat;
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::generate::{self, Choices, Style};
use crate::conformance::manifest::{self, Record};
use crate::conformance::reference::Reference;
use crate::conformance::report::{Failure, Report};
use crate::conformance::rewrite::Rewrite;
use crate::conformance::runner::{Outcome, Suite};
use crate::conformance::schema::{MessageId, Schema};

/// How many models are made for a run.
const GENERATED: u64 = 2000;

/// Files above this size, in bytes, are printed in full and for the reference only, and neither in every other form nor
/// piece by piece.
const LARGE: usize = 1 << 20;

/// What a text is; the numbers are those that `parse_text.py` knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Model = 0,
    Graph = 1,
    Function = 2,
    Node = 3,
}

/// What the reference's parser said to a text.
struct Recorded {
    call: String,
    message: Option<Bytes>,
}

/// The suite.
pub struct TextSuite {
    schema: Schema,
    model: MessageId,
    pool: DescriptorPool,
    recorded: Mutex<BTreeMap<String, Recorded>>,
    reference: Reference,
}

impl TextSuite {
    /// Prepares the suite.
    ///
    /// # Errors
    ///
    /// When the descriptors cannot be read.
    pub fn new() -> Result<Self, String> {
        let schema = Schema::load()?;
        let model = schema.find("ModelProto").ok_or("the descriptors have no `ModelProto`")?;
        let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).map_err(|error| error.to_string())?;
        Ok(Self {
            schema,
            model,
            pool,
            recorded: Mutex::default(),
            reference: Reference::new("parse_text.py"),
        })
    }

    /// Prints and parses the model in a file, in every format unless it is large. Returns it with its text for the
    /// reference, or `None` if the file is not a model that can be written.
    ///
    /// # Errors
    ///
    /// The first expectation that is not met.
    pub fn file(&self, bytes: &Bytes) -> Result<Option<(Decoded, Printed)>, Failure> {
        let Ok(decoded) = decode(bytes.clone(), &DecodeOptions::default()) else { return Ok(None) };
        let model = &decoded.model;
        let Ok(before) = encode(model, &EncodeOptions::default()) else { return Ok(None) };
        let before = before.into_bytes();
        let text = print(model, &PrintOptions::full())?.text;
        let parsed =
            parse_model(&text, &ParseOptions::default()).map_err(|error| refused("full", &error, &text))?;
        if let Err(faults) = parsed.verify() {
            return Err(Failure::new("verify", faults.first().map(ToString::to_string).unwrap_or_default()));
        }
        let after = write(&parsed)?;
        if before != after {
            let offset = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
            return Err(Failure::new("full-differs", format!("at byte {offset} of {}", before.len())));
        }
        if bytes.len() <= LARGE {
            let again = print(&parsed, &PrintOptions::full())?.text;
            if text != again {
                return Err(Failure::new("full-unstable", "printing the parsed text gives another text"));
            }
            parts(model)?;
            let options = PrintOptions::default().with_elide_above(u64::MAX);
            let text = print(model, &options)?.text;
            parse_model(&text, &ParseOptions::default()).map_err(|error| refused("plain", &error, &text))?;
        }
        drop((text, parsed));
        let printed = print(model, &PrintOptions::compat())?;
        parse_model(&printed.text, &ParseOptions::default())
            .map_err(|error| refused("compat", &error, &printed.text))?;
        Ok(Some((decoded, printed)))
    }

    /// Parses a text that was given to the reference's parser.
    fn parse(&self, recorded: &Recorded, text: &[u8], outcome: &mut Outcome) -> Result<(), Failure> {
        let options = ParseOptions::default();
        let parsed = match recorded.call.as_str() {
            "parser.parse_model" => parse_model(text, &options),
            "parser.parse_graph" => parse_graph(text, &options),
            "parser.parse_function" => parse_function(text, &options).map(|(model, _)| model),
            _ => parse_node(text, &options).map(|(model, _)| model),
        };
        let (model, message) = match (parsed, &recorded.message) {
            (Err(_), None) => {
                outcome.counts.push("refused by both".to_owned());
                return Ok(());
            }
            (Err(error), Some(_)) => {
                let rules: Vec<&str> =
                    error.findings().diagnostics().iter().map(|finding| finding.rule.slug).collect();
                return Err(Failure::new(
                    format!("refused:{}", rules.first().unwrap_or(&"")),
                    error.to_string(),
                ));
            }
            (Ok(_), None) => return Err(Failure::new("accepted", "the reference refuses the text")),
            (Ok(model), Some(message)) => (model, message),
        };
        let kind = match recorded.call.as_str() {
            "parser.parse_model" => Kind::Model,
            "parser.parse_graph" => Kind::Graph,
            "parser.parse_function" => Kind::Function,
            _ => Kind::Node,
        };
        let ours = self.part(kind, &write(&model)?)?;
        let theirs = self.message(kind, message)?;
        if ours.encode_to_vec() == theirs.encode_to_vec() {
            outcome.counts.push("same message".to_owned());
            return Ok(());
        }
        Err(Failure::new(
            "message",
            format!("\n  ours {:?}\ntheirs {:?}", ours.to_text_format(), theirs.to_text_format()),
        ))
    }

    /// A message without the fields that hold their default.
    pub(super) fn message(&self, kind: Kind, bytes: &[u8]) -> Result<DynamicMessage, Failure> {
        let name = match kind {
            Kind::Model => "onnx.ModelProto",
            Kind::Graph => "onnx.GraphProto",
            Kind::Function => "onnx.FunctionProto",
            Kind::Node => "onnx.NodeProto",
        };
        let kind = self.pool.get_message_by_name(name).ok_or_else(|| Failure::new("descriptor", name))?;
        let mut message = DynamicMessage::decode(kind, bytes)
            .map_err(|error| Failure::new("not-readable", error.to_string()))?;
        normalize(&mut message);
        Ok(message)
    }

    /// The message that a model was parsed for, without the fields that hold their default.
    pub(super) fn part(&self, kind: Kind, model: &[u8]) -> Result<DynamicMessage, Failure> {
        let path: &[&str] = match kind {
            Kind::Model => &[],
            Kind::Graph => &["graph"],
            Kind::Function => &["functions"],
            Kind::Node => &["graph", "node"],
        };
        let mut message = self.message(Kind::Model, model)?;
        for &field in path {
            message = inside(&message, field).ok_or_else(|| Failure::new("empty", field))?;
        }
        Ok(message)
    }
}

/// Prints and parses the main graph, every node of it, and every function, as standalone parts.
fn parts(model: &Model) -> Result<(), Failure> {
    let options = PrintOptions::full();
    let failure = |error: PrintError| Failure::new("not-printed", error.to_string());
    let graph = model.main_graph();
    let text = print_graph(model, graph, &options).map_err(failure)?.text;
    let parsed =
        parse_graph(&text, &ParseOptions::default()).map_err(|error| refused("graph", &error, &text))?;
    let again = print_graph(&parsed, parsed.main_graph(), &options).map_err(failure)?.text;
    if text != again {
        return Err(Failure::new("graph-differs", "the text of the parsed graph is another"));
    }
    for node in model.nodes(graph) {
        let text = print_node(model, node, &options).map_err(failure)?.text;
        let (parsed, node) =
            parse_node(&text, &ParseOptions::default()).map_err(|error| refused("node", &error, &text))?;
        if text != print_node(&parsed, node, &options).map_err(failure)?.text {
            return Err(Failure::new("node-differs", "the text of the parsed node is another"));
        }
    }
    for &function in model.functions() {
        let text = print_function(model, function, &options).map_err(failure)?.text;
        let (parsed, function) = parse_function(&text, &ParseOptions::default())
            .map_err(|error| refused("function", &error, &text))?;
        if text != print_function(&parsed, function, &options).map_err(failure)?.text {
            return Err(Failure::new("function-differs", "the text of the parsed function is another"));
        }
    }
    Ok(())
}

/// Clears the fields that hold their default.
fn normalize(message: &mut DynamicMessage) {
    for field in message.descriptor().fields().collect::<Vec<_>>() {
        if !message.has_field(&field) {
            continue;
        }
        let is_message = matches!(field.kind(), FieldKind::Message(_));
        if !field.is_list() && !is_message {
            if field.containing_oneof().is_none() && *message.get_field(&field) == field.default_value() {
                message.clear_field(&field);
            }
            continue;
        }
        match message.get_field_mut(&field) {
            Value::Message(inner) => normalize(inner),
            Value::List(list) => list.iter_mut().for_each(|item| {
                if let Value::Message(inner) = item {
                    normalize(inner);
                }
            }),
            _ => {}
        }
    }
}

pub(super) fn inside(message: &DynamicMessage, field: &str) -> Option<DynamicMessage> {
    match &*message.get_field_by_name(field)? {
        Value::Message(inner) => Some(inner.clone()),
        Value::List(list) => list.first()?.as_message().cloned(),
        _ => None,
    }
}

pub(super) fn refused(kind: &str, error: &ParseError, text: &str) -> Failure {
    let line = error.findings().diagnostics().first().and_then(|finding| match finding.locus.position() {
        Some(onnx_diag::Position::Text { line, .. }) => text.lines().nth(line as usize - 1),
        _ => None,
    });
    Failure::new(format!("{kind}-refused"), format!("{error}\n      {}", line.unwrap_or_default()))
}

fn print(model: &Model, options: &PrintOptions<'_>) -> Result<Printed, Failure> {
    print_model(model, options).map_err(|error| Failure::new("not-printed", error.to_string()))
}

pub(super) fn write(model: &Model) -> Result<Bytes, Failure> {
    encode(model, &EncodeOptions::default())
        .map(|segments| segments.into_bytes())
        .map_err(|error| Failure::new("not-written", error.to_string()))
}

impl Suite for TextSuite {
    fn name(&self) -> &'static str {
        "text"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        if let Some(corpus) = &data.corpus {
            let is_call = |record: &Record| record.call.starts_with("parser.");
            let (calls, blobs) = manifest::read_with_blobs(corpus, is_call)?;
            for record in calls {
                let Some(text) = record.inputs.first().and_then(|blob| blobs.get(&blob.hash)) else {
                    continue;
                };
                let message = record.outputs.first().and_then(|blob| blobs.get(&blob.hash)).cloned();
                let id = format!("{}/{}", record.call, record.id);
                let recorded = Recorded { call: record.call.clone(), message: message.filter(|_| record.ok) };
                self.recorded.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), recorded);
                feed(Case { id, group: Group::Fragment, bytes: text.clone() })?;
            }
        }
        let complete = generate::complete(&self.schema, self.model);
        feed(Case { id: "generated/complete".to_owned(), group: Group::Generated, bytes: complete.into() })?;
        for seed in 0..GENERATED {
            let style = if seed % 2 == 0 { Style::Canonical } else { Style::Odd };
            let noise = generate::noise(seed, 100 + 20 * (seed as usize % 50));
            let bytes =
                generate::message(&self.schema, self.model, &mut Choices::new(&noise), style, 12).into();
            feed(Case { id: format!("generated/{style:?}-{seed}"), group: Group::Generated, bytes })?;
        }
        data.messages(feed)
    }

    fn peer(&self, _: &Data) -> Option<&Reference> {
        Some(&self.reference)
    }

    fn check(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner).remove(&case.id);
        if let Some(recorded) = recorded {
            outcome.counts.push(recorded.call.clone());
            if let Err(failure) = self.parse(&recorded, &case.bytes, &mut outcome) {
                outcome.failures.push(failure);
            }
            return outcome;
        }
        outcome.counts.push(case.group.plural().to_owned());
        match self.file(&case.bytes) {
            Ok(Some((decoded, printed))) => {
                outcome.counts.push(format!("{} equal", case.group.plural()));
                let parts = case.bytes.len() <= LARGE;
                let case = compat::Case { decoded: &decoded, bytes: &case.bytes, printed: &printed, parts };
                if let Err(failure) = compat::check(self, &self.reference, &case, &mut outcome) {
                    outcome.failures.push(failure);
                }
            }
            Ok(None) => outcome.counts.push(format!("{} unreadable", case.group.plural())),
            Err(failure) => outcome.failures.push(failure),
        }
        if case.bytes.len() > LARGE {
            return outcome;
        }
        for rewrite in Rewrite::ALL {
            let Ok(bytes) = rewrite.apply(&self.schema, self.model, &case.bytes) else { continue };
            match self.file(&bytes.into()) {
                Ok(Some(_)) => outcome.counts.push("rewritten equal".to_owned()),
                Ok(None) => {}
                Err(failure) => {
                    outcome
                        .failures
                        .push(Failure { kind: format!("{}:{}", rewrite.name(), failure.kind), ..failure });
                }
            }
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let counts = [
            "parser.parse_model",
            "parser.parse_graph",
            "parser.parse_function",
            "parser.parse_node",
            "same message",
            "refused by both",
            "models",
            "models equal",
            "models unreadable",
            "fragments",
            "fragments equal",
            "fragments unreadable",
            "generated",
            "generated equal",
            "generated unreadable",
            "rewritten equal",
            "compat equal",
            "compat with losses",
            "compat too large",
            "compat graphs",
            "compat functions",
            "compat nodes",
        ];
        counts.map(|count| format!("text: {} {count}", report.count(count))).join("\n")
    }
}
