//! The shape of the extracted JSON.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Everything that the generator reads.
pub(super) struct Facts {
    pub(super) core: Core,
    pub(super) functions: Vec<Function>,
}

/// `onnx-<version>.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Core {
    onnx: String,
    pub(super) domains: Vec<Domain>,
    pub(super) releases: Vec<Release>,
    pub(super) type_sets: BTreeMap<String, Vec<String>>,
    pub(super) schemas: Vec<Schema>,
}

/// `functions-<version>.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionFile {
    onnx: String,
    functions: Vec<Function>,
}

/// The versions of a domain that the package knows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Domain {
    pub(super) domain: String,
    pub(super) min: u16,
    pub(super) max: u16,
}

/// One release of ONNX.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Release {
    pub(super) release: String,
    pub(super) ir: u16,
    pub(super) opsets: Vec<ReleaseOpset>,
}

/// The newest version of a domain in a release.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseOpset {
    pub(super) domain: String,
    pub(super) version: u16,
}

/// One operator at one version.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Schema {
    pub(super) op: String,
    pub(super) domain: String,
    pub(super) since: u16,
    #[serde(default)]
    pub(super) deprecated: bool,
    pub(super) support: Option<String>,
    pub(super) determinism: String,
    pub(super) inference: bool,
    pub(super) propagation: bool,
    pub(super) input_range: (u16, Option<u16>),
    pub(super) output_range: (u16, Option<u16>),
    #[serde(default)]
    pub(super) input_counts: Vec<u16>,
    #[serde(default)]
    pub(super) output_counts: Vec<u16>,
    #[serde(default)]
    pub(super) unchecked_attributes: bool,
    #[serde(default)]
    pub(super) functions: Vec<u16>,
    #[serde(default)]
    pub(super) context_functions: Vec<u16>,
    pub(super) inputs: Vec<Formal>,
    pub(super) outputs: Vec<Formal>,
    pub(super) constraints: Vec<Constraint>,
    pub(super) attributes: Vec<Attribute>,
}

/// A formal input or output.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Formal {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) ty: String,
    pub(super) option: Option<String>,
    pub(super) min_arity: Option<u16>,
    #[serde(default)]
    pub(super) heterogeneous: bool,
    pub(super) differentiation: Option<String>,
}

/// The types that a type variable may stand for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Constraint {
    pub(super) variable: String,
    pub(super) types: String,
}

/// A formal attribute.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) kind: String,
    #[serde(default)]
    pub(super) required: bool,
    pub(super) default: Option<Value>,
}

/// A static function body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Function {
    pub(super) op: String,
    pub(super) domain: String,
    pub(super) since: u16,
    pub(super) opset: u16,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    pub(super) attributes: Vec<String>,
    pub(super) nodes: Vec<BodyNode>,
    pub(super) body: String,
}

/// A node of a function body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BodyNode {
    pub(super) op: String,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    #[serde(default)]
    pub(super) attributes: BTreeMap<String, BodyAttribute>,
}

/// The value of an attribute in a function body.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum BodyAttribute {
    /// A reference to an attribute of the function.
    Ref {
        #[serde(rename = "ref")]
        target: String,
        kind: String,
    },
    Int {
        int: i64,
    },
    Ints {
        ints: Vec<i64>,
    },
    Float {
        float: Value,
    },
    /// A `float` tensor of rank 0.
    Scalar {
        scalar: Value,
    },
    Graph {
        graph: BodyGraph,
    },
}

/// A nested graph of a function body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BodyGraph {
    pub(super) name: String,
    /// The names, each with an element type.
    pub(super) inputs: Vec<(String, String)>,
    pub(super) outputs: Vec<String>,
    pub(super) nodes: Vec<BodyNode>,
}

impl Facts {
    /// Reads both files of the given ONNX version.
    pub(super) fn read(folder: &Path, version: &str) -> Result<Self, String> {
        let core: Core = read_json(&folder.join(format!("onnx-{version}.json")))?;
        let functions: FunctionFile = read_json(&folder.join(format!("functions-{version}.json")))?;
        for found in [&core.onnx, &functions.onnx] {
            if found != version {
                return Err(format!("the facts are of onnx {found}, expected {version}"));
            }
        }
        let key = |schema: &Schema| (schema.domain.clone(), schema.op.clone(), schema.since);
        if !core.schemas.is_sorted_by_key(key) {
            return Err("the schemas are not in order of domain, name and version".to_owned());
        }
        Ok(Self { core, functions: functions.functions })
    }
}

pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
