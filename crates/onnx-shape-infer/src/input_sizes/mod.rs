//! Sizes of the dimension variables of a model's inputs, for runs on generated inputs.

#![cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "counts are bounded by constants, and divisors are positive"
    )
)]

mod divisors;

use std::collections::{HashMap, HashSet};
use std::fmt;

use foldhash::fast::RandomState;
use onnx_diag::Quoted;
use onnx_ir::{Model, ValueId};
use onnx_types::{Dim, Symbol};

use crate::bind::Violation;
use crate::facts::Relation;
use crate::result::Inference;

/// The size of a variable before any is changed, by the number of the variable in the order of the inputs and its name.
pub type InitialSize<'a> = dyn Fn(usize, &str) -> i64 + 'a;

/// Settings of [`InputSizes::choose`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct InputSizeOptions<'a> {
    /// Shapes of inputs whose values are given.
    pub given: &'a [(ValueId, Vec<i64>)],
    /// Sizes of dimension variables, or of axes such as `x[0]`, that are set.
    pub set: &'a [(String, i64)],
    /// Sizes of variables that are neither given nor set. Unlike these, a symbol that no input has is not an error.
    pub declared: &'a [(Symbol, i64)],
    /// Sizes of all other variables, which change until they contradict nothing. Default: 2, 3, 4, …
    pub initial: &'a InitialSize<'a>,
}

impl Default for InputSizeOptions<'_> {
    fn default() -> Self {
        Self { given: &[], set: &[], declared: &[], initial: &|index, _| (index as i64).saturating_add(2) }
    }
}

onnx_types::option_setters! {
    InputSizeOptions<'a> {
        with_given => given: &'a [(ValueId, Vec<i64>)],
        with_set => set: &'a [(String, i64)],
        with_declared => declared: &'a [(Symbol, i64)],
        with_initial => initial: &'a InitialSize<'a>,
    }
}

impl fmt::Debug for InputSizeOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputSizeOptions")
            .field("given", &self.given)
            .field("set", &self.set)
            .field("declared", &self.declared)
            .finish_non_exhaustive()
    }
}

/// A size that is set and cannot be.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InputSizeError {
    /// The same variable has two sizes.
    Conflict {
        /// The variable.
        dim: String,
        /// Its first size.
        first: i64,
        /// The other one.
        second: i64,
    },
    /// The axis is not a variable.
    NotVariable {
        /// The axis.
        dim: String,
        /// Its size, or the expression of it.
        size: String,
    },
    /// The input does not have the axis.
    NoAxis {
        /// The axis.
        dim: String,
        /// The input.
        input: String,
        /// Its rank.
        rank: usize,
    },
    /// No input has the variable.
    UnknownVariable {
        /// The variable.
        dim: String,
        /// The variables that inputs have.
        known: Vec<String>,
    },
}

impl fmt::Display for InputSizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict { dim, first, second } => {
                write!(f, "{} cannot be both {first} and {second}", Quoted(dim))
            }
            Self::NotVariable { dim, size } => write!(f, "{} is {size} in this model", Quoted(dim)),
            Self::NoAxis { dim, .. } => write!(f, "axis {} does not exist", Quoted(dim)),
            Self::UnknownVariable { dim, .. } => {
                write!(f, "no input has the dimension variable {}", Quoted(dim))
            }
        }
    }
}

impl std::error::Error for InputSizeError {}

/// A variable whose size is chosen.
#[derive(Clone, Debug)]
struct Variable {
    symbol: Symbol,
    label: String,
    size: i64,
    /// Whether the size may change.
    is_free: bool,
    /// The next size to try.
    next: usize,
}

/// Sizes that are tried if a smaller one contradicts the model.
const LADDER: [i64; 20] = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 48, 64, 96, 128, 224, 256, 384, 512, 1024];
/// Number of choices until the search ends.
const TRIES: usize = 400;
/// Conditions that are satisfied one after the other, and those that are tried at a time.
const ROUNDS: usize = 4;
/// Factors of sizes for models that fail on small ones.
const FACTORS: [i64; 3] = [4, 16, 64];
/// Variables that grow one at a time; more grow together only.
const MOST_SEPARATE: usize = 4;

/// Sizes of all dimension variables of a model's inputs that satisfy what inference knows: declared types, relations of
/// operands such as `past + new`, and guards.
///
/// ```
/// use onnx_shape_infer::{InferOptions, InputSizeOptions, InputSizes, infer};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[past, 4] p, float[new, 4] n, float["past + new", 4] t) => (float["past + new", 4] y) {
///    all = Concat <axis = 0> (p, n)
///    y = Add (all, t)
/// }"#;
/// let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
/// let inference = infer(&model, &InferOptions::default());
/// let sizes = InputSizes::choose(&model, &inference, &InputSizeOptions::default())?;
/// assert_eq!(sizes.named(), [("past".to_owned(), 2), ("new".to_owned(), 3)]);
/// let t = model.graph(model.main_graph()).inputs()[2];
/// assert_eq!(sizes.shape(&inference, t), Some(vec![Some(5), Some(4)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct InputSizes {
    variables: Vec<Variable>,
    /// The positions of the variables by their symbols.
    index: HashMap<Symbol, usize, RandomState>,
    /// The sizes before any growth, and the number of growths that were tried.
    chosen: Vec<i64>,
    growths: usize,
    /// Sizes that contradict nothing, for variables whose sizes the user sets to others.
    suggested: Vec<(String, i64)>,
}

impl InputSizes {
    /// Chooses sizes: those that are given or set, else the initial ones, which change until they contradict nothing that
    /// inference knows. If no sizes satisfy everything, the initial ones stay.
    ///
    /// # Errors
    ///
    /// Returns an error if a size that is set names no variable of an input, or contradicts another one.
    pub fn choose(
        model: &Model,
        inference: &Inference,
        options: &InputSizeOptions<'_>,
    ) -> Result<Self, InputSizeError> {
        let given = options.given;
        let shapes: Vec<(ValueId, &[i64])> = given.iter().map(|(id, dims)| (*id, dims.as_slice())).collect();
        let (solved, _) = inference.solve(model, &shapes);
        let variables = variables(model, inference, options.initial);
        let mut sizes = Self {
            // Of several variables with one symbol, the first one counts.
            index: variables.iter().enumerate().rev().map(|(at, variable)| (variable.symbol, at)).collect(),
            variables,
            chosen: Vec::new(),
            growths: 0,
            suggested: Vec::new(),
        };
        for (symbol, size) in solved {
            sizes.fix(symbol, size)?;
        }
        for (dim, size) in options.set {
            let symbol = find(model, inference, &sizes.variables, dim, *size)?;
            if let Some(symbol) = symbol {
                sizes.fix(symbol, *size)?;
            }
        }
        for &(symbol, size) in options.declared {
            let is_open = |variable: &&Variable| variable.symbol == symbol && variable.is_free;
            if sizes.variables.iter().any(|variable| is_open(&variable)) {
                sizes.fix(symbol, size)?;
            }
        }
        if !sizes.search(model, inference, given) {
            sizes.suggested = sizes.instead(model, inference, given, options.set);
        }
        sizes.chosen = sizes.variables.iter().map(|variable| variable.size).collect();
        Ok(sizes)
    }

    /// Multiplies the chosen sizes, of one free variable after the other and of all, by the next factor with which they
    /// contradict nothing that inference knows: for a model that fails on small inputs. Returns `false` after the last one.
    pub fn grow(&mut self, model: &Model, inference: &Inference, given: &[(ValueId, Vec<i64>)]) -> bool {
        let free = self.variables.iter().filter(|variable| variable.is_free).count();
        let separate = if free <= MOST_SEPARATE { free } else { 0 };
        // The last choice is all of them; for a single variable, it is the only one.
        let choices = if free == 1 { 1 } else { separate + 1 };
        while let Some(factor) = FACTORS.get(self.growths / choices).filter(|_| free > 0) {
            let choice = self.growths % choices;
            self.growths += 1;
            let mut index = 0;
            for (variable, size) in self.variables.iter_mut().zip(&self.chosen) {
                variable.size = *size;
                if variable.is_free {
                    if choice == index || choice == separate {
                        variable.size = size.saturating_mul(*factor);
                    }
                    index += 1;
                }
            }
            if self.contradicted(model, inference, given).is_empty() {
                return true;
            }
        }
        false
    }

    fn fix(&mut self, symbol: Symbol, size: i64) -> Result<(), InputSizeError> {
        let at = self.index.get(&symbol).copied();
        let Some(variable) = at.and_then(|at| self.variables.get_mut(at)) else { return Ok(()) };
        if !variable.is_free && variable.size != size {
            return Err(InputSizeError::Conflict {
                dim: variable.label.clone(),
                first: variable.size,
                second: size,
            });
        }
        (variable.size, variable.is_free) = (size, false);
        Ok(())
    }

    /// The size of a variable.
    #[must_use]
    pub fn value(&self, symbol: Symbol) -> Option<i64> {
        self.index.get(&symbol).and_then(|&at| self.variables.get(at)).map(|variable| variable.size)
    }

    /// Symbols with their sizes.
    #[must_use]
    pub fn symbols(&self) -> Vec<(Symbol, i64)> {
        self.variables.iter().map(|variable| (variable.symbol, variable.size)).collect()
    }

    /// The symbols whose sizes are not chosen, with these sizes.
    #[must_use]
    pub fn fixed(&self) -> Vec<(Symbol, i64)> {
        let fixed = self.variables.iter().filter(|variable| !variable.is_free);
        fixed.map(|variable| (variable.symbol, variable.size)).collect()
    }

    /// The variables by their names, with their sizes.
    #[must_use]
    pub fn named(&self) -> Vec<(String, i64)> {
        self.variables.iter().map(|variable| (variable.label.clone(), variable.size)).collect()
    }

    /// The names of the variables whose size was chosen.
    #[must_use]
    pub fn open(&self) -> Vec<String> {
        let open = self.variables.iter().filter(|variable| variable.is_free);
        open.map(|variable| variable.label.clone()).collect()
    }

    /// The shape of an input; `None` if its rank is not known.
    #[must_use]
    pub fn shape(&self, inference: &Inference, input: ValueId) -> Option<Vec<Option<i64>>> {
        let dims = inference.shape(input)?;
        Some(dims.iter().map(|&dim| inference.exprs().eval(dim, &|symbol| self.value(symbol))).collect())
    }

    /// Sizes that would satisfy the conditions that those which are set do not.
    #[must_use]
    pub fn suggested(&self) -> &[(String, i64)] {
        &self.suggested
    }

    /// Searches sizes for the variables that are set, too.
    fn instead(
        &self,
        model: &Model,
        inference: &Inference,
        given: &[(ValueId, Vec<i64>)],
        set: &[(String, i64)],
    ) -> Vec<(String, i64)> {
        let is_set = |variable: &&Variable| set.iter().any(|(dim, _)| *dim == variable.label);
        let mut other = Self {
            variables: self.variables.clone(),
            index: self.index.clone(),
            chosen: Vec::new(),
            growths: 0,
            suggested: Vec::new(),
        };
        for variable in other.variables.iter_mut().filter(|variable| is_set(&&**variable)) {
            variable.is_free = true;
        }
        other.variables.iter_mut().for_each(|variable| variable.next = 0);
        if !other.search(model, inference, given) {
            return Vec::new();
        }
        let set = other.variables.iter().filter(is_set);
        set.map(|variable| (variable.label.clone(), variable.size)).collect()
    }

    /// Changes free sizes that contradict declarations or guards; returns `false` if no sizes are found.
    fn search(&mut self, model: &Model, inference: &Inference, given: &[(ValueId, Vec<i64>)]) -> bool {
        let initial: Vec<i64> = self.variables.iter().map(|variable| variable.size).collect();
        for _ in 0..TRIES {
            let contradicted = self.contradicted(model, inference, given);
            let raised = self.variables.iter_mut().find_map(|variable| {
                let is_open = variable.is_free && variable.next < LADDER.len();
                let of_variable = |&&(symbol, _): &&(Symbol, Option<i64>)| symbol == variable.symbol;
                let &(_, bound) = contradicted.iter().find(of_variable).filter(|_| is_open)?;
                Some((variable, bound))
            });
            match raised {
                Some((variable, bound)) => {
                    let next = LADDER.get(variable.next).copied().unwrap_or(variable.size);
                    // What the model demands is tried once.
                    variable.size = bound.filter(|_| variable.next == 0).unwrap_or(next);
                    variable.next += 1;
                }
                None if contradicted.is_empty() => return true,
                None => break,
            }
        }
        // The ladder does not have every divisor.
        self.resize(&initial);
        if self.search_divisors(model, inference, given) {
            return true;
        }
        // Nothing fits: the contradiction is reported for the small sizes.
        self.resize(&initial);
        false
    }

    fn resize(&mut self, sizes: &[i64]) {
        for (variable, &size) in self.variables.iter_mut().zip(sizes) {
            variable.size = size;
        }
    }

    /// Changes free sizes to divisors of the numbers in conditions that do not hold, one condition at a time.
    fn search_divisors(
        &mut self,
        model: &Model,
        inference: &Inference,
        given: &[(ValueId, Vec<i64>)],
    ) -> bool {
        let free = self.variables.iter().filter(|variable| variable.is_free);
        let free: Vec<Symbol> = free.map(|variable| variable.symbol).collect();
        for _ in 0..ROUNDS {
            let violations = self.violations(model, inference, given);
            let failing = violations.len();
            let relations = violations.iter().filter_map(|violation| match violation {
                Violation::Fact(fact) | Violation::Scoped(fact) => Some(fact.relation),
                Violation::Size { .. } | Violation::Rank { .. } => None,
            });
            let relations: Vec<Relation> = relations.take(ROUNDS).collect();
            let before: Vec<i64> = self.variables.iter().map(|variable| variable.size).collect();
            let mut best: (usize, Option<Vec<i64>>) = (failing, None);
            for relation in relations {
                for chosen in divisors::choices(inference, relation, &free, &|symbol| self.value(symbol)) {
                    for variable in &mut self.variables {
                        let found = chosen.iter().find(|(symbol, _)| *symbol == variable.symbol);
                        variable.size = found.map_or(variable.size, |&(_, size)| size);
                    }
                    let left = self.violations(model, inference, given).len();
                    if left == 0 {
                        return true;
                    }
                    if left < best.0 {
                        let sizes = self.variables.iter().map(|variable| variable.size).collect();
                        best = (left, Some(sizes));
                    }
                    self.resize(&before);
                }
            }
            let Some(sizes) = best.1 else { return false };
            self.resize(&sizes);
        }
        false
    }

    /// The symbols of everything that does not hold for these sizes, each with the number that it must equal or reach if the
    /// condition is that simple.
    fn contradicted(
        &self,
        model: &Model,
        inference: &Inference,
        given: &[(ValueId, Vec<i64>)],
    ) -> Vec<(Symbol, Option<i64>)> {
        let violations = self.violations(model, inference, given);
        let dims = violations.into_iter().flat_map(|violation| match violation {
            Violation::Size { dim, .. } => vec![(dim, None)],
            Violation::Fact(fact) | Violation::Scoped(fact) => match fact.relation {
                Relation::Equal(a, b) | Relation::AtMost(a, b) => vec![(a, b.known()), (b, a.known())],
                Relation::Divides(a, b) | Relation::Broadcasts(a, b) => vec![(a, None), (b, None)],
                Relation::Declared(_) | Relation::Default(_) => Vec::new(),
            },
            Violation::Rank { .. } => Vec::new(),
        });
        dims.flat_map(|(dim, bound)| {
            let bound = bound.filter(|_| matches!(dim, Dim::Var(_)));
            inference.exprs().symbols(dim).into_iter().map(move |symbol| (symbol, bound))
        })
        .collect()
    }

    /// Everything that does not hold for these sizes.
    fn violations(
        &self,
        model: &Model,
        inference: &Inference,
        given: &[(ValueId, Vec<i64>)],
    ) -> Vec<Violation> {
        let mut shapes: Vec<(ValueId, Vec<i64>)> = given.to_vec();
        let known: HashSet<ValueId, RandomState> = given.iter().map(|(known, _)| *known).collect();
        for &input in inputs(model) {
            if !known.contains(&input)
                && let Some(dims) = self.shape(inference, input).and_then(|dims| dims.into_iter().collect())
            {
                shapes.push((input, dims));
            }
        }
        let shapes: Vec<(ValueId, &[i64])> = shapes.iter().map(|(id, dims)| (*id, dims.as_slice())).collect();
        inference.solve(model, &shapes).1
    }
}

/// The variables of the inputs, with their initial sizes.
fn variables(model: &Model, inference: &Inference, initial: &InitialSize<'_>) -> Vec<Variable> {
    let mut found: Vec<Variable> = Vec::new();
    let mut seen: HashSet<Symbol, RandomState> = HashSet::default();
    for &input in inputs(model) {
        for (axis, &dim) in inference.shape(input).unwrap_or_default().iter().enumerate() {
            for symbol in inference.exprs().symbols(dim) {
                if !seen.insert(symbol) {
                    continue;
                }
                let declared =
                    model.ty(input).and_then(|ty| ty.shape()).and_then(|shape| shape.dims().get(axis));
                let is_named = declared.is_some_and(|dim| !matches!(dim, Dim::Unknown));
                let text = inference.text(model, Dim::Var(symbol)).filter(|_| is_named);
                let label = text.unwrap_or_else(|| format!("{}[{axis}]", name(model, input)));
                let size = initial(found.len(), &label);
                found.push(Variable { symbol, label, size, is_free: true, next: 0 });
            }
        }
    }
    found
}

/// The symbol of a dimension that is set by its name; `None` if the axis has this size anyway.
fn find(
    model: &Model,
    inference: &Inference,
    variables: &[Variable],
    wanted: &str,
    size: i64,
) -> Result<Option<Symbol>, InputSizeError> {
    if let Some(variable) = variables.iter().find(|variable| variable.label == wanted) {
        return Ok(Some(variable.symbol));
    }
    let dim = wanted.to_owned();
    let input = |name_wanted: &str| inputs(model).iter().find(|&&input| name(model, input) == name_wanted);
    if let Some((of, axis)) = axis_of(wanted)
        && let Some(&input) = input(of)
    {
        return match inference.shape(input).and_then(|dims| dims.get(axis)).copied() {
            Some(Dim::Var(symbol)) => Ok(Some(symbol)),
            Some(Dim::Known(known)) if known == size => Ok(None),
            Some(found) => {
                let size = inference.text(model, found).unwrap_or_else(|| "unknown".to_owned());
                Err(InputSizeError::NotVariable { dim, size })
            }
            None => {
                let rank = inference.shape(input).map_or(0, <[_]>::len);
                Err(InputSizeError::NoAxis { dim, input: of.to_owned(), rank })
            }
        };
    }
    let known = variables.iter().map(|variable| variable.label.clone()).collect();
    Err(InputSizeError::UnknownVariable { dim, known })
}

/// The name and the axis in `x[0]`.
fn axis_of(text: &str) -> Option<(&str, usize)> {
    let (name, axis) = text.strip_suffix(']')?.rsplit_once('[')?;
    Some((name, axis.parse().ok()?))
}

fn inputs(model: &Model) -> &[ValueId] {
    model.graph(model.main_graph()).inputs()
}

fn name(model: &Model, value: ValueId) -> &str {
    model.str(model.value(value).name())
}
