//! What was observed when a model ran.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// What was observed of one model.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// The nodes that were refused, with the reason; what depends on them was removed, too.
    pub removed: BTreeMap<String, String>,
    /// Why nothing ran.
    pub load: Option<String>,
    /// Whether the runtime ended.
    pub is_crash: bool,
    /// The answer as it came.
    pub source: Json,
    /// The runs, for each binding with several sets of data.
    pub runs: Vec<Run>,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The index of the binding.
    pub binding: usize,
    /// The values by name; none where the run failed.
    pub values: Option<BTreeMap<String, Seen>>,
    /// Why it failed.
    pub error: Option<String>,
}

/// A value of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// A tensor.
    Tensor {
        /// The name of the element type.
        elem: String,
        /// The sizes.
        dims: Vec<i64>,
        /// The elements of a small tensor of numbers; `null` stands for infinities and NaN.
        elements: Option<Vec<Json>>,
    },
    /// A sequence.
    Sequence(Vec<Seen>),
    /// An optional value that is absent.
    Absent,
}

impl Seen {
    fn parse(json: &Json) -> Option<Self> {
        if let Some(items) = json.get("sequence") {
            return items.as_array()?.iter().map(Self::parse).collect::<Option<_>>().map(Self::Sequence);
        }
        if json.get("none").is_some() {
            return Some(Self::Absent);
        }
        Some(Self::Tensor {
            elem: json.get(0)?.as_str()?.to_owned(),
            dims: json.get(1)?.as_array()?.iter().map(Json::as_i64).collect::<Option<_>>()?,
            elements: json.get(2).and_then(Json::as_array).cloned(),
        })
    }

    /// The sizes of a tensor.
    #[must_use]
    pub fn dims(&self) -> Option<&[i64]> {
        match self {
            Self::Tensor { dims, .. } => Some(dims),
            _ => None,
        }
    }

    /// The element type and the sizes, as in a report.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Tensor { elem, dims, .. } => format!("{elem}{dims:?}"),
            Self::Sequence(items) => {
                let items: Vec<String> = items.iter().map(Self::text).collect();
                format!("sequence of {}", items.join(", "))
            }
            Self::Absent => "absent".to_owned(),
        }
    }
}

impl Observation {
    /// Reads the answer of `tests/conformance/attack.py`.
    #[must_use]
    pub fn parse(json: &Json) -> Self {
        let removed = json.get("removed").and_then(Json::as_object).into_iter().flatten();
        let runs = json.get("runs").and_then(Json::as_array).into_iter().flatten();
        let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
        Self {
            removed: removed.map(|(name, reason)| (name.clone(), text(reason))).collect(),
            source: json.clone(),
            is_crash: json.get("crash").is_some(),
            load: json.get("load").and_then(Json::as_str).map(str::to_owned),
            runs: runs.filter_map(run).collect(),
        }
    }
}

fn run(json: &Json) -> Option<Run> {
    let binding = usize::try_from(json.get("binding")?.as_u64()?).ok()?;
    let values = json.get("values").and_then(Json::as_object).map(|values| {
        values.iter().filter_map(|(name, value)| Some((name.clone(), Seen::parse(value)?))).collect()
    });
    Some(Run { binding, values, error: json.get("error").and_then(Json::as_str).map(str::to_owned) })
}
