//! Targets: what a runtime supports, as data, and what a model needs beyond it.

mod bodies;
mod combination;
mod quantization;
mod requires;
mod scales;
mod structure;
mod tolerance;
mod written;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

use onnx_diag::{Caps, Diagnostic, Locus, Policy, Quoted, Sink};
use onnx_functions::has_current_body;
use onnx_ir::{Callee, FunctionId, GraphId, Model, NodeId, Places, ValueTypes};
use onnx_rewrite::{Costs, IDIOM_FILES, IdiomSet, RuleFileError, RuleSet};
use onnx_schema::{FormalType, Registry, Schema, domain};
use onnx_types::TypeKind;
use serde::Deserialize;

pub use self::bodies::unsupported_in_bodies;
pub use self::combination::{Combination, Setting};
pub use self::quantization::{BiasFormat, QUANTIZATIONS, Quantization, QuantizedOperator, Scales};
pub use self::requires::{Operands, Requirements};
pub use self::scales::{ScaleForm, ScaleForms};
pub use self::tolerance::{RulePlace, ToleratedRule};
use crate::rules::TARGET_LACKS_FEATURE;

/// The targets of this crate: name and JSON text.
pub const TARGETS: &[(&str, &str)] = &[
    ("ncnn", include_str!("../targets/ncnn.json")),
    ("onnxruntime", include_str!("../targets/onnxruntime.json")),
    ("openvino", include_str!("../targets/openvino.json")),
    ("tensorrt", include_str!("../targets/tensorrt.json")),
];

/// What a runtime supports. The format of its JSON form is `onnx-target/1`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Target {
    /// The format: `onnx-target/1`.
    schema: String,
    /// The name of the runtime.
    pub name: String,
    /// The version of the runtime.
    pub version: String,
    /// One line about it.
    #[serde(default)]
    pub summary: String,
    /// The greatest IR version that it reads.
    pub ir_version: Option<i64>,
    /// The greatest version of each operator set that it reads; the default domain is the empty text, or `ai.onnx` in JSON.
    #[serde(default, deserialize_with = "written::opset")]
    pub opset: BTreeMap<String, i64>,
    /// An operator without a kernel runs as its body, if the standard has one.
    #[serde(default)]
    pub expands_functions: bool,
    /// It infers all graphs when it loads a model, so that a contradiction in a branch that is never taken keeps it from loading.
    #[serde(default)]
    pub infers_all_graphs: bool,
    /// Rules and operators of contradictions that its inference does not find, so that they do not keep it from loading a model.
    #[serde(default)]
    pub overlooks: Vec<ToleratedRule>,
    /// Where the condition of an `If` is a constant, or computed from constants, it drops the other branch before it looks for
    /// kernels.
    #[serde(default)]
    pub drops_branches: bool,
    /// The types that inputs of a model may have, such as `seq(tensor(float))`; without any, all types.
    #[serde(default)]
    pub types: BTreeSet<String>,
    /// The types that arguments may have which the body of the function does not use; without any, all types.
    #[serde(default)]
    pub unused_arguments: BTreeSet<String>,
    /// Element types that it converts to others to run a node.
    #[serde(default, deserialize_with = "written::casts")]
    pub casts: Vec<(String, String)>,
    /// Rules whose errors do not keep it from loading a model: they are warnings of a check for it. What it does not tolerate of
    /// some of them, such as cycles of ONNX2312, are errors ONNX5101.
    #[serde(default)]
    pub tolerates: Vec<ToleratedRule>,
    /// Codes of rules, such as `ONNX2205`, of which any violation keeps it from loading a model: they are errors of a check for it.
    #[serde(default)]
    pub refuses: Vec<String>,
    /// Patterns in the language of rule files that it makes one kernel of. Simplification keeps them whole.
    #[serde(default)]
    pub idioms: Vec<String>,
    /// Costs of nodes of some operators, where they differ from the common ones.
    #[serde(default)]
    pub costs: BTreeMap<String, u64>,
    /// How it wants quantized models.
    #[serde(default)]
    pub quantization: Option<Quantization>,
    /// The operators that it has kernels for, each once.
    #[serde(deserialize_with = "written::operators")]
    pub operators: Vec<TargetOperator>,
}

/// An operator of a target.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TargetOperator {
    /// The domain; empty for that of ONNX.
    pub domain: String,
    /// The name.
    pub name: String,
    /// What is supported, by the versions of the operator.
    pub kernels: Vec<TargetKernel>,
    /// What nodes need to be loaded, beyond the specification.
    pub requires: Requirements,
    /// What nodes need to run, beyond what they need to be loaded. A node that may never run does not need it.
    pub requires_to_run: Requirements,
}

/// Versions of an operator, and the types of its kernels.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TargetKernel {
    /// The first version in which the operator changed that is supported.
    pub since: i64,
    /// The last one; without it, all later ones.
    pub until: Option<i64>,
    /// Combinations of types by variables of the schema, such as `{"T": ["tensor(float)"]}`; without any, all types.
    #[serde(default)]
    pub types: Vec<BTreeMap<String, BTreeSet<String>>>,
}

impl TargetKernel {
    /// Returns `true` for a version of the operator that the kernel supports.
    fn covers(&self, version: i64) -> bool {
        self.since <= version && self.until.is_none_or(|until| version <= until)
    }
}

/// Why a text is not a target.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The text is not JSON, or has other keys.
    #[error("the text is not a target: {0}")]
    Json(#[from] serde_json::Error),
    /// The text is in another format.
    #[error("the format of the target is `{0}`, not `onnx-target/1`")]
    Format(String),
    /// A code is both in `tolerates` and in `refuses`.
    #[error("the target both tolerates and refuses {0}")]
    Contradiction(String),
}

impl Target {
    /// Reads a target from its JSON text.
    ///
    /// # Errors
    ///
    /// If the text is not in the format.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let target: Self = serde_json::from_str(text)?;
        if target.schema != "onnx-target/1" {
            return Err(TargetError::Format(target.schema.chars().take(40).collect()));
        }
        if let Some(both) = target.refuses.iter().find(|code| target.does_tolerate(code)) {
            return Err(TargetError::Contradiction(Quoted(both).to_string()));
        }
        Ok(target)
    }

    /// Returns `true` if its inference does not find a contradiction.
    #[must_use]
    pub fn does_overlook(&self, found: &Diagnostic) -> bool {
        let code = found.rule.id().to_string();
        self.overlooks.iter().any(|overlooked| overlooked.rule == code && overlooked.contains(&found.locus))
    }

    /// Returns `true` if it has a kernel for an operator of the standard, in some version. What a runtime expands into the body of
    /// the operator is slower than the nodes that the operator would replace.
    #[must_use]
    pub fn has_kernel(&self, operator: &str) -> bool {
        let mut own = self.operators.iter().filter(|own| own.domain.is_empty());
        own.any(|own| own.name == operator)
    }

    /// The rules of a set that put only operators that it has kernels of in the place of others.
    #[must_use]
    pub fn fitted(&self, rules: RuleSet) -> RuleSet {
        rules.for_operators(|operator| self.has_kernel(operator))
    }

    /// The groups of nodes that it makes one kernel of.
    ///
    /// # Errors
    ///
    /// Returns the mistakes in [`idioms`](Self::idioms).
    pub fn idiom_set(&self) -> Result<IdiomSet, RuleFileError> {
        IdiomSet::parse(&self.name, &self.idioms.join("\n"))
    }

    /// The costs of nodes: the common ones, and its own where they differ.
    #[must_use]
    pub fn all_costs(&self) -> Costs {
        Costs::standard().and(self.costs.clone())
    }

    /// The target of this crate with a name; `None` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        static READ: [OnceLock<Option<Target>>; TARGETS.len()] = [const { OnceLock::new() }; TARGETS.len()];
        let (&(name, text), cell) = TARGETS.iter().zip(&READ).find(|((known, _), _)| *known == name)?;
        let read = || {
            let mut target = Self::parse(text).ok()?;
            let idioms = IDIOM_FILES.iter().filter(|(of, _)| *of == name);
            target.idioms.extend(idioms.map(|(_, text)| (*text).to_owned()));
            target.quantization = Quantization::named(name);
            Some(target)
        };
        cell.get_or_init(read).as_ref()
    }
}

/// What to do about a node that a target cannot run.
const HELP: &str = "replace the node, or `--allow ONNX5101` if the runtime is extended by what is missing";

/// Everything that a model needs and a target lacks. A type that is not known is taken for one that the target supports.
///
/// ```
/// use onnx_compose::{Target, unsupported};
/// use onnx_ir::DeclaredTypes;
/// use onnx_schema::Registry;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let target = Target::parse(r#"{"schema": "onnx-target/1", "name": "tiny", "version": "1", "ir_version": 10,
///     "operators": [{"name": "Relu", "kernels": [{"since": 6, "types": [{"T": ["tensor(float)"]}]}]}]}"#)?;
/// let text = r#"<ir_version: 10, opset_import: ["": 21]> g (double[2] x) => (double[2] y) { a = Relu (x) y = Exp (a) }"#;
/// let model = parse_model(text, &ParseOptions::default())?;
/// let found = unsupported(&model, &target, &DeclaredTypes, Registry::STANDARD);
/// let messages: Vec<_> = found.diagnostics().iter().map(|found| found.message.as_str()).collect();
/// assert_eq!(
///     messages,
///     ["tiny 1 has no `Relu` (version 14) for `T` = tensor(double)", "tiny 1 has no operator `Exp` (version 13)"]
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn unsupported(model: &Model, target: &Target, types: &dyn ValueTypes, registry: &Registry) -> Sink {
    // The caller limits what is shown when it merges the findings.
    let mut sink = Sink::with(Policy::new(), Caps::NONE);
    let places = Places::new(model);
    let by_name = by_name(target);
    of_versions(model, target, &places, &mut sink);
    structure::of_order(model, target, &places, &mut sink);
    structure::of_interface(model, target, &places, &mut sink);
    structure::of_types(model, target, &places, &mut sink);
    structure::of_empty(model, target, &places, &mut sink);
    structure::of_initializers(model, target, &places, &mut sink);
    structure::of_early_versions(model, target, &places, &mut sink);
    let mut dropped = bodies::dropped_branches(model, target, types, registry);
    let graphs: Vec<GraphId> = if target.expands_functions {
        bodies::reached_graphs(model, registry, &mut dropped)
    } else {
        model.all_graphs().collect()
    };
    let always_run = bodies::always_run(model, registry);
    for graph in graphs {
        let is_dropped = dropped.contains(&graph);
        let is_always_run = always_run.contains(&graph);
        for node in model.nodes(graph) {
            let cx = Cx { model, target, types, node, is_always_run, is_dropped };
            let lacking = cx.lacking(&by_name, registry);
            if let Some(lacking) = lacking {
                let message = format!("{} {} has {lacking}", target.name, target.version);
                sink.report(Diagnostic::new(&TARGET_LACKS_FEATURE, places.node(node), message).help(HELP));
            }
        }
    }
    sink
}

/// The operators of a target, by domain and name.
type ByName<'a> = HashMap<(&'a str, &'a str), &'a TargetOperator>;

fn by_name(target: &Target) -> ByName<'_> {
    let operators = target.operators.iter();
    operators.map(|operator| ((operator.domain.as_str(), operator.name.as_str()), operator)).collect()
}

/// The versions of the format and of operator sets, those that functions import included: they are read even if nothing calls them.
fn of_versions(model: &Model, target: &Target, places: &Places<'_>, sink: &mut Sink) {
    let runtime = format!("{} {}", target.name, target.version);
    let mut report = |place: &Locus, message| {
        sink.report(Diagnostic::new(&TARGET_LACKS_FEATURE, place.clone(), message));
    };
    let version = model.info().ir_version;
    if let Some(greatest) = target.ir_version
        && version > greatest
    {
        let message = format!("{runtime} reads IR versions up to {greatest}, not {version}");
        report(&Locus::model(), message);
    }
    let of_functions = model.functions().iter().map(|&function| {
        let imports = &model.function(function).opset_imports;
        (places.function(function), imports)
    });
    for (place, imports) in std::iter::once((Locus::model(), &model.info().opset_imports)).chain(of_functions)
    {
        for import in imports {
            let domain = model.str(import.domain());
            let domain = if domain == "ai.onnx" { "" } else { domain };
            let Some(&greatest) = target.opset.get(domain) else { continue };
            if import.version() > greatest {
                let name = Quoted(if domain.is_empty() { "ai.onnx" } else { domain });
                let message =
                    format!("{runtime} reads {name} up to version {greatest}, not {}", import.version());
                report(&place, message);
            }
        }
    }
}

fn full_name(domain: &str, op: &str) -> String {
    let dot = if domain.is_empty() || op.is_empty() { "" } else { "." };
    format!("{domain}{dot}{op}")
}

/// A node, and what it is compared with.
struct Cx<'a> {
    model: &'a Model,
    target: &'a Target,
    types: &'a dyn ValueTypes,
    node: NodeId,
    /// Each run of the model runs the node.
    is_always_run: bool,
    /// The target drops the graph before it looks for kernels.
    is_dropped: bool,
}

impl Cx<'_> {
    /// What the target lacks for the node, as the rest of a sentence.
    fn lacking(&self, by_name: &ByName<'_>, registry: &Registry) -> Option<String> {
        match self.model.callee(self.node, registry) {
            Callee::Function(function) => self.of_arguments(function),
            Callee::Standard(schema) if self.is_dropped && self.is_known(schema) => None,
            Callee::Standard(schema) => {
                let key = (schema.domain_name(), schema.name());
                self.of_schema(schema, by_name.get(&key).copied())
            }
            _ => {
                let record = self.model.node(self.node);
                let [domain, op] = [record.domain(), record.op()].map(|part| self.model.str(part));
                let name = Quoted(&full_name(domain, op)).to_string();
                match by_name.get(&(domain, op)) {
                    Some(operator) => self.unmet(operator, &name, None),
                    None => Some(format!("no operator {name}")),
                }
            }
        }
    }

    /// What the target lacks for a node of a standard operator, as the rest of a sentence.
    fn of_schema(&self, schema: &'static Schema, operator: Option<&TargetOperator>) -> Option<String> {
        let name = full_name(schema.domain_name(), schema.name());
        let name = Quoted(&name).to_string();
        let unmet = operator.and_then(|operator| self.unmet(operator, &name, Some(schema)));
        if let Some(unmet) = unmet.or_else(|| self.of_body(schema, &name)) {
            return Some(unmet);
        }
        let lacking = self.of_kernels(schema, operator)?;
        if self.runs_as_body(schema) {
            return None;
        }
        let version = self.version_of(schema).filter(|_| self.may_have_body(schema) && schema.is_function());
        Some(match version {
            Some(version) => format!("{lacking}, and runs no body of it in operator set {version}"),
            None => lacking,
        })
    }

    /// The version in scope of the operator set of a schema.
    fn version_of(&self, schema: &Schema) -> Option<i64> {
        let graph = self.model.node(self.node).graph();
        self.model.versions_in(graph).get(schema.domain())
    }

    /// Returns `true` if the target puts the body of the operator into the place of the node. Bodies are not converted to the
    /// version of the model.
    fn runs_as_body(&self, schema: &'static Schema) -> bool {
        let is_current = |version| has_current_body(schema, version);
        self.may_have_body(schema) && self.version_of(schema).is_some_and(is_current)
    }

    /// A runtime registers no operators of a preview, so that it has no bodies of them.
    fn may_have_body(&self, schema: &Schema) -> bool {
        self.target.expands_functions && self.is_known(schema)
    }

    /// Returns `true` if the runtime reads nodes of the operator, whether it has a kernel or not.
    fn is_known(&self, schema: &Schema) -> bool {
        !schema.domain_name().starts_with("ai.onnx.preview")
    }

    /// The argument of a function that the target cannot give to it, as the rest of a sentence.
    fn of_arguments(&self, function: FunctionId) -> Option<String> {
        let allowed = &self.target.unused_arguments;
        let formal = self.model.graph(self.model.function(function).body()).inputs();
        let arguments = self.model.node(self.node).inputs();
        let mut unused =
            formal.iter().zip(arguments).filter(|(formal, _)| !self.model.value(**formal).is_used());
        let ty = unused.find_map(|(_, value)| {
            let ty = structure::spelled(&self.types.type_of(self.model, value?)?)?;
            (!allowed.is_empty() && !allowed.contains(&ty)).then_some(ty)
        })?;
        Some(format!("no functions with an argument of the type {ty} that they do not use"))
    }

    /// The kernel that the target lacks for a node of a standard operator, as the rest of a sentence.
    fn of_kernels(&self, schema: &Schema, operator: Option<&TargetOperator>) -> Option<String> {
        let name = full_name(schema.domain_name(), schema.name());
        let (name, version) = (Quoted(&name).to_string(), schema.since_version());
        let is_in = |kernel: &&TargetKernel| kernel.covers(version);
        let kernels: Vec<&TargetKernel> =
            operator.map(|operator| operator.kernels.iter().filter(is_in).collect()).unwrap_or_default();
        if operator.is_none() {
            return Some(format!("no operator {name} (version {version})"));
        }
        if kernels.is_empty() {
            return Some(format!("no version {version} of {name}"));
        }
        let bound = self.bound(schema);
        let combinations = || kernels.iter().flat_map(|kernel| &kernel.types);
        let has_any = kernels.iter().any(|kernel| kernel.types.is_empty());
        if has_any || combinations().any(|types| bound.iter().all(|(var, ty)| self.allows(types, var, ty))) {
            return None;
        }
        // The variables that no combination has the type for; if each has one, all together.
        let is_missing =
            |(var, ty): &&(&str, String)| !combinations().any(|types| self.allows(types, var, ty));
        let mut missing: Vec<&(&str, String)> = bound.iter().filter(is_missing).collect();
        if missing.is_empty() {
            missing = bound.iter().collect();
        }
        let missing: Vec<String> = missing.iter().map(|(var, ty)| format!("`{var}` = {ty}")).collect();
        Some(format!("no {name} (version {version}) for {}", missing.join(", ")))
    }

    /// The types of the variables of a schema, as far as they are known.
    fn bound<'s>(&self, schema: &'s Schema) -> Vec<(&'s str, String)> {
        let record = self.model.node(self.node);
        let mut bound: Vec<(&str, String)> = Vec::new();
        let formals = [
            (schema.inputs(), record.inputs().collect::<Vec<_>>()),
            (schema.outputs(), record.outputs().to_vec()),
        ];
        for (formals, values) in formals {
            for (index, value) in values.into_iter().enumerate() {
                let Some(formal) = formals.get(index).or(formals.last()) else { continue };
                let Some(ty) = value.and_then(|value| self.types.type_of(self.model, value)) else {
                    continue;
                };
                let known = match &ty.kind {
                    TypeKind::Tensor(_) if ty.elem() != onnx_types::ElemType::Undefined => {
                        format!("tensor({})", ty.elem())
                    }
                    _ => continue,
                };
                let FormalType::Variable(number) = formal.ty else { continue };
                let Some(constraint) = schema.constraints().get(usize::from(number)) else { continue };
                let is_new = !bound.iter().any(|(other, _)| *other == constraint.variable);
                if is_new && formal.is_homogeneous {
                    bound.push((constraint.variable, known));
                }
            }
        }
        bound
    }

    /// Returns `true` if a combination has a type for a variable, possibly after a cast.
    fn allows(&self, types: &BTreeMap<String, BTreeSet<String>>, var: &str, ty: &str) -> bool {
        let Some(allowed) = types.get(var) else { return true };
        let is_cast = |(from, to): &(String, String)| {
            format!("tensor({from})") == ty && allowed.contains(&format!("tensor({to})"))
        };
        allowed.contains(ty) || (self.target.casts.iter().any(is_cast) && self.can_cast())
    }

    /// Casts are nodes of the operator set of the graph: the target needs a kernel for that version of `Cast`, if it lists any.
    fn can_cast(&self) -> bool {
        let mut operators = self.target.operators.iter();
        let cast = operators.find(|operator| operator.domain.is_empty() && operator.name == "Cast");
        let graph = self.model.node(self.node).graph();
        let imported = self.model.versions_in(graph).get(domain::ONNX);
        let (Some(cast), Some(imported)) = (cast, imported) else { return true };
        let symbol = onnx_schema::op_symbol("Cast");
        let versions = symbol.map(|op| onnx_schema::versions(domain::ONNX, op)).unwrap_or_default();
        let current = versions.iter().map(Schema::since_version).filter(|&version| version <= imported).max();
        current.is_none_or(|version| cast.kernels.iter().any(|kernel| kernel.covers(version)))
    }
}
