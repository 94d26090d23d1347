//! Which rule serves which operator.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_schema::{ByVersion, Extension, Pack, PerOperator, SchemaId, domain, versions};
use onnx_types::{Interner, Symbol};

use crate::cx::{Cx, Outcome};
use crate::engine::control::{Control, Step};
use crate::ops;

/// A rule: sets what it can say about the outputs of a node.
pub type RuleFn = fn(&mut Cx<'_, '_>) -> Outcome;

/// A rule of an operator with graphs: called once at the start and again after each graph that it entered.
pub(crate) type ControlFn = fn(&mut Cx<'_, '_>, &mut Control) -> Outcome<Step>;

/// What serves an operator from some version on, until the next row.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    since: i64,
    rule: Rule,
}

#[derive(Clone, Copy)]
pub(crate) enum Rule {
    Plain(RuleFn),
    Control(ControlFn),
}

/// From this version on, until the next row of the operator, `rule` serves.
pub(crate) const fn since(version: i64, rule: RuleFn) -> Row {
    Row { since: version, rule: Rule::Plain(rule) }
}

/// The same for an operator with graphs.
pub(crate) const fn since_control(version: i64, rule: ControlFn) -> Row {
    Row { since: version, rule: Rule::Control(rule) }
}

/// The rules of one operator.
#[derive(Clone, Copy)]
pub(crate) struct OpRules {
    domain: Symbol,
    op: Symbol,
    rows: &'static [Row],
    values: &'static [Row],
    sets_values: bool,
}

/// The rules of an operator of the default domain: what they infer about types and shapes.
pub(crate) const fn infer(op: Symbol, rows: &'static [Row]) -> OpRules {
    OpRules { domain: domain::ONNX, op, rows, values: &[], sets_values: false }
}

impl OpRules {
    /// The same for an operator of another domain.
    pub(crate) const fn of(mut self, domain: Symbol) -> Self {
        self.domain = domain;
        self
    }

    /// How the operator computes small tensors; runs after the types of the outputs are known.
    pub(crate) const fn values(mut self, rows: &'static [Row]) -> Self {
        self.values = rows;
        self
    }

    /// Notes that the rows for types set elements by themselves, which [`follows_values`] tells.
    pub(crate) const fn with_elements(mut self) -> Self {
        self.sets_values = true;
        self
    }
}

/// What serves one schema.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) infer: Option<Rule>,
    pub(crate) values: Option<RuleFn>,
    sets_values: bool,
}

const COUNT: usize = SchemaId::COUNT;

/// The rules of all schemas, by schema.
pub(crate) static TABLE: [Entry; COUNT] = fold(ops::GROUPS);

/// Indexes the rows by schema. An unknown version, rows that are out of order, and a repeated operator do not compile.
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "the compiler evaluates it, and refuses overflow")
)]
const fn fold(groups: &[&[OpRules]]) -> [Entry; COUNT] {
    let mut table = [Entry { infer: None, values: None, sets_values: false }; COUNT];
    let mut group = 0;
    while group < groups.len() {
        let rules = groups[group];
        let mut at = 0;
        while at < rules.len() {
            lay(&mut table, &rules[at]);
            at += 1;
        }
        group += 1;
    }
    table
}

#[expect(clippy::panic, reason = "it is evaluated by the compiler")]
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "the compiler evaluates it, and refuses overflow")
)]
const fn lay(table: &mut [Entry; COUNT], rules: &OpRules) {
    let schemas = versions(rules.domain, rules.op);
    if schemas.is_empty() {
        panic!("rules for an operator that ONNX does not define");
    }
    let mut at = 0;
    while at < schemas.len() {
        let entry = &mut table[schemas[at].id().index()];
        if entry.infer.is_some() {
            panic!("an operator has rules twice");
        }
        if let Some(row) = row_for(rules.rows, schemas[at].since_version()) {
            entry.infer = Some(row.rule);
            entry.sets_values = rules.sets_values;
        }
        if let Some(row) = row_for(rules.values, schemas[at].since_version()) {
            match row.rule {
                Rule::Plain(rule) => entry.values = Some(rule),
                Rule::Control(_) => panic!("a rule for values enters no graphs"),
            }
        }
        at += 1;
    }
    check_rows(rules.rows, schemas);
    check_rows(rules.values, schemas);
}

#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "the compiler evaluates it, and refuses overflow")
)]
const fn row_for(rows: &'static [Row], version: i64) -> Option<&'static Row> {
    let mut found = None;
    let mut at = 0;
    while at < rows.len() {
        if rows[at].since <= version {
            found = Some(&rows[at]);
        }
        at += 1;
    }
    found
}

#[expect(clippy::panic, reason = "it is evaluated by the compiler")]
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "the compiler evaluates it, and refuses overflow")
)]
const fn check_rows(rows: &[Row], schemas: &[onnx_schema::Schema]) {
    let mut at = 0;
    while at < rows.len() {
        if at > 0 && rows[at - 1].since >= rows[at].since {
            panic!("the rows of an operator are not in ascending order");
        }
        let mut known = false;
        let mut schema = 0;
        while schema < schemas.len() {
            known |= schemas[schema].since_version() == rows[at].since;
            schema += 1;
        }
        if !known {
            panic!("a row names a version that the operator does not have");
        }
        at += 1;
    }
}

/// The schemas that no rule serves.
pub fn uncovered() -> impl Iterator<Item = SchemaId> {
    (0..COUNT).filter(|&at| TABLE[at].infer.is_none()).filter_map(SchemaId::from_index)
}

/// Whether inference can tell elements of small tensors that nodes of this schema give.
///
/// ```
/// use onnx_schema::{domain, op, schema_since};
/// use onnx_shape_infer::follows_values;
///
/// let shape = schema_since(domain::ONNX, op::SHAPE, 13).expect("Shape has a schema of version 13");
/// assert!(follows_values(shape));
/// let sine = schema_since(domain::ONNX, op::SIN, 7).expect("Sin has a schema of version 7");
/// assert!(!follows_values(sine));
/// ```
#[must_use]
pub fn follows_values(schema: SchemaId) -> bool {
    TABLE.get(schema.index()).is_some_and(|entry| entry.values.is_some() || entry.sets_values)
}

/// A rule for an operator outside the standard sets; closures serve.
pub type CustomRule = Arc<dyn Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync>;

/// The rules of packs for one operator.
#[derive(Clone, Default)]
pub(crate) struct Custom {
    infer: ByVersion<CustomRule>,
    values: ByVersion<CustomRule>,
}

impl Custom {
    /// The rules that serve a version: for types and shapes, and for elements. `None` if there is neither.
    pub(crate) fn at(&self, version: i64) -> Option<Served> {
        let (infer, values) = (self.infer.at(version).cloned(), self.values.at(version).cloned());
        (infer.is_some() || values.is_some()).then_some(Served { infer, values })
    }
}

/// The rules of packs for one operator at one version.
pub(crate) struct Served {
    pub(crate) infer: Option<CustomRule>,
    pub(crate) values: Option<CustomRule>,
}

/// What the packs of a registry say about types and shapes.
#[derive(Clone, Default)]
pub(crate) struct Rules {
    /// Whether the operators that onnxruntime adds are known.
    pub(crate) onnxruntime: bool,
    custom: PerOperator<Custom>,
}

impl Extension for Rules {
    fn merge(&mut self, later: &Self) {
        self.onnxruntime |= later.onnxruntime;
        for (domain, op, custom) in later.custom.iter() {
            let entry = self.custom.entry(domain, op);
            entry.infer.merge(&custom.infer);
            entry.values.merge(&custom.values);
        }
    }
}

impl Rules {
    /// The rules under the symbols that a model has for the names of operators; those that it has no name for are not
    /// needed.
    pub(crate) fn resolve(&self, names: &Interner) -> HashMap<(Symbol, Symbol), Custom, RandomState> {
        let symbols = |domain, op| Some((names.get(domain)?, names.get(op)?));
        self.custom
            .iter()
            .filter_map(|(domain, op, custom)| Some((symbols(domain, op)?, custom.clone())))
            .collect()
    }
}

/// Inference rules in a [`Pack`].
///
/// ```
/// use onnx_schema::{OperatorSet, Pack, Registry, declare};
/// use onnx_shape_infer::{InferPack, InferOptions, infer};
/// use onnx_text::{ParseOptions, parse_model};
/// use onnx_types::ElemType;
///
/// let mut set = OperatorSet::new("com.acme", 1);
/// let types = ["tensor(float16)", "tensor(float)"];
/// set.add(declare("Twice", 1).input("x", "T").output("y", "T").types("T", types))?;
/// let pack = Pack::new().with_set(set).with_rule("com.acme", "Twice", |cx| {
///     let mut dims = cx.shape(0)?;
///     if let Some(first) = dims.first_mut() {
///         *first = cx.dims().mul(*first, 2.into());
///     }
///     cx.set_shape(0, dims);
///     Ok(())
/// });
/// let registry = Registry::standard().with(pack)?;
///
/// let text = r#"<ir_version: 10, opset_import: ["com.acme": 1]> g (float16[2] x) => (y) { y = com.acme.Twice (x) }"#;
/// let model = parse_model(text, &ParseOptions::default())?;
/// let inference = infer(&model, &InferOptions::default().with_registry(&registry));
/// let y = model.graph(model.main_graph()).outputs()[0].value();
/// assert_eq!(inference.elem(y), Some(ElemType::Float16));
/// assert_eq!(inference.shape(y), Some(&[4.into()][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait InferPack: Sized {
    /// Adds the rule of an operator of a domain, at all its versions: [`with_rule_since`](Self::with_rule_since) the first.
    /// Before it runs, outputs have the types that the
    /// declaration of the operator says; without a declaration, the rule sets them.
    ///
    /// A function of the model and an operator of ONNX precede one of the same name. Without a rule, outputs have the types
    /// of the declaration, and unknown shapes.
    #[must_use]
    fn with_rule(
        self,
        domain: &str,
        op: &str,
        infer: impl Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync + 'static,
    ) -> Self {
        self.with_rule_since(domain, op, i64::MIN, infer)
    }

    /// Adds the rule of an operator from a version of the operator set on, until the next version with a rule. A node of an
    /// earlier version has no rule. If the set is not imported, the rule of the last version serves.
    ///
    /// The rules of a later pack replace those of an earlier one from their first version on.
    #[must_use]
    fn with_rule_since(
        self,
        domain: &str,
        op: &str,
        since: i64,
        infer: impl Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync + 'static,
    ) -> Self;

    /// Adds how an operator computes small tensors, at all its versions; it runs after the rule, where an output is small.
    #[must_use]
    fn with_values(
        self,
        domain: &str,
        op: &str,
        values: impl Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync + 'static,
    ) -> Self {
        self.with_values_since(domain, op, i64::MIN, values)
    }

    /// Adds how an operator computes small tensors from a version on, as
    /// [`with_rule_since`](Self::with_rule_since) adds a rule.
    #[must_use]
    fn with_values_since(
        self,
        domain: &str,
        op: &str,
        since: i64,
        values: impl Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync + 'static,
    ) -> Self;
}

impl InferPack for Pack {
    fn with_rule_since(
        self,
        domain: &str,
        op: &str,
        since: i64,
        infer: impl Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync + 'static,
    ) -> Self {
        self.extended(|rules: &mut Rules| {
            rules.custom.entry(domain, op).infer.insert(since, Arc::new(infer));
        })
    }

    fn with_values_since(
        self,
        domain: &str,
        op: &str,
        since: i64,
        values: impl Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync + 'static,
    ) -> Self {
        self.extended(|rules: &mut Rules| {
            rules.custom.entry(domain, op).values.insert(since, Arc::new(values));
        })
    }
}
