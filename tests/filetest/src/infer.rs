//! `#! infer`: the types that inference computes for a model, and the contradictions that it reports.
//!
//! A comment `# is: float[N, 4]` at the end of a node's line specifies its outputs, in order and separated by `; `: the
//! type, and ` = {N, 4}` after it if the elements are propagated. Unknown sizes are `?1`, `?2` and so on, the same one
//! for equal sizes. An empty `# is:` is filled in by `BLESS=1`; review the result. Contradictions are expected by `#
//! error: ONNX3007 "text"` as everywhere.
//!
//! Words: `opset=13..18` (or `13..`, up to the newest) runs the test at each of these versions of the default domain, and
//! `ml=1..5` of `ai.onnx.ml`; `no-values` follows no elements; `check-types` compares types with the schemas;
//! `trust-defaults` takes initializers that are inputs, too, for constants; `trust-names` trusts the names of declared
//! sizes; `runtime=onnxruntime` infers what holds in that runtime, too; `shapes=x=2x3,y=4` tests these shapes of inputs against declarations and guards.

use std::collections::HashMap;
use std::fmt::Write as _;

use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::domain;
use onnx_shape_infer::{Elem, InferOptions, Inference, Runtime, Ty, contrib, infer};
use onnx_types::{Dim, ElemType, Symbol, SymbolNames as _, Type, TypeKind};

use super::marks::{Version, at_each, fill, parse_at, range_of};
use super::{Finding, Outcome, given};

pub(super) fn run(text: &str, words: &[&str]) -> Result<Outcome, String> {
    let Words { options, versions, shapes } = Words::new(words)?;
    at_each(versions, |version| at_version(text, version, &options, shapes.as_deref()))
}

/// What the words of a directive ask for.
pub(super) struct Words {
    options: InferOptions<'static>,
    /// The versions to run at, of one domain.
    pub(super) versions: Vec<Version>,
    /// Shapes of inputs to test against declarations and guards.
    shapes: Option<String>,
}

impl Words {
    pub(super) fn new(words: &[&str]) -> Result<Self, String> {
        let mut options = InferOptions::default();
        let mut versions = vec![(domain::ONNX, None)];
        let mut shapes = None;
        for word in words {
            match word.split_once('=') {
                Some(("opset", range)) => versions = range_of(domain::ONNX, range)?,
                Some(("ml", range)) => versions = range_of(domain::ML, range)?,
                Some(("shapes", given)) => shapes = Some(given.to_owned()),
                Some(("runtime", "onnxruntime")) => options.runtime = Runtime::Onnxruntime,
                None if *word == "no-values" => options.values = false,
                None if *word == "check-types" => options.check_types = true,
                None if *word == "trust-defaults" => options.defaults_are_constant = true,
                None if *word == "trust-names" => options.names_are_trusted = true,
                _ => return Err(format!("`infer` does not know `{word}`")),
            }
        }
        Ok(Self { options, versions, shapes })
    }

    /// The text at the newest of the versions.
    pub(super) fn newest(&self, text: &str) -> Result<Inferred, String> {
        let &version = self.versions.last().ok_or("the range of versions is empty")?;
        Inferred::new(text, version, &self.options)
    }
}

fn at_version(
    text: &str,
    version: Version,
    options: &InferOptions<'_>,
    shapes: Option<&str>,
) -> Result<Outcome, String> {
    let inferred = Inferred::new(text, version, options)?;
    let (body, _) = inferred.say(text);
    let mut sink = inferred.inference.findings().clone();
    if let Some(shapes) = shapes {
        sink.merge(given::check(&inferred.model, &inferred.inference, shapes)?);
    }
    let findings = sink.diagnostics().iter().map(Finding::new).collect();
    Ok(Outcome { findings, body: Some(body) })
}

/// A model with what is inferred of it.
pub(super) struct Inferred {
    pub(super) model: Model,
    inference: Inference,
}

impl Inferred {
    fn new(text: &str, version: Version, options: &InferOptions<'_>) -> Result<Self, String> {
        let model = parse_at(text, version)?;
        let registry = contrib::registry();
        let inference = infer(&model, &options.clone().with_registry(&registry));
        Ok(Self { model, inference })
    }

    /// The text behind its directives, with every `# is:` filled in, and who wrote that.
    pub(super) fn say(&self, text: &str) -> (String, Writer<'_>) {
        let Self { model, inference } = self;
        let mut writer = Writer { model, inference, unknown: HashMap::new() };
        let body = fill(text, model, |node| writer.node(node));
        (body, writer)
    }

    /// Returns `true` if the elements of an output of the node are given.
    pub(super) fn has_content(&self, node: NodeId) -> bool {
        self.model.node(node).outputs().iter().flatten().any(|&value| self.inference.content(value).is_some())
    }
}

/// Says what values are, with a number for each size that nothing is known about.
pub(super) struct Writer<'a> {
    model: &'a Model,
    inference: &'a Inference,
    unknown: HashMap<Symbol, usize>,
}

impl Writer<'_> {
    fn node(&mut self, node: NodeId) -> String {
        let outputs: Vec<String> =
            self.model.node(node).outputs().iter().flatten().map(|&value| self.value(value)).collect();
        outputs.join("; ")
    }

    /// The type of a value, and its elements where they are followed.
    pub(super) fn value(&mut self, value: ValueId) -> String {
        let mut said = match self.inference.ty(value) {
            Ty::Unknown => "?".to_owned(),
            Ty::Tensor(elem, dims) => self.tensor(elem, dims.as_deref()),
            Ty::Other(ty) => self.ty(&ty),
        };
        if let Some(content) = self.inference.content(value) {
            let elems: Vec<String> = content.iter().map(|&elem| self.elem(elem)).collect();
            let _ = write!(said, " = {{{}}}", elems.join(", "));
        }
        said
    }

    fn tensor(&mut self, elem: ElemType, dims: Option<&[Dim]>) -> String {
        let elem = if elem == ElemType::Undefined { "?" } else { elem.name() };
        match dims {
            None => elem.to_owned(),
            Some(dims) => {
                let dims: Vec<String> = dims.iter().map(|&dim| self.dim(dim)).collect();
                format!("{elem}[{}]", dims.join(", "))
            }
        }
    }

    fn ty(&mut self, ty: &Type) -> String {
        let inner = |writer: &mut Self| ty.inner().map_or("?".to_owned(), |inner| writer.ty(inner));
        match &ty.kind {
            TypeKind::Undefined => "?".to_owned(),
            TypeKind::Tensor(of) => self.tensor(of.elem, of.shape.as_ref().map(onnx_types::Shape::dims)),
            TypeKind::SparseTensor(of) => {
                format!("sparse({})", self.tensor(of.elem, of.shape.as_ref().map(onnx_types::Shape::dims)))
            }
            TypeKind::Sequence(_) => format!("seq({})", inner(self)),
            TypeKind::Optional(_) => format!("optional({})", inner(self)),
            TypeKind::Map { key, .. } => format!("map({}, {})", key.name(), inner(self)),
            TypeKind::Opaque { domain, name } => {
                format!("opaque({}, {})", self.model.str(*domain), self.model.str(*name))
            }
        }
    }

    fn dim(&mut self, dim: Dim) -> String {
        if dim.is_unknown() {
            return "?".to_owned();
        }
        let mut text = self.inference.display(self.model, dim).to_string();
        for symbol in self.inference.exprs().symbols(dim) {
            if self.inference.origin(symbol).is_some() {
                let next = self.unknown.len() + 1;
                let number = *self.unknown.entry(symbol).or_insert(next);
                text = replace_word(
                    &text,
                    &self.inference.names(self.model).name(symbol),
                    &format!("?{number}"),
                );
            }
        }
        text
    }

    fn elem(&mut self, elem: Elem) -> String {
        match elem {
            Elem::Unknown => "?".to_owned(),
            Elem::Int(dim) => self.dim(dim),
            Elem::Dyadic(dim, shift) => format!("({})/{}", self.dim(dim), 1_u64 << shift),
            Elem::Quotient(dim, by) => format!("({})/{by}", self.dim(dim)),
            Elem::Float(number) => number.to_string(),
        }
    }
}

/// Replaces a name where it is a whole word: `unk__1` is also the beginning of `unk__12`.
fn replace_word(text: &str, name: &str, with: &str) -> String {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        out.push_str(before);
        out.push_str(if whole { with } else { name });
        rest = after;
    }
    out.push_str(rest);
    out
}
