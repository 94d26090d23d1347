//! Reading a model and writing it loses nothing.
//!
//! For every case:
//!
//! * it is read exactly if the independent reader of the tests can read it, and if prost can, except for the constructs
//!   that prost refuses according to the [survey](crate::conformance::survey);
//! * the model that was read is sound (`Model::verify`), and findings are reported only where the file is odd;
//! * a canonical file is written byte for byte, any other field for field;
//! * writing it again, with its nodes edited or not, and reading and writing what was written, gives the same bytes;
//! * all that holds for the file in every other form of [`Rewrite`], among them one with unknown fields everywhere.

use bytes::Bytes;
use onnx_codec::{DecodeOptions, Decoded, EncodeOptions, decode, encode};
use onnx_ir::Model;
use onnx_proto::messages::ModelProto;
use prost::Message;

use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::generate::{self, Choices, Style};
use crate::conformance::report::{Failure, Report};
use crate::conformance::rewrite::Rewrite;
use crate::conformance::runner::{Outcome, Suite};
use crate::conformance::schema::{FieldType, MessageId, Schema};
use crate::conformance::survey::Survey;
use crate::conformance::tree::{LEVELS, Tree};
use crate::conformance::wire::{Records, Value};

/// How many models are made for a run.
const GENERATED: u64 = 2000;

/// Files above this size, in bytes, are tried with unknown fields only, not in every other form.
const LARGE: usize = 64 << 20;

/// The suite.
#[derive(Debug)]
pub struct RoundTrip {
    schema: Schema,
    model: MessageId,
}

/// How a file came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// No reader can read it.
    Refused,
    /// A canonical file came back byte for byte.
    Identical,
    /// Another file came back field for field.
    Equal,
}

impl RoundTrip {
    /// Prepares the suite.
    ///
    /// # Errors
    ///
    /// When the descriptors cannot be read.
    pub fn new() -> Result<Self, String> {
        let schema = Schema::load()?;
        let model = schema.find("ModelProto").ok_or("the descriptors have no `ModelProto`")?;
        Ok(Self { schema, model })
    }

    /// The message types.
    #[must_use]
    pub const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The type of a model.
    #[must_use]
    pub const fn model(&self) -> MessageId {
        self.model
    }

    /// Checks one file, in its own format.
    ///
    /// # Errors
    ///
    /// The first expectation that is not met.
    pub fn file(&self, bytes: &Bytes, remarks: &mut Vec<String>) -> Result<Verdict, Failure> {
        let survey = Survey::of(&self.schema, self.model, bytes);
        let decoded = decode(bytes.clone(), &DecodeOptions::default());
        let prost = ModelProto::decode(bytes.clone());
        let (survey, decoded) = match (survey, decoded) {
            (Ok(survey), Ok(decoded)) => (survey, decoded),
            (Err(_), Err(_)) => {
                return match prost {
                    Err(_) => Ok(Verdict::Refused),
                    Ok(_) => {
                        remarks.push("only prost accepts".to_owned());
                        Ok(Verdict::Refused)
                    }
                };
            }
            (Err(_), Ok(decoded)) if sets_aside(&decoded) => {
                remarks.push("accepted: the content of a value that is set aside is not protobuf".to_owned());
                return Ok(Verdict::Refused);
            }
            (Err(at), Ok(_)) => {
                return Err(Failure::new("accepted", format!("this is not protobuf: {at:?}")));
            }
            (Ok(_), Err(error)) => return Err(Failure::new("refused", error.to_string())),
        };
        match prost {
            Err(error) if survey.prost_refuses.is_empty() => {
                return Err(Failure::new("prost-refuses", error.to_string()));
            }
            Err(_) => {
                let reasons: Vec<_> = survey.prost_refuses.iter().copied().collect();
                remarks.push(format!("prost refuses: {}", reasons.join("; ")));
            }
            Ok(_) => {}
        }
        self.decoded(bytes, &survey, &decoded)
    }

    fn decoded(&self, bytes: &Bytes, survey: &Survey, decoded: &Decoded) -> Result<Verdict, Failure> {
        if let Err(faults) = decoded.model.verify() {
            let first = faults.first().map(ToString::to_string).unwrap_or_default();
            return Err(Failure::new("verify", format!("{} faults; {first}", faults.len())));
        }
        let surprise = decoded
            .findings
            .diagnostics()
            .iter()
            .find(|finding| !(survey.split || survey.findings.contains(finding.rule.slug)));
        if let Some(finding) = surprise {
            return Err(Failure::new("finding", format!("{}: {}", finding.rule.slug, finding.message)));
        }
        let written = write(&decoded.model)?;
        self.same(bytes, &written, survey)?;
        self.stable(&written, &decoded.model)?;
        Ok(if survey.is_canonical() { Verdict::Identical } else { Verdict::Equal })
    }

    /// A canonical file must come back byte for byte, any other field for field.
    fn same(&self, bytes: &[u8], written: &[u8], survey: &Survey) -> Result<(), Failure> {
        if bytes == written {
            return Ok(());
        }
        let read = |bytes| Tree::read(&self.schema, self.model, bytes);
        let difference = match (read(bytes), read(written)) {
            (Ok(before), Ok(after)) => before.difference(&after, &self.schema, self.model),
            (_, Err(at)) => Some(format!("what was written is not protobuf: {at:?}")),
            (Err(at), _) => Some(format!("this is not protobuf: {at:?}")),
        };
        if difference.is_none() && !survey.is_canonical() {
            return Ok(());
        }
        let offset = bytes.iter().zip(written).take_while(|(a, b)| a == b).count();
        Err(Failure {
            kind: if survey.is_canonical() { "not-identical" } else { "not-equal" }.to_owned(),
            detail: difference.unwrap_or_else(|| "the fields are the same, the bytes are not".to_owned()),
            offset: Some(offset),
            path: Some(self.path(bytes, offset)),
            input: None,
        })
    }

    /// Writing twice, and reading and writing what was written, gives the same bytes.
    fn stable(&self, written: &Bytes, model: &Model) -> Result<(), Failure> {
        if write(model)? != *written {
            return Err(Failure::new("not-deterministic", "writing the model twice gives different bytes"));
        }
        let again = decode(written.clone(), &DecodeOptions::default())
            .map_err(|error| Failure::new("not-readable", error.to_string()))?;
        let again = write(&again.model)?;
        if again == *written {
            return Ok(());
        }
        let offset = again.iter().zip(written).take_while(|(a, b)| a == b).count();
        Err(Failure {
            kind: "not-stable".to_owned(),
            detail: "reading and writing what was written gives different bytes".to_owned(),
            offset: Some(offset),
            path: Some(self.path(written, offset)),
            input: None,
        })
    }

    /// The fields that lead to a byte.
    fn path(&self, bytes: &[u8], offset: usize) -> String {
        let mut path = String::new();
        let (mut message, mut rest, mut offset) = (self.model, bytes, offset);
        'message: loop {
            let ty = self.schema.message(message);
            let mut counts = [0_usize; 32];
            for record in Records::new(rest, LEVELS).map_while(Result::ok) {
                let count = counts.get_mut(record.number as usize);
                let index = count.map_or(0, |count| std::mem::replace(count, *count + 1));
                if offset >= record.raw.len() {
                    offset -= record.raw.len();
                    continue;
                }
                let separator = if path.is_empty() { "" } else { "." };
                let Some(field) = ty.field(record.number) else {
                    return format!("{path}{separator}{}", record.number);
                };
                path = format!("{path}{separator}{}", field.name);
                if field.repeated {
                    path = format!("{path}[{index}]");
                }
                if let (FieldType::Message(inner), Value::Len(content)) = (&field.ty, record.value)
                    && offset >= record.head
                {
                    (message, rest, offset) = (*inner, content, offset - record.head);
                    continue 'message;
                }
                return path;
            }
            return if path.is_empty() { "the end".to_owned() } else { format!("the end of {path}") };
        }
    }

    /// The file in every other form.
    fn rewrites(&self, bytes: &Bytes, outcome: &mut Outcome) {
        for rewrite in Rewrite::ALL {
            if bytes.len() > LARGE && rewrite != Rewrite::UnknownLast {
                continue;
            }
            let result = match rewrite.apply(&self.schema, self.model, bytes) {
                Ok(rewritten) => {
                    let rewritten = Bytes::from(rewritten);
                    self.file(&rewritten, &mut Vec::new())
                        .map_err(|failure| Failure { input: Some(rewritten), ..failure })
                }
                Err(at) => Err(Failure::new("not-rewritten", format!("{at:?}"))),
            };
            if let Err(failure) = result {
                let kind = format!("{}:{}", rewrite.name(), failure.kind);
                outcome.failures.push(Failure { kind, ..failure });
            } else {
                outcome.counts.push(format!("rewritten {}", rewrite.name()));
            }
        }
    }

    fn generated(&self, feed: &mut Feed<'_>) -> Result<(), String> {
        let complete = generate::complete(&self.schema, self.model);
        feed(Case { id: "generated/complete".to_owned(), group: Group::Generated, bytes: complete.into() })?;
        for seed in 0..GENERATED {
            let (name, style) = match seed % 3 {
                0 => ("canonical", Style::Canonical),
                1 => ("odd", Style::Odd),
                _ => ("broken", Style::Broken),
            };
            let noise = generate::noise(seed, 100 + 20 * (seed as usize % 50));
            let bytes =
                generate::message(&self.schema, self.model, &mut Choices::new(&noise), style, 12).into();
            feed(Case { id: format!("generated/{name}-{seed}"), group: Group::Generated, bytes })?;
        }
        Ok(())
    }
}

/// Whether a file gives an attribute several values: those that do not count are kept without being looked into.
fn sets_aside(decoded: &Decoded) -> bool {
    let slugs = ["attribute-with-several-values", "reference-with-value"];
    decoded.findings.diagnostics().iter().any(|finding| slugs.contains(&finding.rule.slug))
}

fn write(model: &Model) -> Result<Bytes, Failure> {
    encode(model, &EncodeOptions::default())
        .map(|segments| segments.into_bytes())
        .map_err(|error| Failure::new("not-written", error.to_string()))
}

impl Suite for RoundTrip {
    fn name(&self) -> &'static str {
        "roundtrip"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        self.generated(feed)?;
        data.messages(feed)
    }

    fn check(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let group = case.group.plural();
        outcome.counts.push(group.to_owned());
        match self.file(&case.bytes, &mut outcome.remarks) {
            Ok(verdict) => {
                outcome.counts.push(format!("{group} {verdict:?}"));
                if verdict != Verdict::Refused {
                    self.rewrites(&case.bytes, &mut outcome);
                }
            }
            Err(failure) => outcome.failures.push(Failure { input: Some(case.bytes.clone()), ..failure }),
        }
        if !outcome.failures.is_empty() {
            outcome.counts.push(format!("{group} failed"));
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let groups = [Group::Model, Group::Fragment, Group::Generated].map(|group| {
            let group = group.plural();
            let count = |what: &str| report.count(&format!("{group} {what}"));
            format!(
                "roundtrip: {} {group}, {} canonical byte-identical, {} field-equal, {} refused by all, {} failed",
                report.count(group),
                count("Identical"),
                count("Equal"),
                count("Refused"),
                count("failed"),
            )
        });
        groups.join("\n")
    }
}
