//! Facts about a model, as data without behavior that also serializes to the JSON form of `onnx info`.

use serde::Serialize;

use super::types::DimFact;
use crate::versions::SetFacts;

/// Everything that `onnx info` says about a model.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Facts {
    /// The name of the file, under the key that all reports of models have.
    pub(super) name: String,
    /// The same under the key that this report had first.
    pub(super) file: String,
    pub(super) format: &'static str,
    /// The size of the file.
    pub(super) bytes: u64,
    pub(super) ir_version: i64,
    /// The first and the last ONNX release of that IR version.
    pub(super) ir_releases: Option<[&'static str; 2]>,
    pub(super) producer_name: String,
    pub(super) producer_version: String,
    pub(super) domain: String,
    pub(super) model_version: i64,
    pub(super) doc_string: String,
    pub(super) opsets: Vec<Opset>,
    pub(super) metadata: Vec<Property>,
    pub(super) graph: GraphFacts,
    pub(super) inputs: Vec<Port>,
    pub(super) outputs: Vec<Port>,
    pub(super) operators: Vec<Operator>,
    pub(super) functions: Vec<FunctionFacts>,
    pub(super) weights: Weights,
    /// What reading the file found.
    pub(super) findings: Findings,
    /// What each version of the operator sets would need, with `--versions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) versions: Option<Vec<SetFacts>>,
}

/// An opset import.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Opset {
    /// The domain; `ai.onnx` where the file has the empty one.
    pub(super) domain: String,
    pub(super) version: i64,
    /// The first ONNX release that has it.
    pub(super) release: Option<&'static str>,
    pub(super) status: OpsetStatus,
}

/// What is known of an operator set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OpsetStatus {
    /// A version that ONNX has.
    Known,
    /// A version that this program does not know.
    Unknown,
    /// A domain of the model's own functions.
    Functions,
    /// A domain of operators that onnxruntime adds.
    Onnxruntime,
    /// A domain that ONNX does not define.
    Custom,
}

/// An entry of the metadata.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Property {
    pub(super) key: String,
    pub(super) value: String,
}

/// The graphs in numbers.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct GraphFacts {
    pub(super) name: String,
    /// The nodes of the main graph itself.
    pub(super) nodes: u64,
    /// The nodes of all graphs.
    pub(super) all_nodes: u64,
    pub(super) all_values: u64,
    /// The graphs in attributes of nodes.
    pub(super) subgraphs: u64,
    /// How many graphs enclose the innermost one.
    pub(super) depth: u64,
    pub(super) training_steps: u64,
    pub(super) quantization_annotations: u64,
    pub(super) device_configurations: u64,
}

/// An input or output of the main graph.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Port {
    pub(super) name: String,
    /// The type for people; names in it are escaped.
    pub(super) r#type: String,
    /// The element type of a tensor.
    pub(super) element_type: Option<&'static str>,
    /// The dimensions: sizes, texts, or `null` where nothing is known; `null` as a whole where not even the rank is.
    pub(super) shape: Option<Vec<DimFact>>,
    /// Whether an initializer gives the default of an input.
    pub(super) has_default: bool,
}

/// How often an operator is used.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Operator {
    pub(super) domain: String,
    pub(super) name: String,
    pub(super) count: u64,
    pub(super) status: OperatorStatus,
}

/// What is known of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OperatorStatus {
    /// ONNX defines it in the imported version.
    Known,
    /// The model defines it.
    Function,
    /// onnxruntime defines it.
    Onnxruntime,
    /// Its domain is none of ONNX.
    Custom,
    /// ONNX defines it, but it is deprecated in the imported version.
    Deprecated,
    /// ONNX defines it, but not in the imported version.
    Version,
    /// The domain is one of ONNX, but is not imported.
    Unimported,
    /// The domain is one of ONNX, and has no such operator.
    Unknown,
}

/// A function of the model.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FunctionFacts {
    pub(super) domain: String,
    pub(super) name: String,
    pub(super) overload: String,
    pub(super) calls: u64,
    pub(super) nodes: u64,
    /// Number of nodes that inlining one call creates; `null` if it does not end.
    pub(super) expanded_nodes: Option<u64>,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    /// Attributes that every call must give, and those with a default.
    pub(super) attributes: Vec<String>,
    pub(super) optional_attributes: Vec<String>,
    pub(super) opsets: Vec<FunctionOpset>,
}

/// An opset import of a function.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FunctionOpset {
    pub(super) domain: String,
    pub(super) version: i64,
}

/// Weights: initializers of all graphs, and tensors in attributes.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Weights {
    /// Initializers, dense and sparse.
    pub(super) initializers: Tally,
    pub(super) sparse_initializers: u64,
    /// Tensors in attributes, mostly of `Constant`.
    pub(super) constants: Tally,
    /// Both together, by element type, the largest first.
    pub(super) by_type: Vec<TypeTally>,
    /// What of both is in the model itself.
    pub(super) inside: Tally,
    /// What of both is in other files, by file.
    pub(super) external: Vec<ExternalFile>,
}

/// Tensors in numbers.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Tally {
    pub(super) tensors: u64,
    pub(super) elements: u64,
    pub(super) bytes: u64,
}

impl Tally {
    /// Adds a tensor. Sums stay at the greatest number, as hostile models can claim anything.
    pub(super) fn add(&mut self, elements: u64, bytes: u64) {
        self.tensors = self.tensors.saturating_add(1);
        self.elements = self.elements.saturating_add(elements);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The tensors of one element type.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TypeTally {
    pub(super) element_type: &'static str,
    #[serde(flatten)]
    pub(super) tally: Tally,
}

/// A file of external data.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ExternalFile {
    pub(super) location: String,
    #[serde(flatten)]
    pub(super) tally: Tally,
    /// The size of the file, when it is there.
    pub(super) file_bytes: Option<u64>,
    pub(super) problem: Option<String>,
}

/// What reading the file found.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Findings {
    pub(super) errors: u64,
    pub(super) warnings: u64,
    pub(super) notes: u64,
}
