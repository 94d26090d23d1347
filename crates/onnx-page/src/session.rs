//! A model with everything that a page asks about it.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use onnx_codec::{EncodeOptions, encode};
use onnx_diag::Sink;
use onnx_draw::{Marks, Scene, SceneOptions, Summary};
use onnx_ir::Model;
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Inference, contrib, infer};
use onnx_types::Execution;
use onnx_types::tensor::{DataSource, NoData};
use serde_json::{Value, json};

use crate::compare::Pairs;
use crate::edits::Change;
use crate::request::{Request, Sided};
use crate::run::Values;
use crate::{about, compare, details, edits, facts, open, queries, run, versions, weight};

/// The message about work that was interrupted.
const CANCELLED: &str = "cancelled: the model is as it was before";

/// Changes that can be undone.
const MOST_UNDO: usize = 20;

/// A model with its inferred types and its scene, and another model with which it is compared. A copy shares the external data and
/// nothing else.
#[derive(Clone)]
pub struct Session {
    pub(crate) title: String,
    pub(crate) model: Model,
    pub(crate) source: Arc<dyn DataSource>,
    pub(crate) registry: Registry,
    pub(crate) execution: Execution,
    pub(crate) inference: Inference,
    /// What the checker and inference report.
    pub(crate) findings: Sink,
    pub(crate) scene: Scene,
    pub(crate) marks: Marks,
    pub(crate) summary: Summary,
    /// The values of the last run.
    pub(crate) values: Option<Values>,
    /// The older model of a comparison.
    pub(crate) other: Option<Box<Self>>,
    /// The nodes that correspond.
    pub(crate) pairs: Pairs,
    pub(crate) before: VecDeque<Model>,
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
        Self::with_shared(title, model, Arc::from(source), execution)
    }

    /// Like [`new`](Self::new), with external data that another session reads, too.
    fn with_shared(
        title: impl Into<String>,
        model: Model,
        source: Arc<dyn DataSource>,
        execution: Execution,
    ) -> Self {
        let registry = contrib::registry();
        let Look { inference, findings, scene, marks } = look(&model, &*source, &registry, &execution);
        let summary = scene.summary(&marks);
        let title = onnx_draw::shown(&title.into());
        Self {
            title,
            model,
            source,
            registry,
            execution,
            inference,
            findings,
            scene,
            marks,
            summary,
            values: None,
            other: None,
            pairs: Pairs::default(),
            before: VecDeque::new(),
        }
    }

    /// A session with a model from the bytes of a file: ONNX text, protobuf's text format or JSON by the extension of the name,
    /// otherwise binary. External data is not available.
    ///
    /// # Errors
    ///
    /// Returns the message if the bytes are not a model.
    pub fn open(name: &str, bytes: Bytes, execution: Execution) -> Result<Self, String> {
        Self::open_with(name, bytes, Box::new(NoData), execution)
    }

    /// Like [`open`](Self::open), with a source of external data.
    ///
    /// # Errors
    ///
    /// Returns the message if the bytes are not a model.
    pub fn open_with(
        name: &str,
        bytes: Bytes,
        source: Box<dyn DataSource>,
        execution: Execution,
    ) -> Result<Self, String> {
        let model = open::model(name, bytes, &execution)?;
        Ok(Self::new(name, model, source, execution))
    }

    /// Compares the model with an older one, which the page shows next to it.
    pub fn compare_with(&mut self, older: Self) {
        self.other = Some(Box::new(older));
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

    /// Answers a request: JSON in, JSON out, `{"ok": …}` or `{"error": message}`. A request that fails changes nothing. A
    /// request with `"side": 1` is about the older model of a comparison.
    pub fn call(&mut self, request: &str) -> String {
        let answer = match serde_json::from_str::<Sided>(request) {
            Ok(Sided { side: 0, request }) => self.answered(request),
            Ok(Sided { request, .. }) if request.reads() => match &mut self.other {
                Some(other) => other.answered(request),
                None => Err("no other model is open".to_owned()),
            },
            Ok(_) => Err("only the newer model of a comparison is changed".to_owned()),
            Err(error) => Err(format!("the request is not valid: {error}")),
        };
        match answer {
            Ok(value) => format!("{{\"ok\":{value}}}"),
            Err(message) => json!({ "error": message }).to_string(),
        }
    }

    /// Like [`call`](Self::call), with the interrupt and the receiver of progress that `adapt` gives to the execution of the session.
    /// What is interrupted fails, and changes nothing.
    pub fn call_adapted(&mut self, request: &str, adapt: impl FnOnce(Execution) -> Execution) -> String {
        let own = self.execution.clone();
        let of_other = self.other.as_ref().map(|other| other.execution.clone());
        let adapted = adapt(own.clone());
        if let Some(other) = &mut self.other {
            other.execution = adapted.clone();
        }
        self.execution = adapted;
        let answer = self.call(request);
        self.execution = own;
        if let Some(other) = &mut self.other {
            // One that is new has the execution of this session.
            other.execution = of_other.unwrap_or_else(|| self.execution.clone());
        }
        answer
    }

    /// Fails if the work was interrupted: then results may be those of a part of it.
    fn proceed(&self) -> Result<(), String> {
        self.execution.interrupt.check().map_err(|_| CANCELLED.to_owned())
    }

    fn answered(&mut self, request: Request) -> Result<String, String> {
        match request {
            // Levels are large and are JSON already.
            Request::Level { id } => Ok(onnx_draw::level_json(&self.scene, id, &self.summary)),
            Request::Levels { ids, labels } => self.levels(&ids, labels),
            request => {
                let reads = request.reads();
                let answer = self.answer(request);
                // What was changed is changed, also if it was interrupted just then.
                if reads || answer.is_err() {
                    self.proceed()?;
                }
                answer.map(|value| value.to_string())
            }
        }
    }

    fn levels(&self, ids: &[usize], labels: bool) -> Result<String, String> {
        let mut levels = Vec::with_capacity(ids.len());
        for &id in ids {
            self.proceed()?;
            levels.push(onnx_draw::level_json(&self.scene, id, &self.summary));
        }
        let labels: Vec<Value> =
            if labels { ids.iter().map(|&id| run::labels(self, id)).collect() } else { Vec::new() };
        Ok(format!("{{\"levels\":[{}],\"labels\":{}}}", levels.join(","), Value::from(labels)))
    }

    fn answer(&mut self, request: Request) -> Result<Value, String> {
        match request {
            Request::Overview => Ok(queries::overview(self)),
            Request::Level { .. } | Request::Levels { .. } => Ok(Value::Null),
            Request::Search { text } => Ok(queries::search(self, &text)),
            Request::Path { from, to } => queries::path(self, from, to),
            Request::Model => Ok(about::model(self)),
            Request::Details { level, item, folded } => details::details(self, (level, item), folded),
            Request::Weight { level, item, input, folded } => {
                weight::weight(self, details::node_at(self, (level, item), folded)?, input)
            }
            Request::Findings => Ok(queries::findings(self)),
            Request::Cost { sizes } => {
                let (answer, marks) = queries::cost(self, &sizes)?;
                self.proceed()?;
                self.marked(marks);
                Ok(answer)
            }
            Request::Text { level, item } => queries::text(self, level, item),
            Request::Picture { open, color } => queries::picture(self, open, &color),
            Request::Versions => versions::versions(self),
            Request::Run { sizes, seed } => {
                let (answer, values) = run::run(self, &sizes, seed)?;
                self.proceed()?;
                self.values = Some(values);
                Ok(answer)
            }
            Request::Compare => compare::compare(self),
            Request::Before => self.compare_with_before(),
            Request::Single => {
                self.other = None;
                let mut marks = std::mem::take(&mut self.marks);
                marks.changes.clear();
                self.marked(marks);
                Ok(Value::Null)
            }
            Request::Counterpart { level, item, from } => Ok(compare::counterpart(self, (level, item), from)),
            Request::Repair => self.change(|_, model| Ok(edits::repair(model))),
            Request::Simplify { prove } => {
                self.change(|session, model| edits::simplify(session, model, prove))
            }
            Request::Convert { version } => {
                self.change(|session, model| versions::convert(session, model, version))
            }
            Request::Extract { level, item } => {
                self.change(|session, model| edits::extract(session, model, level, item))
            }
            Request::Undo => self.undo(),
        }
    }

    /// Compares the model with what it was before the last change.
    fn compare_with_before(&mut self) -> Result<Value, String> {
        let before = self.before.back().ok_or("nothing was changed")?.clone();
        let title = format!("{} before", self.title);
        let (source, execution) = (Arc::clone(&self.source), self.execution.clone());
        let other = Self::with_shared(title, before, source, execution);
        self.proceed()?;
        let previous = self.other.replace(Box::new(other));
        let found = compare::compare(self);
        if found.is_err() {
            self.other = previous;
        }
        found
    }

    fn undo(&mut self) -> Result<Value, String> {
        let before = self.before.back().ok_or("nothing was changed")?;
        let look = self.look(before)?;
        if let Some(before) = self.before.pop_back() {
            self.model = before;
            self.looked(look);
        }
        Ok(json!({ "summary": format!("{} nodes", self.model.node_count()), "edits": [] }))
    }

    /// Changes a copy of the model, and keeps the old one for undoing.
    fn change(
        &mut self,
        apply: impl FnOnce(&Self, &mut Model) -> Result<Change, String>,
    ) -> Result<Value, String> {
        let mut model = self.model.clone();
        let change = apply(self, &mut model)?;
        self.proceed()?;
        if !change.edits.is_empty() {
            // Edits make values without names, which the page shows and the file will have.
            model.settle_names();
            let look = self.look(&model)?;
            let before = std::mem::replace(&mut self.model, model);
            self.before.push_back(before);
            if self.before.len() > MOST_UNDO {
                self.before.pop_front();
            }
            self.looked(look);
        }
        Ok(change.json())
    }

    /// Replaces the marks of the picture.
    pub(crate) fn marked(&mut self, marks: Marks) {
        self.summary = self.scene.summary(&marks);
        self.marks = marks;
    }

    /// What is found out about another model, unless that is interrupted.
    fn look(&self, model: &Model) -> Result<Look, String> {
        let look = look(model, &*self.source, &self.registry, &self.execution);
        self.proceed().map(|()| look)
    }

    /// Takes what was found out about the model.
    fn looked(&mut self, look: Look) {
        self.summary = look.scene.summary(&look.marks);
        (self.inference, self.findings) = (look.inference, look.findings);
        (self.scene, self.marks) = (look.scene, look.marks);
        (self.values, self.pairs) = (None, Pairs::default());
    }
}

/// What is found out about a model when it is opened or changed.
struct Look {
    inference: Inference,
    findings: Sink,
    scene: Scene,
    marks: Marks,
}

/// Types, diagnostics, the scene, and the marks of diagnostics.
fn look(model: &Model, source: &dyn DataSource, registry: &Registry, execution: &Execution) -> Look {
    let options =
        InferOptions::default().with_registry(registry).with_data(source).with_execution(execution.clone());
    let inference = infer(model, &options);
    let groups = facts::block_groups(model, registry, execution);
    let options =
        SceneOptions::default().with_inference(Some(&inference)).with_registry(registry).with_groups(&groups);
    let scene = Scene::new(model, &options);
    let mut marks = Marks::default();
    let findings = facts::findings(model, &inference, registry, execution);
    facts::mark_findings(model, &findings, &mut marks);
    Look { inference, findings, scene, marks }
}
