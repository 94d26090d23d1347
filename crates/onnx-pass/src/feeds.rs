//! Inputs for a run: those that the caller does not give are generated, with sizes that satisfy what inference knows.

mod growth;

use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use onnx_diag::Quoted;
use onnx_eval::Value;
use onnx_eval::generate::{GenerateError, Generator, small_number};
use onnx_ir::{Def, Model, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Inference, InputSizeError, InputSizeOptions, InputSizes, infer};
use onnx_types::tensor::{DataSource, NoData};
use onnx_types::{Execution, Limits, Symbol};

/// Settings of [`feeds`].
#[derive(Clone)]
#[non_exhaustive]
pub struct FeedOptions<'a> {
    /// Values of inputs by name. Default: none.
    pub given: &'a [(&'a str, Value)],
    /// Sizes of dimension variables, or of axes such as `x[0]`. Default: none.
    pub sizes: &'a [(String, i64)],
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// Source of external weights. By default there is none.
    pub data: &'a dyn DataSource,
    /// The seed of sizes and elements, limits, and what ends inference early.
    pub execution: Execution,
}

impl Default for FeedOptions<'_> {
    fn default() -> Self {
        Self {
            given: &[],
            sizes: &[],
            registry: Registry::STANDARD,
            data: &NoData,
            execution: Execution::DEFAULT,
        }
    }
}

onnx_types::option_setters! {
    FeedOptions<'a> {
        with_given => given: &'a [(&'a str, Value)],
        with_sizes => sizes: &'a [(String, i64)],
        with_registry => registry: &'a Registry,
        with_data => data: &'a dyn DataSource,
        with_execution => execution: into Execution,
    }
}

impl fmt::Debug for FeedOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedOptions").field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

/// Why inputs cannot be generated.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FeedError {
    /// A size cannot be set.
    Size(InputSizeError),
    /// No value can be generated for an input.
    Input {
        /// Its name.
        input: String,
        /// The reason.
        reason: GenerateError,
    },
}

impl FeedError {
    /// The name of the limit that a value would exceed, if that is the reason.
    #[must_use]
    pub const fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Input { reason: GenerateError::Limit(name), .. } => Some(*name),
            Self::Input { .. } | Self::Size(_) => None,
        }
    }
}

impl fmt::Display for FeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(error) => error.fmt(f),
            Self::Input { input, reason } => {
                write!(f, "no value can be generated for input {}: {reason}", Quoted(input))
            }
        }
    }
}

impl std::error::Error for FeedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Size(error) => Some(error),
            Self::Input { reason, .. } => Some(reason),
        }
    }
}

/// The inputs of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Feeds {
    /// The values by name, in the order of the inputs of the model. Initializers that are inputs, too, have none.
    pub values: Vec<(String, Value)>,
    /// The names of the inputs that are generated.
    pub generated: Vec<String>,
    /// The dimension variables of the inputs, with their sizes.
    pub sizes: Vec<(String, i64)>,
}

impl Feeds {
    /// The values as [`Evaluator::run`](onnx_eval::Evaluator::run) takes them.
    #[must_use]
    pub fn by_name(&self) -> Vec<(&str, Value)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect()
    }
}

/// Inputs for a run of a model: those that are given, and generated ones in the ranges that the operators imply, with sizes of
/// dimension variables that satisfy the declared types, the relations of operands and the guards of inference.
///
/// ```
/// use onnx_eval::{EvalOptions, Evaluator};
/// use onnx_pass::{FeedOptions, feeds};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[past, 4] p, float[new, 4] n, float["past + new", 4] t) => (float["past + new", 4] y) {
///    all = Concat <axis = 0> (p, n)
///    y = Add (all, t)
/// }"#;
/// let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
/// let feeds = feeds(&model, &FeedOptions::default())?;
/// let outputs = Evaluator::new(&model, &EvalOptions::default())?.run(&feeds.by_name())?;
/// assert_eq!(outputs.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if a size cannot be set, or an input has a type of which no values are generated.
pub fn feeds(model: &Model, options: &FeedOptions<'_>) -> Result<Feeds, FeedError> {
    let known = InferOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone());
    let inference = infer(model, &known);
    FeedGenerator::new(model, &inference, options, &[])?.feeds()
}

/// Chooses sizes once and generates inputs for them; the steps of [`feeds`], for callers that have the inference or that
/// [grow](Self::grow) the sizes.
pub struct FeedGenerator<'a> {
    model: &'a Model,
    inference: &'a Inference,
    given: HashMap<ValueId, Value, RandomState>,
    seed: u64,
    limits: Limits,
    /// The shapes of given inputs.
    shapes: Vec<(ValueId, Vec<i64>)>,
    sizes: InputSizes,
}

impl fmt::Debug for FeedGenerator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedGenerator").field("sizes", &self.sizes.named()).finish_non_exhaustive()
    }
}

impl<'a> FeedGenerator<'a> {
    /// Chooses sizes: those of given inputs, those that are set, those that are declared elsewhere for a symbol, and others
    /// from 2 to 4 by the seed, which change until they contradict nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if a size cannot be set.
    pub fn new(
        model: &'a Model,
        inference: &'a Inference,
        options: &FeedOptions<'_>,
        declared: &[(Symbol, i64)],
    ) -> Result<Self, FeedError> {
        let seed = options.execution.seed;
        let initial = move |_, name: &str| small_number(seed, name, 3) as i64 + 2;
        Self::with_initial_sizes(model, inference, options, declared, &initial)
    }

    /// Like [`new`](Self::new), with other initial sizes.
    ///
    /// # Errors
    ///
    /// Returns an error if a size cannot be set.
    pub fn with_initial_sizes(
        model: &'a Model,
        inference: &'a Inference,
        options: &FeedOptions<'_>,
        declared: &[(Symbol, i64)],
        initial: &dyn Fn(usize, &str) -> i64,
    ) -> Result<Self, FeedError> {
        let named: HashMap<&str, &Value, RandomState> =
            options.given.iter().map(|(name, value)| (*name, value)).collect();
        let (mut given, mut shapes) = (HashMap::default(), Vec::new());
        for &input in inputs(model) {
            let Some(&value) = named.get(name(model, input)) else { continue };
            shapes.extend(value.tensor().map(|tensor| (input, tensor.dims().to_vec())));
            given.insert(input, value.clone());
        }
        let chosen = InputSizeOptions::default()
            .with_given(&shapes)
            .with_set(options.sizes)
            .with_declared(declared)
            .with_initial(initial);
        let sizes = InputSizes::choose(model, inference, &chosen).map_err(FeedError::Size)?;
        let execution = &options.execution;
        Ok(Self { model, inference, given, seed: execution.seed, limits: execution.limits, shapes, sizes })
    }

    /// The sizes.
    #[must_use]
    pub const fn sizes(&self) -> &InputSizes {
        &self.sizes
    }

    /// Chooses larger sizes; returns `false` if there are none. See [`InputSizes::grow`].
    pub fn grow(&mut self) -> bool {
        self.sizes.grow(self.model, self.inference, &self.shapes)
    }

    /// The inputs for the sizes.
    ///
    /// # Errors
    ///
    /// Returns an error if no value can be generated for an input.
    pub fn feeds(&self) -> Result<Feeds, FeedError> {
        let &Self { model, inference, ref sizes, .. } = self;
        let mut compiled = inference.shapes(model);
        let evaluated = compiled.evaluate(&sizes.symbols());
        let dims = |value: ValueId| {
            let is_input =
                matches!(model.value(value).def(), Def::Input { graph, .. } if graph == model.main_graph());
            let of_input = is_input.then(|| sizes.shape(inference, value));
            of_input.unwrap_or_else(|| evaluated.shape(value))
        };
        let generator = Generator::new(model, self.seed, &dims);
        let (mut values, mut generated) = (Vec::new(), Vec::new());
        // All together take at most what the values of a run may.
        let mut limits = self.limits;
        for &input in inputs(model) {
            let own = name(model, input);
            if let Some(value) = self.given.get(&input) {
                values.push((own.to_owned(), value.clone()));
            } else if model.value(input).initializer().is_none() {
                let failed = |reason| FeedError::Input { input: own.to_owned(), reason };
                let value = generator.value(input, &limits).map_err(failed)?;
                limits.run_bytes = limits.run_bytes.saturating_sub(value.resident_bytes());
                values.push((own.to_owned(), value));
                generated.push(own.to_owned());
            }
        }
        Ok(Feeds { values, generated, sizes: sizes.named() })
    }
}

fn inputs(model: &Model) -> &[ValueId] {
    model.graph(model.main_graph()).inputs()
}

fn name(model: &Model, value: ValueId) -> &str {
    model.str(model.value(value).name())
}
