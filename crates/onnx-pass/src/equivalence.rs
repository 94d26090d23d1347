//! The proof obligation: two functions with one signature, and the conditions under which they are equal.

use std::fmt;

use onnx_ir::{FunctionId, MetadataEntry, Model, NodeId, ValueId};
use onnx_text::{ParseOptions, PrintError, PrintOptions, parse_model, print_model};
use onnx_types::ElemType;
use onnx_types::tensor::{NoData, Payload, Tensor};

use crate::assumption::{Assumption, Exactness};

/// The domain of the two functions.
pub const DOMAIN: &str = "onnx.pass";

/// The names of the functions in [`DOMAIN`].
pub(crate) const SIDES: [&str; 2] = ["before", "after"];

/// Keys of the metadata of the model.
const CLASS_KEY: &str = "equivalence.class";
const ASSUME_KEY: &str = "equivalence.assume";

/// One of the two functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EquivalenceSide {
    /// The code that is replaced.
    Before,
    /// The code that replaces it.
    After,
}

/// A claim: for all inputs that satisfy the assumptions and for which `before` runs to completion, `after` also runs to
/// completion and returns equal outputs.
///
/// It is an ordinary ONNX model, which every tool can check, infer, run and print. The functions `before` and `after` of the
/// domain `onnx.pass` are the two sides; each has its own operator set imports. The main graph calls both on the same inputs.
/// If `after` has more outputs, the claim is about the first ones.
/// Inputs of the main graph are free; initializers are constants whose elements belong to the claim. The exactness class and
/// the assumptions are metadata.
#[derive(Clone)]
pub struct Equivalence {
    pub(crate) model: Model,
    pub(crate) calls: [NodeId; 2],
    pub(crate) functions: [FunctionId; 2],
    pub(crate) assume: Vec<Assumption>,
    pub(crate) class: Exactness,
    /// Names of the inputs and outputs in the model that the claim comes from.
    pub(crate) labels: Labels,
}

/// Names of inputs and outputs for messages.
#[derive(Clone, Default, Debug)]
pub(crate) struct Labels {
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
}

/// Why a text is not an equivalence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EquivalenceError {
    /// The text is not a model.
    #[error(transparent)]
    Parse(#[from] onnx_text::ParseError),
    /// The model is not an equivalence; the reason.
    #[error("not an equivalence: {0}")]
    Form(&'static str),
    /// An assumption cannot be parsed.
    #[error("not an assumption: `{0}`")]
    Assumption(String),
}

impl Equivalence {
    /// The model of the claim.
    #[must_use]
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// The function of a side.
    #[must_use]
    pub const fn function(&self, side: EquivalenceSide) -> FunctionId {
        self.functions[side as usize]
    }

    pub(crate) const fn call(&self, side: EquivalenceSide) -> NodeId {
        self.calls[side as usize]
    }

    /// The inputs of both functions in order: values of the main graph.
    #[must_use]
    pub fn inputs(&self) -> Vec<ValueId> {
        self.model.node(self.call(EquivalenceSide::Before)).inputs().flatten().collect()
    }

    /// The elements of an input that is constant in the claim; `None` for a free input.
    #[must_use]
    pub fn constant(&self, input: ValueId) -> Option<&Tensor> {
        self.model.value(input).constant()?.dense()
    }

    /// Number of outputs.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.model.node(self.call(EquivalenceSide::Before)).outputs().len()
    }

    /// Number of nodes of both sides, nested graphs not included.
    #[must_use]
    pub fn node_count(&self) -> usize {
        let count = |side| {
            let function = self.model.function(self.function(side));
            self.model.graph(function.body()).node_count()
        };
        count(EquivalenceSide::Before).saturating_add(count(EquivalenceSide::After))
    }

    /// The premises.
    #[must_use]
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assume
    }

    /// The exactness class.
    #[must_use]
    pub const fn class(&self) -> Exactness {
        self.class
    }

    /// The claim in the ONNX text format. [`Equivalence::parse`] reads it back.
    ///
    /// # Errors
    ///
    /// Returns an error if graphs or types are nested too deeply for text.
    pub fn text(&self) -> Result<String, PrintError> {
        let options = PrintOptions::default().with_elide_above(u64::MAX);
        Ok(print_model(&self.model, &options)?.text)
    }

    /// A hash that equal claims share, on all machines: of the text, with a hash of the elements of large constants. It does
    /// not depend on names of values and dimensions in the original model.
    ///
    /// # Errors
    ///
    /// See [`Equivalence::text`].
    pub fn hash(&self) -> Result<u128, PrintError> {
        let digest = |tensor: &Tensor| Some(format!("digest:{:032x}", digest(tensor)));
        let options = PrintOptions::default().with_digest(Some(&digest));
        let text = print_model(&self.model, &options)?.text;
        let mut state = Digest::new();
        std::hash::Hasher::write(&mut state, text.as_bytes());
        Ok(state.sum())
    }

    /// Parses the text form.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a model, or not one of this form.
    pub fn parse(text: &str) -> Result<Self, EquivalenceError> {
        Self::from_model(parse_model(text, &ParseOptions::default())?)
    }

    /// Reads a model as a claim.
    ///
    /// # Errors
    ///
    /// Returns an error if the model does not have this form.
    pub fn from_model(mut model: Model) -> Result<Self, EquivalenceError> {
        let form = EquivalenceError::Form;
        let call_of = |model: &Model, side: &str| {
            model.nodes(model.main_graph()).find(|&node| {
                let node = model.node(node);
                model.str(node.op()) == side && model.str(node.domain()) == DOMAIN
            })
        };
        let [before, after] = SIDES.map(|side| call_of(&model, side));
        let (Some(before), Some(after)) = (before, after) else {
            return Err(form("the main graph does not call both functions"));
        };
        let calls = [before, after];
        let functions = calls.map(|call| model.function_called(model.node(call)));
        let [Some(before), Some(after)] = functions else {
            return Err(form("a function is missing"));
        };
        if !model.node(calls[0]).inputs().eq(model.node(calls[1]).inputs()) {
            return Err(form("the functions are called on different inputs"));
        }
        if model.node(calls[0]).outputs().len() > model.node(calls[1]).outputs().len() {
            return Err(form("the new side has fewer outputs"));
        }
        let mut class = None;
        let mut lines = Vec::new();
        for entry in &model.info().metadata {
            match model.str(entry.key()) {
                CLASS_KEY => class = Exactness::from_name(&entry.value().to_string()),
                key if key.starts_with(ASSUME_KEY) => lines.push(entry.value().to_string()),
                _ => {}
            }
        }
        let class = class.ok_or(form("the metadata does not name an exactness class"))?;
        let mut assume = Vec::new();
        for line in lines {
            assume.push(Assumption::parse(&mut model, &line).ok_or(EquivalenceError::Assumption(line))?);
        }
        read_dims(&mut model);
        Ok(Self { model, calls, functions: [before, after], assume, class, labels: Labels::default() })
    }

    /// Writes the class and the assumptions into the metadata of the model.
    pub(crate) fn write_metadata(model: &mut Model, class: Exactness, assume: &[Assumption]) {
        let lines: Vec<String> = assume.iter().map(|assumption| assumption.write(model)).collect();
        let key = model.intern(CLASS_KEY);
        let mut entries = vec![MetadataEntry::new(key, class.name())];
        for (index, line) in lines.into_iter().enumerate() {
            let key = model.intern(&format!("{ASSUME_KEY}.{index}"));
            entries.push(MetadataEntry::new(key, line));
        }
        model.info_mut().metadata = entries;
    }

    /// The name of an input for messages.
    #[must_use]
    pub fn input_label(&self, index: usize) -> String {
        self.labels.inputs.get(index).filter(|label| !label.is_empty()).cloned().unwrap_or_else(|| {
            let value = self.inputs().get(index).copied();
            value.map_or_else(String::new, |value| self.model.str(self.model.value(value).name()).to_owned())
        })
    }

    /// The name of an output for messages.
    #[must_use]
    pub fn output_label(&self, index: usize) -> String {
        let label = self.labels.outputs.get(index).filter(|label| !label.is_empty());
        label.cloned().unwrap_or_else(|| format!("output {index}"))
    }
}

/// Turns dimension variables whose name is an expression into expressions.
fn read_dims(model: &mut Model) {
    let inputs = model.graph(model.main_graph()).inputs().to_vec();
    for input in inputs {
        let Some(mut ty) = model.ty(input).cloned() else { continue };
        let (onnx_types::TypeKind::Tensor(tensor) | onnx_types::TypeKind::SparseTensor(tensor)) =
            &mut ty.kind
        else {
            continue;
        };
        let Some(shape) = &mut tensor.shape else { continue };
        for dim in shape.dims_mut() {
            if let onnx_types::Dim::Var(symbol) = *dim {
                let text = model.str(symbol).to_owned();
                *dim = crate::assumption::parse_dim(model, &text);
            }
        }
        model.set_type(input, Some(ty));
    }
}

impl fmt::Debug for Equivalence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text().unwrap_or_else(|error| error.to_string()))
    }
}

/// A hash of type, sizes and all elements: claims that differ in one element have different verdicts.
fn digest(tensor: &Tensor) -> u128 {
    let mut state = Digest::new();
    // Types and sizes, and the element of a splat, which has any number of them.
    tensor.hash_meaning(&NoData, &mut state);
    match tensor.payload() {
        Payload::Splat(_) => {}
        _ if tensor.elem() == ElemType::String => {
            for text in tensor.string_bytes().unwrap_or_default() {
                std::hash::Hash::hash(text, &mut state);
            }
        }
        _ => {
            for chunk in tensor.chunks(&NoData).into_iter().flatten() {
                std::hash::Hasher::write(&mut state, &chunk);
            }
        }
    }
    state.sum()
}

/// A hash of 128 bits that depends on nothing but the bytes that are written, and is the same on all machines. Whole words are
/// mixed at once, since weights are large.
struct Digest {
    words: [u64; 2],
    length: u64,
}

impl Digest {
    const FACTORS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9];

    const fn new() -> Self {
        Self { words: [0x6c62_272e_07bb_0142, 0x62b8_2175_6295_c58d], length: 0 }
    }

    const fn word(&mut self, word: u64) {
        let [one, two] = self.words;
        let one = (one ^ word).wrapping_mul(Self::FACTORS[0]);
        let two = (two.rotate_left(29) ^ word).wrapping_mul(Self::FACTORS[1]);
        self.words = [one ^ (one >> 32), two ^ (two >> 29)];
    }

    fn sum(&self) -> u128 {
        let mut last = Self { words: self.words, length: self.length };
        last.word(self.length);
        last.word(self.words[1]);
        let [one, two] = last.words;
        u128::from(one) << 64 | u128::from(two)
    }
}

impl std::hash::Hasher for Digest {
    fn finish(&self) -> u64 {
        // The lower half.
        self.sum() as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        self.length = self.length.wrapping_add(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            if let Some(begin) = word.get_mut(..rest.len()) {
                begin.copy_from_slice(rest);
            }
            self.word(u64::from_le_bytes(word));
        }
    }
}
