//! A model with everything that a page asks about it.

use std::collections::VecDeque;

use bytes::Bytes;
use onnx_codec::{DecodeOptions, EncodeOptions, decode, encode};
use onnx_draw::{Marks, Scene, SceneOptions, Summary};
use onnx_ir::Model;
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Inference, contrib, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Execution;
use onnx_types::tensor::{DataSource, NoData};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{facts, queries};

/// Changes that can be undone.
const MOST_UNDO: usize = 20;

/// A summary and the edits of a change.
pub(crate) type Change = (String, Vec<String>);

/// A model with its inferred types and its scene.
pub struct Session {
    pub(crate) title: String,
    pub(crate) model: Model,
    pub(crate) source: Box<dyn DataSource>,
    pub(crate) registry: Registry,
    pub(crate) execution: Execution,
    pub(crate) inference: Inference,
    pub(crate) scene: Scene,
    pub(crate) marks: Marks,
    pub(crate) summary: Summary,
    before: VecDeque<Model>,
}

/// What a page asks.
#[derive(Debug, Deserialize)]
#[serde(tag = "call", rename_all = "lowercase")]
enum Request {
    Overview,
    Level { id: usize },
    Search { text: String },
    Details { level: usize, item: usize },
    Findings,
    Repair,
    Cost { sizes: String },
    Simplify,
    Undo,
    Text { level: usize, item: i64 },
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("title", &self.title).finish_non_exhaustive()
    }
}

impl Session {
    /// A session with a model. Elements of external data come from `source`.
    #[must_use]
    pub fn new(
        title: impl Into<String>,
        model: Model,
        source: Box<dyn DataSource>,
        execution: Execution,
    ) -> Self {
        let registry = contrib::registry();
        let (inference, scene, marks) = look(&model, &*source, &registry, &execution);
        let summary = scene.summary(&marks);
        let title = onnx_draw::shown(&title.into());
        Self {
            title,
            model,
            source,
            registry,
            execution,
            inference,
            scene,
            marks,
            summary,
            before: VecDeque::new(),
        }
    }

    /// A session with a model from the bytes of a file: binary, or ONNX text if the name ends in `.onnxtxt`. External data is
    /// not available.
    ///
    /// # Errors
    ///
    /// Returns the message if the bytes are not a model.
    pub fn open(name: &str, bytes: Bytes, execution: Execution) -> Result<Self, String> {
        let model = if name.ends_with(".onnxtxt") {
            let options = ParseOptions::default().with_execution(execution.clone());
            parse_model(&bytes, &options).map_err(|error| error.to_string())?
        } else {
            let options = DecodeOptions::default().with_execution(execution.clone());
            let decoded = decode(bytes, &options).map_err(|error| error.to_string())?;
            if let Some(finding) = decoded.findings.diagnostics().iter().find(|finding| {
                // A file of another format decodes to an empty model.
                finding.severity == onnx_diag::Severity::Error && decoded.model.node_count() == 0
            }) {
                return Err(format!("{}: {}", onnx_draw::shown(name), finding.message));
            }
            decoded.model
        };
        Ok(Self::new(name, model, Box::new(NoData), execution))
    }

    /// The model.
    #[must_use]
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// The model as the bytes of a file.
    ///
    /// # Errors
    ///
    /// Returns the message if the model cannot be encoded.
    pub fn save(&self) -> Result<Vec<u8>, String> {
        let segments = encode(&self.model, &EncodeOptions::default()).map_err(|error| error.to_string())?;
        Ok(segments.to_vec())
    }

    /// Answers a request: JSON in, JSON out, `{"ok": …}` or `{"error": message}`. A request that fails changes nothing.
    pub fn call(&mut self, request: &str) -> String {
        let answer = match serde_json::from_str(request) {
            // A level is large and is JSON already.
            Ok(Request::Level { id }) => {
                return format!("{{\"ok\":{}}}", onnx_draw::level_json(&self.scene, id, &self.summary));
            }
            Ok(request) => self.answer(request),
            Err(error) => Err(format!("the request is not valid: {error}")),
        };
        match answer {
            Ok(value) => json!({ "ok": value }).to_string(),
            Err(message) => json!({ "error": message }).to_string(),
        }
    }

    fn answer(&mut self, request: Request) -> Result<Value, String> {
        match request {
            Request::Overview => Ok(queries::overview(self, self.before.len())),
            Request::Level { .. } => Ok(Value::Null),
            Request::Search { text } => Ok(queries::search(self, &text)),
            Request::Details { level, item } => queries::details(self, level, item),
            Request::Findings => Ok(queries::findings(self)),
            Request::Cost { sizes } => {
                let (answer, marks) = queries::cost(self, &sizes)?;
                self.marks = marks;
                self.summary = self.scene.summary(&self.marks);
                Ok(answer)
            }
            Request::Text { level, item } => queries::text(self, level, item),
            Request::Repair => self.change(queries::repair),
            Request::Simplify => self.change(queries::simplify),
            Request::Undo => {
                let model = self.before.pop_back().ok_or("nothing was changed")?;
                self.model = model;
                self.look_again();
                Ok(json!({ "summary": format!("{} nodes", self.model.node_count()), "edits": [] }))
            }
        }
    }

    /// Changes a copy of the model, and keeps the old one for undoing.
    fn change(&mut self, apply: fn(&Self, &mut Model) -> Result<Change, String>) -> Result<Value, String> {
        let mut model = self.model.clone();
        let (summary, edits) = apply(self, &mut model)?;
        if !edits.is_empty() {
            let before = std::mem::replace(&mut self.model, model);
            self.before.push_back(before);
            if self.before.len() > MOST_UNDO {
                self.before.pop_front();
            }
            self.look_again();
        }
        Ok(json!({ "summary": summary, "edits": edits }))
    }

    fn look_again(&mut self) {
        let (inference, scene, marks) = look(&self.model, &*self.source, &self.registry, &self.execution);
        self.summary = scene.summary(&marks);
        (self.inference, self.scene, self.marks) = (inference, scene, marks);
    }
}

/// Types, the scene, and the marks of diagnostics.
fn look(
    model: &Model,
    source: &dyn DataSource,
    registry: &Registry,
    execution: &Execution,
) -> (Inference, Scene, Marks) {
    let options =
        InferOptions::default().with_registry(registry).with_data(source).with_execution(execution.clone());
    let inference = infer(model, &options);
    let groups = facts::block_groups(model, registry, execution);
    let options =
        SceneOptions::default().with_inference(Some(&inference)).with_registry(registry).with_groups(&groups);
    let scene = Scene::new(model, &options);
    let mut marks = Marks::default();
    facts::mark_findings(model, &facts::findings(model, &inference, registry, execution), &mut marks);
    (inference, scene, marks)
}
