//! Bytes to the graph.
//!
//! The wire format is read straight into the arenas. Every graph takes three walks over its fields, because names may be
//! used before the field that defines them: inputs and initializers first, then nodes, then what refers to values by
//! name. Skipping a node takes two varints, so the walks cost little.

mod attr;
mod device;
mod graph;
mod info;
mod model;
mod name_cache;
mod node;
mod operator_set;
mod parts;
mod prescan;
mod small_messages;
mod tensor;
mod ty;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use foldhash::fast::RandomState;
use onnx_diag::{Caps, Diagnostic, Locus, Policy, Reference, Rule, Sink};
use onnx_ir::raw::ModelWriter;
use onnx_ir::{Extras, Model};
use onnx_proto::wire::{Field, Input, Payload, Reader, Value, WireError, WireErrorKind, WireLimits};
use onnx_types::raw_text::from_bytes;
use onnx_types::{Execution, FieldForms, Limits, NameHash, Symbol, Type, UnknownField, UnknownFields, Watch};
use smallvec::SmallVec;

use crate::error::DecodeError;
use crate::rules;

use graph::Head;
use name_cache::NameCache;
use prescan::{AsciiText, ScannedNodes};

pub use operator_set::{DecodedOperatorSet, decode_operator_set};
pub(crate) use parts::TensorDecoder;
pub use parts::{
    decode_attribute, decode_function, decode_graph, decode_node, decode_sparse_tensor, decode_tensor,
    decode_value_info,
};

/// Options for decoding a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// Bounds on what reading may cost, and what ends it early.
    pub execution: Execution,
    /// Record the byte offsets of nodes, inputs and initializers, which takes 8 bytes for each. Default: yes.
    pub offsets: bool,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self { execution: Execution::default(), offsets: true }
    }
}

onnx_types::option_setters! {
    DecodeOptions {
        with_execution => execution: into Execution,
        with_offsets => offsets: bool,
    }
}

/// A model that was read, and what the file said that the graph cannot hold exactly.
#[derive(Clone)]
pub struct Decoded {
    /// The model.
    pub model: Model,
    /// The diagnostics of reading, in file order.
    pub findings: Sink,
}

/// Reads a `ModelProto`.
///
/// Tensors share the memory of `bytes`; nothing is opened, and external data stays where it is.
///
/// ```
/// use onnx_codec::{DecodeOptions, decode};
///
/// // ir_version = 10, and a graph with the name "g".
/// let bytes = bytes::Bytes::from_static(b"\x08\x0a\x3a\x03\x12\x01g");
/// let decoded = decode(bytes, &DecodeOptions::default())?;
/// let model = decoded.model;
/// assert_eq!(model.info().ir_version, 10);
/// assert_eq!(model.str(model.graph(model.main_graph()).name()), "g");
/// # Ok::<(), onnx_codec::DecodeError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the bytes are not protobuf, a limit is exceeded, or the interrupt stops the work. Everything
/// else is reported as a diagnostic.
pub fn decode(bytes: Bytes, options: &DecodeOptions) -> Result<Decoded, DecodeError> {
    let limits = wire_limits(&options.execution.limits);
    let input = Input::new(bytes, limits)?;
    let head = graph::head(&input);
    require_memory(&input, head)?;
    Ok(model::model(Cx::with_head(&input, options, head))?)
}

/// Asks for the memory that the nodes of a large model take, and gives it back: later, memory that is refused ends the process.
fn require_memory(input: &Input, head: Option<Head>) -> Result<()> {
    let needed = head.map_or(0, Head::memory);
    let mut memory: Vec<u8> = Vec::new();
    memory
        .try_reserve_exact(needed)
        .map_err(|_| WireError::new(WireErrorKind::Memory { bytes: needed as u64 }, input.reader().offset()))
}

/// The limits that concern bytes whatever they mean.
pub(crate) const fn wire_limits(limits: &Limits) -> WireLimits {
    let &Limits { message_depth, input_bytes, string_bytes, .. } = limits;
    WireLimits { message_depth, input_bytes, string_bytes }
}

/// Number of bytes between two checks of the interrupt.
const WATCHED_BYTES: u64 = 64 << 10;

type Result<T, E = WireError> = std::result::Result<T, E>;

/// The occurrences of a singular message field. Several are merged into one message.
type Occurrences<'a> = SmallVec<[Reader<'a>; 1]>;

/// The position of the decoder, for diagnostics.
#[derive(Clone, Copy)]
enum Step {
    Graph(Symbol),
    Function(Symbol, Symbol, Symbol),
    Node { index: usize, op: Symbol, name: Symbol },
    Attribute(Symbol),
    Training(usize),
}

struct Cx<'a> {
    input: &'a Input,
    options: &'a DecodeOptions,
    model: ModelWriter,
    findings: Sink,
    /// The result of the scan of the main graph's beginning.
    head: Option<Head>,
    /// Reusable memory of the pre-scan, one for each open graph.
    scan_memory: Vec<ScannedNodes<'a>>,
    /// The bytes of the current batch of nodes if they are ASCII.
    text: AsciiText<'a>,
    /// The last output of a node, whose name is often that of the next input.
    last_output: (&'a [u8], Symbol),
    steps: Vec<Step>,
    /// The types of values that were read so far, by their bytes: a model has few, each many times.
    types: HashMap<&'a [u8], Arc<Type>, RandomState>,
    name_cache: Box<NameCache<'a>>,
    /// Number of tensors that were read.
    tensors: usize,
    watch: Watch,
}

impl<'a> Cx<'a> {
    fn new(input: &'a Input, options: &'a DecodeOptions) -> Self {
        Self::with_head(input, options, None)
    }

    /// A decoder with room for what a graph begins with.
    fn with_head(input: &'a Input, options: &'a DecodeOptions, head: Option<Head>) -> Self {
        let caps = Caps {
            per_rule: options.execution.limits.findings_per_rule,
            total: options.execution.limits.findings,
        };
        // A node contains its name and that of its output, and other fields with names are rarely longer; unused
        // capacity is returned.
        let (names, bytes) = head.map_or((0, 0), |head| (head.names(), head.rest.saturating_sub(head.start)));
        Self {
            input,
            options,
            model: ModelWriter::new(onnx_schema::interner_with_capacity(names, bytes)),
            head,
            findings: Sink::with(Policy::new(), caps),
            scan_memory: Vec::new(),
            text: AsciiText::default(),
            last_output: (&[], Symbol::EMPTY),
            steps: Vec::new(),
            types: HashMap::default(),
            name_cache: Box::default(),
            tensors: 0,
            watch: Watch::new(&options.execution, "decode", input.bytes().len() as u64, WATCHED_BYTES),
        }
    }

    /// The symbol of a string field.
    #[inline]
    fn name(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<Symbol> {
        let hash = self.model.names().hash(&payload);
        self.hashed_name(reader, payload, hash)
    }

    /// The symbol of a string field whose hash is known.
    #[inline]
    fn hashed_name(&mut self, reader: &Reader<'a>, payload: Payload<'a>, hash: NameHash) -> Result<Symbol> {
        let is_short = payload.len() as u64 <= self.options.execution.limits.string_bytes;
        if is_short && let Some(text) = self.text.get(payload) {
            return Ok(self.model.names_mut().intern_ascii(text, hash));
        }
        if is_short && let Some(symbol) = self.model.names_mut().intern_utf8(&payload, hash) {
            return Ok(symbol);
        }
        self.general_name(reader, payload)
    }

    /// The symbol of a string field whose content usually recurs: the name of an attribute, or a key.
    #[inline]
    fn cached_name(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<Symbol> {
        if let Some(symbol) = self.name_cache.get(&payload) {
            return Ok(symbol);
        }
        let symbol = self.name(reader, payload)?;
        // A name that is not UTF-8 is reported at each occurrence.
        if payload.is_ascii() {
            self.name_cache.put(payload.as_slice(), symbol);
        }
        Ok(symbol)
    }

    /// The symbol of a singular string field, noting whether it was written empty.
    #[inline]
    fn noted(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        number: u32,
        form: &mut WireForm,
    ) -> Result<Symbol> {
        form.note(number, payload.is_empty());
        self.name(reader, payload)
    }

    /// The symbol of a name that is too long, not UTF-8, or ambiguous with the representation of one that is not.
    #[cold]
    fn general_name(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<Symbol> {
        let text = match reader.string(payload) {
            Ok(text) => from_bytes(text.as_bytes()),
            Err(error) => self.raw_text(payload, error)?.into(),
        };
        Ok(self.model.intern(&text))
    }

    /// The text of a string field whose bytes are not UTF-8.
    #[cold]
    fn raw_text(&mut self, payload: Payload<'a>, error: WireError) -> Result<String> {
        if !matches!(error.kind(), WireErrorKind::Utf8) {
            return Err(error);
        }
        self.report(&rules::TEXT_NOT_UTF8, error.offset(), || {
            "a string is not UTF-8: its wrong bytes are held as private use characters".to_owned()
        });
        Ok(from_bytes(&payload).into_owned())
    }

    /// Records a diagnostic at a byte offset.
    #[cold]
    fn report(&mut self, rule: &'static Rule, offset: usize, message: impl FnOnce() -> String) {
        let beyond = rule.reference == Reference::NotEnforced;
        self.report_as(rule, offset, beyond, message);
    }

    /// Records a diagnostic at a byte offset, saying whether the reference would not have it.
    #[cold]
    fn report_as(
        &mut self,
        rule: &'static Rule,
        offset: usize,
        beyond: bool,
        message: impl FnOnce() -> String,
    ) {
        let Self { findings, model, steps, .. } = self;
        findings.report_with(rule, || {
            let mut locus = Locus::model();
            for step in steps.iter() {
                locus = match *step {
                    Step::Graph(name) => locus.graph(model.str(name)),
                    Step::Function(domain, name, overload) => {
                        locus.function(model.str(domain), model.str(name), model.str(overload))
                    }
                    Step::Node { index, op, name } => locus.node(index, model.str(op), model.str(name)),
                    Step::Attribute(name) => locus.attribute(model.str(name)),
                    Step::Training(index) => locus.training_info(index),
                };
            }
            Diagnostic::new(rule, locus.at_byte(offset as u64), message()).beyond_reference(beyond)
        });
    }

    /// Keeps a field that the message does not know, or whose form does not fit it.
    #[cold]
    fn keep(&mut self, unknown: &mut UnknownFields, field: &Field<'a>, known: bool) {
        if known {
            self.report(&rules::FIELD_OF_OTHER_TYPE, field.start, || {
                format!("field {} has a wire type that its type in the schema does not allow", field.number)
            });
        }
        let bytes = self.input.slice(field.range()).unwrap_or_default();
        unknown.push(UnknownField { number: field.number, bytes });
    }

    /// Counts tensors before they are made.
    fn count_tensors(&mut self, count: usize, offset: usize) -> Result<()> {
        self.tensors = self.tensors.saturating_add(count);
        self.check("tensors", self.tensors, self.options.execution.limits.tensors, offset)
    }

    /// Counts the bytes of a message that is about to be read: of a node, an initializer or the description of a value. Returns
    /// an error if the work is to end, or the model has become larger than a limit.
    fn work(&mut self, message: Payload<'a>) -> Result<()> {
        self.check_size(message.offset())?;
        // Tag and length take two bytes or more, so empty messages are work, too.
        let bytes = (message.len() as u64).saturating_add(2);
        self.watch.work(bytes).map_err(|_| WireError::new(WireErrorKind::Stopped, message.offset()))
    }

    /// Returns an error if the model has more nodes, values or graphs than a limit allows.
    fn check_size(&self, offset: usize) -> Result<()> {
        let limits = &self.options.execution.limits;
        self.check("nodes", self.model.node_count(), limits.nodes, offset)?;
        self.check("values", self.model.value_count(), limits.values, offset)?;
        self.check("graphs", self.model.graph_count(), limits.graphs, offset)
    }

    /// Returns an error if the values of one node exceed the limit. An absent operand has no value, and inputs of one name
    /// are one value.
    #[inline]
    fn check_operands(&self, inputs: &[Symbol], outputs: &[Symbol], offset: usize) -> Result<()> {
        let limit = self.options.execution.limits.values;
        if inputs.len().max(outputs.len()) as u64 <= limit {
            return Ok(());
        }
        let present = |names: &[Symbol]| names.iter().copied().filter(|name| !name.is_empty()).collect();
        let (mut inputs, outputs): (Vec<_>, Vec<_>) = (present(inputs), present(outputs));
        inputs.sort_unstable();
        inputs.dedup();
        self.check("values", inputs.len().max(outputs.len()), limit, offset)
    }

    /// Checks the interrupt before anything is read. Returns an error if the work is to end.
    fn start(&mut self) -> Result<()> {
        self.watch.work(0).map_err(|_| WireError::new(WireErrorKind::Stopped, 0))
    }

    /// Returns an error if a count exceeds a limit.
    fn check(&self, name: &'static str, count: usize, limit: u64, offset: usize) -> Result<()> {
        let wanted = count as u64;
        if wanted <= limit {
            return Ok(());
        }
        Err(WireError::new(WireErrorKind::Limit { name, limit, wanted }, offset))
    }
}

/// The encoding of a message beyond its values: the forms of its fields, and its unknown fields.
#[derive(Default)]
struct WireForm {
    forms: FieldForms,
    unknown: UnknownFields,
}

impl WireForm {
    /// Records an occurrence of a singular field. The last one determines whether an explicit default is encoded.
    #[inline]
    fn note(&mut self, number: u32, is_default: bool) {
        self.forms.set_explicit(number, is_default);
    }
}

/// Field numbers of a message.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct NumberSet(u32);

impl NumberSet {
    const fn contains(self, number: u32) -> bool {
        number < u32::BITS && self.0 & (1 << number) != 0
    }

    const fn insert(&mut self, number: u32) {
        if number < u32::BITS {
            self.0 |= 1 << number;
        }
    }

    const fn remove(&mut self, number: u32) {
        if number < u32::BITS {
            self.0 &= !(1 << number);
        }
    }

    const fn is_empty(self) -> bool {
        self.0 == 0
    }

    const fn has_several(self) -> bool {
        self.0.count_ones() > 1
    }

    /// The lowest number; 32, which no field has, if the set is empty.
    const fn lowest(self) -> u32 {
        self.0.trailing_zeros()
    }
}

/// Puts documentation, metadata and unknown fields together, boxed only when there are any.
fn extras(doc: Symbol, metadata: onnx_ir::Metadata, form: WireForm) -> Option<Box<Extras>> {
    let extras = Extras::new(doc, metadata, form.forms, form.unknown);
    (!extras.is_empty()).then(|| Box::new(extras))
}

/// The payload of a length-delimited field.
#[inline]
fn len<'a>(value: Value<'a>) -> Option<Payload<'a>> {
    match value {
        Value::Len(payload) => Some(payload),
        _ => None,
    }
}

/// The number of a varint field.
#[inline]
fn varint(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Varint(value) => Some(value),
        _ => None,
    }
}
