//! Models, which handles and all functions share.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::ThreadId;

use onnxkit::codec::externalize::{InlineDataOptions, inline};
use onnxkit::codec::{EncodeOptions, FileSource, encode};
use onnxkit::ir::{self, MetadataEntry};
use onnxkit::text::{PrintOptions, print_model};
use onnxkit::types::tensor::Payload;
use onnxkit::types::{Execution, Symbol};
use pyo3::prelude::*;
use pyo3::sync::RwLockExt as _;
use pyo3::types::{PyBytes, PyDict, PyMappingProxy, PyString, PyTuple};
use serde_json::Value as Json;

use crate::buffer::joined;
use crate::data::EndedData;
use crate::fault::{Fault, Outcome, bug};
use crate::graph::Graph;
use crate::json::to_py;
use crate::lists::{pairs_of_texts, text};
use crate::load::parse;
use crate::nodes::NodeIter;
use crate::number::{Int, int};
use crate::reserve;
use crate::save::{Form, Request, save, warn};
use crate::table;
use crate::work::Work;

/// Names whose strings are kept; a model with more makes a new string for each question.
const KEPT_NAMES: usize = 1 << 20;

/// What a [`Model`] holds behind its lock.
pub(crate) struct Inner {
    /// Shared with clones and with work that is under way: the first edit after that copies.
    pub(crate) model: Arc<ir::Model>,
    pub(crate) data: Arc<FileSource>,
    /// What the decoder repaired in the file; an edited model is not that of the file.
    findings: Arc<Vec<Json>>,
    /// The number of edits, in all and by thread.
    edits: u64,
    editors: Vec<(ThreadId, u64)>,
    /// Set by a panic in an edit: nothing is known about the state of the model.
    is_broken: bool,
}

impl Inner {
    /// The edits that other threads than this one made.
    pub(crate) fn foreign_edits(&self, thread: ThreadId) -> u64 {
        let own = self.editors.iter().find(|&&(editor, _)| editor == thread);
        self.edits.saturating_sub(own.map_or(0, |&(_, count)| count))
    }

    /// Whether the model was edited since it was made.
    pub(crate) fn is_edited(&self) -> bool {
        self.edits != 0
    }

    fn count_edit(&mut self) {
        self.edits += 1;
        let thread = std::thread::current().id();
        match self.editors.iter_mut().find(|&&mut (editor, _)| editor == thread) {
            Some((_, count)) => *count += 1,
            None => self.editors.push((thread, 1)),
        }
    }
}

/// The bytes of a model, the folders of its files, what tells these from others, and whether they are mapped.
type Sent<'py> = (Bound<'py, PyBytes>, Vec<PathBuf>, BTreeMap<String, String>, bool);

/// A model at one moment, for work that does not hold the lock.
pub(crate) struct Snapshot {
    pub(crate) model: Arc<ir::Model>,
    data: Arc<FileSource>,
    findings: Arc<Vec<Json>>,
    edits: u64,
}

impl Snapshot {
    /// The weights in other files, whose reading the work can be ended in.
    pub(crate) fn data(&self, execution: &Execution) -> EndedData {
        EndedData::new(self.kept_data(), execution)
    }

    /// The weights in other files for a tensor that outlives the call.
    pub(crate) fn kept_data(&self) -> Arc<FileSource> {
        Arc::clone(&self.data)
    }

    /// What the decoder repaired in the file that the model was read from, if it was not edited since.
    pub(crate) fn findings(&self) -> &[Json] {
        &self.findings
    }

    /// The model for edits; [`Model::adopt`] takes it back.
    pub(crate) fn editable(&mut self) -> &mut ir::Model {
        Arc::make_mut(&mut self.model)
    }

    /// A model with the same weights.
    pub(crate) fn sibling(&self, model: ir::Model) -> Model {
        Model::new(model, Arc::clone(&self.data))
    }
}

/// A model: a graph, its functions, and what the file says about them.
#[pyclass(frozen, weakref, module = "onnxkit")]
pub(crate) struct Model {
    inner: RwLock<Inner>,
    /// Changes when an edit begins, so that what was read before still holds without the lock if it is the same.
    moment: AtomicU64,
    strings: Mutex<Vec<Option<Py<PyString>>>>,
}

impl Model {
    pub(crate) fn new(model: ir::Model, data: Arc<FileSource>) -> Self {
        Self::shared(Arc::new(model), data)
    }

    /// The same with what the decoder repaired.
    pub(crate) fn with_findings(mut self, findings: Vec<Json>) -> Self {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner).findings = Arc::new(findings);
        self
    }

    fn shared(model: Arc<ir::Model>, data: Arc<FileSource>) -> Self {
        let (findings, editors) = (Arc::default(), Vec::new());
        let inner = Inner { model, data, findings, edits: 0, editors, is_broken: false };
        Self { inner: RwLock::new(inner), moment: AtomicU64::new(0), strings: Mutex::default() }
    }

    /// Asks the model a short question.
    pub(crate) fn read<T>(&self, py: Python<'_>, question: impl FnOnce(&Inner) -> Outcome<T>) -> PyResult<T> {
        // Errors become exceptions without the lock: that runs code of Python, which can do anything with the model.
        let answer = {
            let inner = self.inner.read_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            if inner.is_broken {
                Ok(Err(broken()))
            } else {
                catch_unwind(AssertUnwindSafe(|| question(&inner)))
            }
        };
        match answer {
            Ok(answer) => answer.map_err(PyErr::from),
            Err(panic) => Err(bug(&*panic)),
        }
    }

    /// A number that is another one after each edit. What was read together with it is still so as long as it is the same.
    pub(crate) fn moment(&self) -> u64 {
        self.moment.load(Ordering::Acquire)
    }

    /// Makes a short edit.
    pub(crate) fn write<T>(
        &self,
        py: Python<'_>,
        edit: impl FnOnce(&mut ir::Model) -> Outcome<T>,
    ) -> PyResult<T> {
        let result = {
            let mut inner = self.inner.write_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            if inner.is_broken {
                Ok(Err(broken()))
            } else if let Err(refused) = reserve::require_for(inner.model.node_count()) {
                // Many short edits would use up what is left.
                Ok(Err(refused))
            } else {
                inner.count_edit();
                self.moment.fetch_add(1, Ordering::AcqRel);
                let result = catch_unwind(AssertUnwindSafe(|| edit(Arc::make_mut(&mut inner.model))));
                inner.is_broken = result.is_err();
                result
            }
        };
        match result {
            Ok(result) => result.map_err(PyErr::from),
            Err(panic) => Err(bug(&*panic)),
        }
    }

    /// The model as it is now.
    pub(crate) fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        self.read(py, |inner| {
            reserve::begin(inner.model.node_count());
            Ok(Snapshot {
                model: Arc::clone(&inner.model),
                data: Arc::new(inner.data.anew()),
                findings: if inner.is_edited() { Arc::default() } else { Arc::clone(&inner.findings) },
                edits: inner.edits,
            })
        })
    }

    /// Replaces the model by its edited snapshot. All keys stay valid.
    ///
    /// This is the last step of a call that can fail: whatever raises an exception leaves the model as it was. A signal that came during
    /// short work was not looked for yet.
    pub(crate) fn adopt(&self, py: Python<'_>, snapshot: Snapshot) -> PyResult<()> {
        py.check_signals()?;
        let mut inner = self.inner.write_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if inner.edits != snapshot.edits {
            drop(inner);
            let message = "the model was changed while this call worked on it; its result is dropped";
            return Err(Fault::edit(message).into());
        }
        inner.count_edit();
        self.moment.fetch_add(1, Ordering::AcqRel);
        inner.model = snapshot.model;
        inner.data = snapshot.data;
        Ok(())
    }

    /// One Python string for each name of the model.
    pub(crate) fn string<'py>(
        &self,
        py: Python<'py>,
        model: &ir::Model,
        symbol: Symbol,
    ) -> Bound<'py, PyString> {
        let index = symbol.index() as usize;
        if index >= KEPT_NAMES {
            return PyString::new(py, model.str(symbol));
        }
        let mut strings = self.strings.lock().unwrap_or_else(PoisonError::into_inner);
        if strings.len() <= index {
            strings.resize_with(index + 1, || None);
        }
        match strings.get_mut(index) {
            Some(Some(known)) => known.bind(py).clone(),
            Some(place) => {
                let new = PyString::new(py, model.str(symbol));
                *place = Some(new.clone().unbind());
                new
            }
            None => PyString::new(py, model.str(symbol)),
        }
    }
}

/// The bytes of a model file.
fn contents<'py>(py: Python<'py>, model: &ir::Model) -> PyResult<Bound<'py, PyBytes>> {
    let segments = Work::default().run(py, |_| {
        encode(model, &EncodeOptions::default())
            .map_err(|error| Fault::limited("SaveError", error.limit(), error))
    })?;
    let length = usize::try_from(segments.len()).map_err(Fault::argument)?;
    joined(py, segments.iter().map(|segment| &segment[..]), length)
}

/// Calls a function of the Python layer.
pub(crate) fn interop<'py>(
    py: Python<'py>,
    function: &str,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("onnxkit._interop")?.call_method1(function, (object,))
}

fn broken() -> Fault {
    Fault::new("BugError", "an earlier edit of this model ended in a defect of onnxkit; load it again")
}

#[pymethods]
impl Model {
    /// Makes a model with an empty graph.
    #[new]
    #[pyo3(signature = (opset=None, ir_version=10))]
    fn create(
        py: Python<'_>,
        opset: Option<Int<i64>>,
        #[pyo3(from_py_with = int)] ir_version: i64,
    ) -> PyResult<Self> {
        let opset = opset.map_or(21, |opset| opset.0);
        let text = format!("<ir_version: {ir_version}, opset_import: [\"\": {opset}]> graph () => () {{}}");
        parse(py, text, true, None)
    }

    /// The main graph.
    #[getter]
    fn graph(slf: Bound<'_, Self>) -> PyResult<Graph> {
        let graph = slf.get().read(slf.py(), |inner| Ok(inner.model.main_graph()))?;
        Ok(Graph { model: slf.unbind(), id: graph })
    }

    /// All nodes, those of nested graphs included, as the model is now. Edits during the iteration are allowed: nodes that
    /// were erased are skipped. Edits of other threads end it with an error.
    fn nodes(slf: Bound<'_, Self>) -> PyResult<NodeIter> {
        let py = slf.py();
        NodeIter::new(py, slf.unbind(), |model| Ok(model.nodes_in(model.main_graph()).collect()))
    }

    /// The bodies of the functions of the model.
    #[getter]
    fn functions(slf: Bound<'_, Self>) -> PyResult<Vec<Graph>> {
        let bodies = slf.get().read(slf.py(), |inner| {
            let model = &inner.model;
            Ok(model.functions().iter().map(|&id| model.function(id).body()).collect::<Vec<_>>())
        })?;
        Ok(bodies.into_iter().map(|id| Graph { model: slf.clone().unbind(), id }).collect())
    }

    /// A copy. It shares everything with this model until one of both is edited.
    #[pyo3(name = "clone")]
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let Snapshot { model, data, findings, .. } = self.snapshot(py)?;
        let mut copy = Self::shared(model, data);
        copy.inner.get_mut().unwrap_or_else(PoisonError::into_inner).findings = findings;
        Ok(copy)
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    /// What another process needs to make the same model: its bytes, the folders of weights in other files and what tells these files from
    /// others, and whether they are mapped.
    fn _sent<'py>(&self, py: Python<'py>) -> PyResult<Sent<'py>> {
        let Snapshot { model, data, .. } = self.snapshot(py)?;
        let contents = contents(py, &model)?;
        let mut stamps = BTreeMap::new();
        model.for_each_tensor(|_, tensor| {
            let Payload::External(entries) = tensor.payload() else { return };
            let Ok(location) = entries.location() else { return };
            if !stamps.contains_key(location) {
                // What cannot be opened is refused there as well.
                stamps.extend(data.stamp(location).map(|stamp| (location.to_owned(), stamp)));
            }
        });
        Ok((contents, data.directories(), stamps, data.is_mapped()))
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        contents(py, &self.snapshot(py)?.model)
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.to_bytes(py)
    }

    /// The model as ONNX text. Tensors of more than `elide_above` bytes are left out; with `full=True`, everything is written
    /// that the file says, and with `reference=True`, what the parser of the reference reads.
    #[pyo3(signature = (elide_above=None, full=false, reference=false))]
    fn to_text<'py>(
        &self,
        py: Python<'py>,
        elide_above: Option<Int<u64>>,
        full: bool,
        reference: bool,
    ) -> PyResult<Bound<'py, PyString>> {
        let model = self.snapshot(py)?.model;
        let printed = Work::default().run(py, |_| {
            let mut options = match (reference, full) {
                (true, _) => PrintOptions::compat(),
                (false, true) => PrintOptions::full(),
                (false, false) => PrintOptions::default(),
            };
            if let Some(Int(bytes)) = elide_above {
                options = options.with_elide_above(bytes);
            }
            print_model(&model, &options)
                .map(|printed| printed.text)
                .map_err(|error| Fault::new("SaveError", error.to_string()))
        })?;
        text(py, &printed)
    }

    /// Writes the model to a file, all or nothing. Returns the number of bytes of weights in other files.
    ///
    /// The ending of the name stands for the form: `.onnx` or `.pb`, `.onnxtxt` or `.onnxtext` for ONNX text, `.textproto`, `.pbtxt`
    /// or `.prototxt`, and `.json`. `form` says it for other names: `onnx`, `onnxtxt`, `textproto` or `json`. A form that leaves
    /// something out warns about it, as does a binary file that is too large for readers with protobuf.
    ///
    /// `weights` is `keep` (weights in other files come along in a file next to the model, if the model is saved elsewhere),
    /// `embed`, or `external` (tensors of at least `threshold` bytes are in files next to the model).
    #[pyo3(signature = (path, *, weights="keep", threshold=1024, align=64, max_shard_bytes=None, form=None, **options))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        weights: &str,
        #[pyo3(from_py_with = int)] threshold: u64,
        #[pyo3(from_py_with = int)] align: u32,
        max_shard_bytes: Option<Int<u64>>,
        form: Option<&str>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u64> {
        let work = Work::of(options)?;
        let form = Form::of(&path, form)?;
        if !["keep", "embed", "external"].contains(&weights) {
            return Err(Fault::argument(format!("`weights={weights}`: write keep, embed or external")).into());
        }
        let mut snapshot = self.snapshot(py)?;
        let request = Request {
            path: &path,
            form,
            weights,
            threshold,
            align,
            max_shard_bytes: max_shard_bytes.map(|bytes| bytes.0),
        };
        let (bytes, notes) =
            work.run_watched(py, |execution, signals| save(&mut snapshot, &request, execution, signals))?;
        warn(py, &path, &notes)?;
        Ok(bytes)
    }

    /// The versions of the operator sets that the model imports.
    #[getter]
    fn opsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMappingProxy>> {
        let imports: HashMap<String, i64> = self.read(py, |inner| {
            let model = &inner.model;
            let imports = model.info().opset_imports.iter();
            Ok(imports.map(|import| (model.str(import.domain()).to_owned(), import.version())).collect())
        })?;
        let imports = imports.into_pyobject(py)?;
        Ok(PyMappingProxy::new(py, imports.as_mapping()))
    }

    /// Imports a version of an operator set. Nodes stay as they are: `convert` changes them.
    fn set_opset(&self, py: Python<'_>, domain: String, version: Int<i64>) -> PyResult<()> {
        self.write(py, |model| {
            let symbol = model.intern(&domain);
            let mut info = model.info_mut();
            let known = info.opset_imports.iter_mut().find(|import| import.domain() == symbol);
            match known {
                Some(import) => import.set_version(version.0),
                None => info.opset_imports.push(ir::OpsetImport::new(symbol, version.0)),
            }
            Ok(())
        })
    }

    /// The version of the file format.
    #[getter]
    fn ir_version(&self, py: Python<'_>) -> PyResult<i64> {
        self.read(py, |inner| Ok(inner.model.info().ir_version))
    }

    #[setter]
    fn set_ir_version(&self, py: Python<'_>, version: Int<i64>) -> PyResult<()> {
        self.write(py, |model| {
            model.info_mut().ir_version = version.0;
            Ok(())
        })
    }

    /// The name of the program that made the model.
    #[getter]
    fn producer_name(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |inner| Ok(inner.model.str(inner.model.info().producer_name).to_owned()))
    }

    #[setter]
    fn set_producer_name(&self, py: Python<'_>, name: String) -> PyResult<()> {
        self.write(py, |model| {
            let name = model.intern(&name);
            model.info_mut().producer_name = name;
            Ok(())
        })
    }

    /// The description of the model.
    #[getter]
    fn doc_string<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let doc = self.read(py, |inner| Ok(inner.model.str(inner.model.info().doc).to_owned()))?;
        text(py, &doc)
    }

    /// A copy of the metadata of the model.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let entries: Vec<(String, String)> = self.read(py, |inner| {
            let entry = |entry: &MetadataEntry| {
                (inner.model.str(entry.key()).to_owned(), entry.value().as_str().to_owned())
            };
            Ok(inner.model.info().metadata.iter().map(entry).collect())
        })?;
        pairs_of_texts(py, &entries)
    }

    /// Sets an entry of the metadata of the model.
    fn set_metadata(&self, py: Python<'_>, key: String, value: String) -> PyResult<()> {
        self.write(py, |model| {
            let key = model.intern(&key);
            ir::set_metadata(&mut model.info_mut().metadata, key, value);
            Ok(())
        })
    }

    /// What the decoder repaired in the file that the model was read from, such as fields that exclude each other. A model that
    /// was edited since is another one.
    fn decoder_findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_py(py, &Json::Array(self.snapshot(py)?.findings().to_vec()))
    }

    /// Removes nodes, initializers and functions that nothing uses. Returns how many elements were removed.
    fn cleanup(&self, py: Python<'_>) -> PyResult<usize> {
        self.write(py, |model| Ok(model.erase_unused() + model.erase_unused_functions()))
    }

    /// Sorts the nodes of all graphs, so that each follows those that it depends on.
    fn sort(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, |model| model.sort_all().map_err(Fault::edit))
    }

    /// The model that an object is: a model, a path, bytes, text, or a model of `onnx` or `onnx_ir`.
    #[staticmethod]
    fn from_any<'py>(py: Python<'py>, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        interop(py, "from_any", object)
    }

    /// The model as an `onnx.ModelProto`.
    fn to_proto(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        interop(slf.py(), "to_proto", &slf)
    }

    /// The model as an `onnx_ir.Model`.
    fn to_ir(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        interop(slf.py(), "to_ir", &slf)
    }

    /// A session of `onnxruntime` for the model. Keyword arguments are those of `onnxruntime.InferenceSession`.
    #[pyo3(signature = (**options))]
    fn to_ort<'py>(
        slf: Bound<'py, Self>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("onnxkit._interop")?.call_method("to_ort", (&slf,), options)
    }

    fn _repr_html_(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        interop(slf.py(), "to_html", &slf)
    }

    /// All nodes as columns.
    fn nodes_table(&self, py: Python<'_>) -> PyResult<table::Table> {
        let model = self.snapshot(py)?.model;
        Work::default().run(py, |execution| table::nodes(&model, &execution.interrupt))
    }

    /// The initializers as columns.
    fn weights_table(&self, py: Python<'_>) -> PyResult<table::Table> {
        let model = self.snapshot(py)?.model;
        Work::default().run(py, |execution| table::weights(&model, &execution.interrupt))
    }

    /// The folder of the files with external weights, without symbolic links.
    #[getter]
    fn folder(&self, py: Python<'_>) -> PyResult<Option<PathBuf>> {
        self.read(py, |inner| Ok(inner.data.directories().into_iter().next()))
    }

    /// Reads the weights that are in other files into the model.
    #[pyo3(signature = (**options))]
    fn embed_weights(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let mut snapshot = self.snapshot(py)?;
        Work::of(options)?.run(py, |execution| {
            let data = snapshot.data(execution);
            let done = inline(snapshot.editable(), &InlineDataOptions::default(), &data);
            execution.interrupt.check()?;
            done.map(drop).map_err(|error| Fault::limited("LoadError", error.limit(), error))
        })?;
        self.adopt(py, snapshot)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(py, |inner| Ok(inner.model.node_count()))
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |inner| {
            let model = &inner.model;
            let name = model.str(model.graph(model.main_graph()).name());
            Ok(format!(
                "<Model {name:?}: {} nodes, ir_version {}>",
                model.node_count(),
                model.info().ir_version
            ))
        })
    }
}
