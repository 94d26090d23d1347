//! Which kernel computes which operator.

use std::sync::Arc;

use onnx_schema::{Extension, Pack, PerOperator, SchemaId, domain, versions};
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
}

/// The kernels of an operator of the default domain.
pub(crate) const fn eval(op: Symbol, rows: &'static [Row]) -> OpKernels {
    OpKernels { domain: domain::ONNX, op, rows }
}

impl OpKernels {
    /// Sets the domain of the operator.
    pub(crate) const fn of(mut self, domain: Symbol) -> Self {
        self.domain = domain;
        self
    }
}

const COUNT: usize = SchemaId::COUNT;

/// The kernels by schema.
static TABLE: [Option<Kernel>; COUNT] = fold(ops::GROUPS);

/// Lays the rows out by schema. An unknown version, rows out of order, and an operator that occurs twice do not compile.
const fn fold(groups: &[&[OpKernels]]) -> [Option<Kernel>; COUNT] {
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
const fn lay(table: &mut [Option<Kernel>; COUNT], kernels: &OpKernels) {
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
            *entry = Some(row.kernel);
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
    TABLE.get(schema.index()).copied().flatten()
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

/// The schemas without a kernel.
pub fn uncovered() -> impl Iterator<Item = SchemaId> {
    (0..COUNT).filter_map(SchemaId::from_index).filter(|&schema| !has_kernel(schema))
}

/// A kernel of an operator outside the standard sets.
pub type CustomKernel = Arc<dyn Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync>;

/// The kernels in the packs of a registry.
#[derive(Clone, Default)]
pub(crate) struct Kernels(PerOperator<CustomKernel>);

impl Extension for Kernels {
    fn merge(&mut self, later: &Self) {
        self.0.merge(&later.0);
    }
}

impl Kernels {
    pub(crate) fn get(&self, domain: &str, op: &str) -> Option<CustomKernel> {
        self.0.get(domain, op).cloned()
    }
}

/// Kernels in a [`Pack`].
///
/// ```
/// use onnx_eval::EvalPack;
/// use onnx_schema::{Pack, Registry};
///
/// let pack = Pack::new().with_kernel("com.example", "Twice", |cx| {
///     let x = cx.tensor(0)?;
///     let doubled: Vec<f32> = cx.read::<f32>(&x)?.iter().map(|x| x + x).collect();
///     cx.put(0, x.elem, &x.dims, doubled)
/// });
/// let registry = Registry::standard().with(pack)?;
/// # let _ = registry;
/// # Ok::<(), onnx_schema::DeclareError>(())
/// ```
pub trait EvalPack: Sized {
    /// Adds the kernel of an operator of a domain, at all its versions; it replaces an earlier one. A function of the model
    /// and a kernel of an operator of ONNX precede one of the same name.
    #[must_use]
    fn with_kernel(
        self,
        domain: &str,
        op: &str,
        kernel: impl Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync + 'static,
    ) -> Self;
}

impl EvalPack for Pack {
    fn with_kernel(
        self,
        domain: &str,
        op: &str,
        kernel: impl Fn(&mut Cx<'_, '_>) -> Outcome + Send + Sync + 'static,
    ) -> Self {
        self.extended(|kernels: &mut Kernels| kernels.0.insert(domain, op, Arc::new(kernel)))
    }
}
