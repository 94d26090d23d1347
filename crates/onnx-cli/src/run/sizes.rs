//! Sizes of dimension variables for generated inputs.

use std::collections::{HashMap, HashSet};

use onnx_eval::generate::small_number;
use onnx_ir::{Model, ValueId};
use onnx_shape_infer::{Inference, Relation, Violation};
use onnx_types::{Dim, Symbol};

use super::divisors;
use super::given::{inputs, name};
use crate::dimensions;
use crate::exit::Failure;
use crate::output::shown;

/// A size that the user sets: `N=4` or `x[0]=4`.
pub(crate) type Set = (String, i64);

/// Sizes that are not chosen.
#[derive(Clone, Copy)]
pub(crate) struct Sized<'a> {
    /// Those that the user sets.
    pub(crate) set: &'a [Set],
    /// Those that another model declares, for dimensions that the user does not set.
    pub(crate) declared: &'a [(Symbol, i64)],
}

/// Reads a list of `DIM=N`.
pub(crate) fn parse(text: &str) -> Result<Vec<Set>, Failure> {
    dimensions::parse(text, dimensions::number, "N")
}

/// A variable whose size is chosen.
#[derive(Clone)]
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

/// Sizes of all variables of the inputs.
pub(crate) struct Sizes {
    variables: Vec<Variable>,
    /// The positions of the variables by their symbols.
    index: HashMap<Symbol, usize>,
    /// The sizes before any growth, and the number of growths that were tried.
    chosen: Vec<i64>,
    growths: usize,
    /// Sizes that contradict nothing, for variables whose sizes the user sets to others.
    suggested: Vec<Set>,
}

impl Sizes {
    /// Chooses sizes for the inputs that must be generated: those that the user sets and those of given inputs, else small
    /// ones by the seed, which grow until they contradict nothing that inference knows.
    pub(crate) fn choose(
        model: &Model,
        inference: &Inference,
        given: &[(ValueId, Vec<i64>)],
        sized: &Sized<'_>,
        seed: u64,
    ) -> Result<Self, Failure> {
        let shapes: Vec<(ValueId, &[i64])> = given.iter().map(|(id, dims)| (*id, dims.as_slice())).collect();
        let (solved, _) = inference.solve(model, &shapes);
        let variables = variables(model, inference, seed);
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
        for (dim, size) in sized.set {
            let symbol = find(model, inference, &sizes.variables, dim, *size)?;
            if let Some(symbol) = symbol {
                sizes.fix(symbol, *size)?;
            }
        }
        for &(symbol, size) in sized.declared {
            let is_open = |variable: &&Variable| variable.symbol == symbol && variable.is_free;
            if sizes.variables.iter().any(|variable| is_open(&variable)) {
                sizes.fix(symbol, size)?;
            }
        }
        if !sizes.search(model, inference, given) {
            sizes.suggested = sizes.instead(model, inference, given, sized.set);
        }
        sizes.chosen = sizes.variables.iter().map(|variable| variable.size).collect();
        Ok(sizes)
    }

    /// Multiplies the chosen sizes, of one free variable after the other and of all, by the next factor with which they
    /// contradict nothing that inference knows. Returns `false` after the last one.
    pub(crate) fn grow(
        &mut self,
        model: &Model,
        inference: &Inference,
        given: &[(ValueId, Vec<i64>)],
    ) -> bool {
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

    fn fix(&mut self, symbol: Symbol, size: i64) -> Result<(), Failure> {
        let at = self.index.get(&symbol).copied();
        let Some(variable) = at.and_then(|at| self.variables.get_mut(at)) else { return Ok(()) };
        if !variable.is_free && variable.size != size {
            let (label, known) = (shown(&variable.label), variable.size);
            return Err(Failure::new(format_args!("`{label}` cannot be both {known} and {size}"))
                .help(format!("set it once: `--set {label}={known}`, or leave it to the given inputs")));
        }
        (variable.size, variable.is_free) = (size, false);
        Ok(())
    }

    pub(crate) fn value(&self, symbol: Symbol) -> Option<i64> {
        self.index.get(&symbol).and_then(|&at| self.variables.get(at)).map(|variable| variable.size)
    }

    /// Symbols with their sizes.
    pub(crate) fn symbols(&self) -> Vec<(Symbol, i64)> {
        self.variables.iter().map(|variable| (variable.symbol, variable.size)).collect()
    }

    /// The symbols whose sizes are not chosen, with these sizes.
    pub(crate) fn fixed(&self) -> Vec<(Symbol, i64)> {
        let fixed = self.variables.iter().filter(|variable| !variable.is_free);
        fixed.map(|variable| (variable.symbol, variable.size)).collect()
    }

    /// The variables by their names, with their sizes.
    pub(crate) fn named(&self) -> Vec<(String, i64)> {
        self.variables.iter().map(|variable| (variable.label.clone(), variable.size)).collect()
    }

    /// The names of the variables whose size was chosen.
    pub(crate) fn open(&self) -> Vec<String> {
        let open = self.variables.iter().filter(|variable| variable.is_free);
        open.map(|variable| variable.label.clone()).collect()
    }

    /// The shape of an input; `None` if its rank is not known.
    pub(crate) fn shape(&self, inference: &Inference, input: ValueId) -> Option<Vec<Option<i64>>> {
        let dims = inference.shape(input)?;
        Some(dims.iter().map(|&dim| inference.exprs().eval(dim, &|symbol| self.value(symbol))).collect())
    }

    /// Sizes that would satisfy the conditions that those of the user do not.
    pub(crate) fn suggested(&self) -> &[Set] {
        &self.suggested
    }

    /// Searches sizes for the variables that the user sets, too.
    fn instead(
        &self,
        model: &Model,
        inference: &Inference,
        given: &[(ValueId, Vec<i64>)],
        set: &[Set],
    ) -> Vec<Set> {
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
        let known: HashSet<ValueId> = given.iter().map(|(known, _)| *known).collect();
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

/// The variables of the inputs, with small sizes.
fn variables(model: &Model, inference: &Inference, seed: u64) -> Vec<Variable> {
    let mut found: Vec<Variable> = Vec::new();
    let mut seen: HashSet<Symbol> = HashSet::new();
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
                // From 2 to 4.
                let size = 2 + i64::try_from(small_number(seed, &label, 3)).unwrap_or_default();
                found.push(Variable { symbol, label, size, is_free: true, next: 0 });
            }
        }
    }
    found
}

/// The symbol of a dimension that the user names; `None` if the axis has this size anyway.
fn find(
    model: &Model,
    inference: &Inference,
    variables: &[Variable],
    wanted: &str,
    size: i64,
) -> Result<Option<Symbol>, Failure> {
    if let Some(variable) = variables.iter().find(|variable| variable.label == wanted) {
        return Ok(Some(variable.symbol));
    }
    let input = |name_wanted: &str| inputs(model).iter().find(|&&input| name(model, input) == name_wanted);
    if let Some((of, axis)) = dimensions::axis(wanted)
        && let Some(&input) = input(of)
    {
        return match inference.shape(input).and_then(|dims| dims.get(axis)).copied() {
            Some(Dim::Var(symbol)) => Ok(Some(symbol)),
            Some(Dim::Known(known)) if known == size => Ok(None),
            Some(dim) => {
                let text = inference.text(model, dim).unwrap_or_else(|| "unknown".to_owned());
                Err(Failure::new(format_args!("`{}` is {} in this model", shown(wanted), shown(&text)))
                    .help("only variables have a size that can be set: leave it away"))
            }
            None => {
                let rank = inference.shape(input).map_or(0, <[_]>::len);
                Err(Failure::new(format_args!("axis `{}` does not exist", shown(wanted)))
                    .help(format!("`{}` has {rank} axes with known sizes or variables", shown(of))))
            }
        };
    }
    let failure = Failure::new(format_args!("no input has the dimension variable `{}`", shown(wanted)));
    let known: Vec<String> =
        variables.iter().take(20).map(|variable| format!("`{}`", shown(&variable.label))).collect();
    Err(if known.is_empty() {
        failure.help("the inputs of this model have no dimension variables")
    } else {
        failure.help(format!("there are {}; an axis of an input is written `x[0]`", known.join(", ")))
    })
}
