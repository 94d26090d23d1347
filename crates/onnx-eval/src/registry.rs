//! Which kernel computes which operator.

use std::sync::Arc;

use onnx_schema::{ByVersion, Extension, Pack, PerOperator, Registry, SchemaId, domain, versions};
use onnx_types::Symbol;

use crate::cx::{Cx, Outcome};
use crate::engine::control::Control;
use crate::ops;

/// A kernel: reads the operands of a node and sets its outputs.
pub type KernelFn = fn(&mut Cx<'_, '_>) -> Outcome;

/// A kernel of an operator with graphs: makes the state that says which graph runs next.
pub(crate) type ControlFn = fn(&mut Cx<'_, '_>) -> Outcome<Box<dyn Control>>;

/// The kernel of an operator from some version on, until the next row.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    since: i64,
    kernel: Kernel,
}

#[derive(Clone, Copy)]
pub(crate) enum Kernel {
    Plain(KernelFn),
    Control(ControlFn),
}

/// From this version on, until the next row of the operator, `kernel` computes it.
pub(crate) const fn since(version: i64, kernel: KernelFn) -> Row {
    Row { since: version, kernel: Kernel::Plain(kernel) }
}

/// Like [`since`], for an operator with graphs.
pub(crate) const fn since_control(version: i64, kernel: ControlFn) -> Row {
    Row { since: version, kernel: Kernel::Control(kernel) }
}

/// The kernels of one operator.
#[derive(Clone, Copy)]
pub(crate) struct OpKernels {
    domain: Symbol,
    op: Symbol,
    rows: &'static [Row],
    is_open: bool,
    takes: &'static [(usize, Takes)],
}

/// The elements that an operator takes for an operand, where not all values of the type are valid, or where most of them give
/// no interesting result. Generated inputs have them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Takes {
    /// From the first number to the second one, which integers include and floats do not.
    Within(f64, f64),
    /// Indices of an axis of another operand: of the attribute `axis` unless one is named.
    Indices {
        /// The operand.
        of: usize,
        /// The axis.
        axis: Option<i64>,
    },
    /// Different axes.
    Axes,
    /// The sizes of a `Reshape`: 1, and -1 for the last one.
    Shape,
}

impl Takes {
    /// Numbers that are safe to divide by and to take roots and logarithms of, such as variances and scales.
    pub(crate) const POSITIVE: Self = Self::Within(0.5, 1.5);
    /// The number 0.
    pub(crate) const ZERO: Self = Self::Within(0.0, 0.0);
    /// The number 1.
    pub(crate) const ONE: Self = Self::Within(1.0, 1.0);
}

/// The kernels of an operator of the default domain.
pub(crate) const fn eval(op: Symbol, rows: &'static [Row]) -> OpKernels {
    OpKernels { domain: domain::ONNX, op, rows, is_open: false, takes: &[] }
}

impl OpKernels {
    /// The standard leaves open in which order the operator accumulates, or how it approximates a function.
    pub(crate) const fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    /// The elements that the operator takes for operands, by their index.
    pub(crate) const fn takes(mut self, operands: &'static [(usize, Takes)]) -> Self {
        self.takes = operands;
        self
    }

    /// Sets the domain of the operator.
    pub(crate) const fn of(mut self, domain: Symbol) -> Self {
        self.domain = domain;
        self
    }
}

const COUNT: usize = SchemaId::COUNT;

/// The record of a schema.
#[derive(Clone, Copy)]
struct Entry {
    kernel: Kernel,
    is_open: bool,
    takes: &'static [(usize, Takes)],
}

/// The records by schema.
static TABLE: [Option<Entry>; COUNT] = fold(ops::GROUPS);

/// Lays the rows out by schema. An unknown version, rows out of order, and an operator that occurs twice do not compile.
const fn fold(groups: &[&[OpKernels]]) -> [Option<Entry>; COUNT] {
    let mut table = [None; COUNT];
    let mut group = 0;
    while group < groups.len() {
        let mut at = 0;
        while at < groups[group].len() {
            lay(&mut table, &groups[group][at]);
            at += 1;
        }
        group += 1;
    }
    table
}

#[expect(clippy::panic, reason = "the compiler evaluates it")]
const fn lay(table: &mut [Option<Entry>; COUNT], kernels: &OpKernels) {
    let schemas = versions(kernels.domain, kernels.op);
    if schemas.is_empty() {
        panic!("kernels of an operator that ONNX does not define");
    }
    let mut at = 0;
    while at < schemas.len() {
        let entry = &mut table[schemas[at].id().index()];
        if entry.is_some() {
            panic!("an operator has kernels twice");
        }
        if let Some(row) = row_for(kernels.rows, schemas[at].since_version()) {
            *entry = Some(Entry { kernel: row.kernel, is_open: kernels.is_open, takes: kernels.takes });
        }
        at += 1;
    }
    check_rows(kernels.rows, schemas);
}

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

#[expect(clippy::panic, reason = "the compiler evaluates it")]
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

pub(crate) fn kernel(schema: SchemaId) -> Option<Kernel> {
    entry(schema).map(|entry| entry.kernel)
}

fn entry(schema: SchemaId) -> Option<Entry> {
    TABLE.get(schema.index()).copied().flatten()
}

/// The elements that the operator of a schema takes for an operand; `None` if it takes all.
pub(crate) fn takes(schema: SchemaId, operand: usize) -> Option<Takes> {
    let listed = entry(schema)?.takes;
    listed.iter().find(|(index, _)| *index == operand).map(|&(_, takes)| takes)
}

/// Returns `true` if the standard leaves open in which order the operator of a schema accumulates (`MatMul`, `ReduceSum`), or
/// how it approximates a function (`Exp`): implementations differ in the last places of its results.
///
/// ```
/// use onnx_eval::has_open_rounding;
/// use onnx_schema::{domain, op, schema_since};
///
/// assert!(has_open_rounding(schema_since(domain::ONNX, op::EXP, 13).unwrap()));
/// assert!(!has_open_rounding(schema_since(domain::ONNX, op::ADD, 14).unwrap()));
/// ```
#[must_use]
pub fn has_open_rounding(schema: SchemaId) -> bool {
    entry(schema).is_some_and(|entry| entry.is_open)
}

/// Returns `true` if a kernel computes the operator of a schema.
///
/// ```
/// use onnx_eval::has_kernel;
/// use onnx_schema::{domain, op, schema_since};
///
/// let add = schema_since(domain::ONNX, op::ADD, 14).expect("Add has a schema of version 14");
/// assert!(has_kernel(add));
/// ```
#[must_use]
pub fn has_kernel(schema: SchemaId) -> bool {
    kernel(schema).is_some()
}

/// Returns `true` if a pack of a registry has a kernel for an operator outside the standard sets, at this version.
///
/// ```
/// use onnx_eval::{contrib, has_custom_kernel};
/// use onnx_schema::Registry;
///
/// let registry = Registry::standard().with(contrib::pack())?;
/// assert!(has_custom_kernel(&registry, "com.microsoft", "FusedMatMul", 1));
/// assert!(!has_custom_kernel(&registry, "com.acme", "FastFoo", 1));
/// # Ok::<(), onnx_schema::DeclareError>(())
/// ```
#[must_use]
pub fn has_custom_kernel(registry: &Registry, domain: &str, op: &str, version: i64) -> bool {
    registry.extension::<Kernels>().is_some_and(|kernels| kernels.get(domain, op, version).is_some())
}

/// The schemas without a kernel.
pub fn uncovered() -> impl Iterator<Item = SchemaId> {
    (0..COUNT).filter_map(SchemaId::from_index).filter(|&schema| !has_kernel(schema))
}

/// A kernel of an operator outside the standard sets.
pub type CustomKernel = Arc<dyn Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync>;

/// The kernels in the packs of a registry.
#[derive(Clone, Default)]
pub(crate) struct Kernels(PerOperator<ByVersion<CustomKernel>>);

impl Extension for Kernels {
    fn merge(&mut self, later: &Self) {
        for (domain, op, kernels) in later.0.iter() {
            self.0.entry(domain, op).merge(kernels);
        }
    }
}

impl Kernels {
    pub(crate) fn get(&self, domain: &str, op: &str, version: i64) -> Option<CustomKernel> {
        self.0.get(domain, op)?.at(version).cloned()
    }
}

/// Kernels in a [`Pack`].
///
/// ```
/// use onnx_eval::EvalPack;
/// use onnx_schema::{Pack, Registry};
///
/// // `Gain <factor = 2.0> (x)`, which has the attribute since version 2.
/// let gain = |cx: &mut onnx_eval::Cx<'_, '_>, factor: f32| {
///     let x = cx.tensor(0)?;
///     let scaled: Vec<f32> = cx.read::<f32>(&x)?.iter().map(|x| x * factor).collect();
///     cx.put(0, x.elem, &x.dims, scaled)
/// };
/// let pack = Pack::new()
///     .with_kernel("com.example", "Gain", move |cx| gain(cx, 2.0))
///     .with_kernel_since("com.example", "Gain", 2, move |cx| gain(cx, cx.float_or("factor", 2.0)?));
/// let registry = Registry::standard().with(pack)?;
/// # let _ = registry;
/// # Ok::<(), onnx_schema::DeclareError>(())
/// ```
pub trait EvalPack: Sized {
    /// Adds the kernel of an operator of a domain, at all its versions: [`with_kernel_since`](Self::with_kernel_since) the
    /// first. A function of the model and a kernel of an operator of ONNX precede one of the same name.
    #[must_use]
    fn with_kernel(
        self,
        domain: &str,
        op: &str,
        kernel: impl Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync + 'static,
    ) -> Self {
        self.with_kernel_since(domain, op, i64::MIN, kernel)
    }

    /// Adds the kernel of an operator from a version of the operator set on, until the next version with a kernel. A node of
    /// an earlier version has no kernel.
    ///
    /// The kernels of a later pack replace those of an earlier one from their first version on.
    #[must_use]
    fn with_kernel_since(
        self,
        domain: &str,
        op: &str,
        since: i64,
        kernel: impl Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync + 'static,
    ) -> Self;
}

impl EvalPack for Pack {
    fn with_kernel_since(
        self,
        domain: &str,
        op: &str,
        since: i64,
        kernel: impl Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync + 'static,
    ) -> Self {
        self.extended(|kernels: &mut Kernels| kernels.0.entry(domain, op).insert(since, Arc::new(kernel)))
    }
}
