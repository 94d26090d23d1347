//! Bounds on what work on a model may cost: one type for every entry point, and one table that names them all.

/// Bounds on what reading, checking and inferring a model may cost, with defaults that accept every model in use.
///
/// Every function that takes bytes, text or files from outside takes these, too. If a bound is exceeded, the result is
/// an error or a diagnostic that names it; [`LIMITS`] lists the names and the purpose of each. In addition, memory is
/// bounded by the size of the input: a count in a file is not trusted before the corresponding bytes have been read.
///
/// ```
/// use onnx_types::Limits;
///
/// let mut limits = Limits::default().with_nodes(1000);
/// limits.set("text_depth", 16)?;
/// assert_eq!(limits.get("text_depth"), Some(16));
/// assert!(limits.set("nods", 1).is_err());
/// # Ok::<(), onnx_types::UnknownLimitError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How many protobuf messages and groups may enclose each other. Default: 100, where upb and prost stop, so a file that
    /// needs more cannot be read by other tools.
    pub message_depth: u32,
    /// The greatest length of a file in bytes. Default: no bound, as the input is only borrowed.
    pub input_bytes: u64,
    /// The greatest length of one name or text in a file, in bytes. Default: 64 MiB.
    pub string_bytes: u64,
    /// The greatest number of nodes in all graphs together. Default: 10 million.
    pub nodes: u64,
    /// The greatest number of values in all graphs together. Default: 20 million.
    pub values: u64,
    /// The greatest number of graphs: main, nested, of functions and of training. Default: 2 million.
    pub graphs: u64,
    /// The greatest number of functions. Default: 1 million; the reference refuses models of more than 10,000, which the
    /// checker reports.
    pub functions: u64,
    /// The greatest number of tensors in initializers and attributes together; a sparse tensor counts as two. Default:
    /// 1 million, as a tensor takes several hundred bytes and an empty one has two in the file.
    pub tensors: u64,
    /// The greatest number of entries in one list that nothing else bounds: opset imports, metadata, annotations.
    /// Default: 1 million.
    pub entries: u64,
    /// How deeply graphs and types may be nested in a text. Default: 64; files of more than about 30 levels cannot be
    /// written.
    pub text_depth: u32,
    /// The greatest length of a text in bytes. Default: 4 GiB - 1.
    pub text_bytes: u64,
    /// After how many errors parsing stops. Default: 100.
    pub text_errors: u64,
    /// The greatest number of elements of a tensor that inference follows. Default: 256; shapes have far fewer.
    pub followed_elements: usize,
    /// The greatest rank of a shape that inference derives from a value. Default: 1024, as in the reference.
    pub inferred_rank: usize,
    /// The maximum number of node visits of inference per node of the model; bodies of loops and functions count for
    /// each visit. Nodes beyond this multiple plus 100,000 are left unknown. Default: 64.
    pub visits_per_node: usize,
    /// How many expressions inference makes or looks up for one visit of a node. All visits together may take sixteen times as
    /// many, and 1/256 of it for each visit. Sizes and elements beyond are left unknown. Default: 4,096; on 164 exported models,
    /// no visit takes more than 25 and the average of a model is at most 3.
    pub expression_steps: usize,
    /// Maximum depth of nested graphs and calls in inference. Default: 16,384.
    pub inference_depth: usize,
    /// Maximum number of diagnostics that are kept; further ones are counted. Default: 1000.
    pub findings: usize,
    /// Maximum number of diagnostics of one rule that are kept; further ones are counted. Default: 100.
    pub findings_per_rule: usize,
    /// Maximum number of entries in a report of unknown inference results; further ones are counted. Default: 10,000.
    pub report_entries: usize,
    /// Maximum number of values and sizes that are examined to explain why parts of a value are unknown. Default: 10
    /// million.
    pub report_steps: usize,
    /// Maximum number of different files of external data of one model. Default: 10,000.
    pub external_files: usize,
    /// The greatest number of bytes of external data that are read for one model, whether copied or mapped. Default: 64 GiB.
    pub external_bytes: u64,
    /// The greatest length of what is stored once and written out repeatedly, in bytes: a tensor of one repeated element, and the
    /// names, documentation and constants of functions in the places of their calls. Default: 1 GiB.
    pub splat_bytes: u64,
    /// The greatest number of elements of a tensor that a run makes; an axis without elements counts as one of size 1. Default:
    /// 4 Gi.
    pub run_elements: u64,
    /// The greatest number of bytes of the values that a run keeps at one time, weights of the model not counted. Default:
    /// 8 GiB, whatever the machine has, so that a run ends the same everywhere; a program that knows its machine sets it to
    /// a part of the memory, as the command does.
    pub run_bytes: u64,
    /// The greatest number of operations on elements that a run makes; a node counts as 256 of them in addition. Default:
    /// 2⁵⁰, days of work; the command allows some seconds, and more for models with weights.
    pub run_steps: u64,
    /// The greatest number of graphs and calls that are active in each other in a run. Default: 4096.
    pub run_depth: usize,
    /// The number of runs after which a claim is tested, counting those in which its old side completes. Default: 24.
    pub proof_runs: usize,
    /// The greatest number of attempts at such runs. Default: 120.
    pub proof_attempts: usize,
    /// The greatest number of nodes of both sides of a claim. A value of a further node counts as any value. Default: 512.
    pub proof_nodes: usize,
    /// The greatest number of elements of a tensor that is generated for a proof. Default: 65,536.
    pub proof_elements: u64,
    /// The greatest number of operations on elements of one run of one side. Default: 2²⁸.
    pub proof_steps: u64,
    /// The greatest number of bytes of the values of one run of one side. Default: 256 MiB.
    pub proof_bytes: u64,
    /// The greatest number of names, nodes, values and characters that are visited to resolve a selector. Default: 2²⁸.
    pub selector_steps: u64,
    /// The greatest number of models that are tried to reduce one. Default: 10,000. 16 times as many are made: those with new
    /// defects are not tried.
    pub reduce_attempts: u64,
}

impl Limits {
    /// What errors name if the system has no memory for a request that no limit forbids. It is not in [`LIMITS`]: only the
    /// system, or the user who restricted the process, can raise it.
    pub const MEMORY: &'static str = "memory";

    /// The defaults, in constants.
    pub const DEFAULT: Self = Self {
        message_depth: 100,
        input_bytes: u64::MAX,
        string_bytes: 64 << 20,
        nodes: 10_000_000,
        values: 20_000_000,
        graphs: 2_000_000,
        functions: 1_000_000,
        tensors: 1_000_000,
        entries: 1_000_000,
        text_depth: 64,
        text_bytes: u32::MAX as u64,
        text_errors: 100,
        followed_elements: 256,
        inferred_rank: 1024,
        visits_per_node: 64,
        expression_steps: 4096,
        inference_depth: 16_384,
        findings: 1000,
        findings_per_rule: 100,
        report_entries: 10_000,
        report_steps: 10_000_000,
        external_files: 10_000,
        external_bytes: 64 << 30,
        splat_bytes: 1 << 30,
        run_elements: 1 << 32,
        run_bytes: 8 << 30,
        run_steps: 1 << 50,
        run_depth: 4096,
        proof_runs: 24,
        proof_attempts: 120,
        proof_nodes: 512,
        proof_elements: 1 << 16,
        proof_steps: 1 << 28,
        proof_bytes: 256 << 20,
        selector_steps: 1 << 28,
        reduce_attempts: 10_000,
    };

    /// The limit of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        LIMITS.iter().find(|limit| limit.name == name).map(|limit| (limit.get)(self))
    }

    /// Changes the limit of this name. A number beyond what the limit can hold means the greatest that it can.
    ///
    /// # Errors
    ///
    /// Returns an error if no limit has this name.
    pub fn set(&mut self, name: &str, to: u64) -> Result<(), UnknownLimitError> {
        let limit = LIMITS.iter().find(|limit| limit.name == name).ok_or(UnknownLimitError)?;
        (limit.set)(self, to);
        Ok(())
    }
}

crate::option_setters! {
    Limits {
        with_message_depth => message_depth: u32,
        with_input_bytes => input_bytes: u64,
        with_string_bytes => string_bytes: u64,
        with_nodes => nodes: u64,
        with_values => values: u64,
        with_graphs => graphs: u64,
        with_functions => functions: u64,
        with_tensors => tensors: u64,
        with_entries => entries: u64,
        with_text_depth => text_depth: u32,
        with_text_bytes => text_bytes: u64,
        with_text_errors => text_errors: u64,
        with_followed_elements => followed_elements: usize,
        with_inferred_rank => inferred_rank: usize,
        with_visits_per_node => visits_per_node: usize,
        with_expression_steps => expression_steps: usize,
        with_inference_depth => inference_depth: usize,
        with_findings => findings: usize,
        with_findings_per_rule => findings_per_rule: usize,
        with_report_entries => report_entries: usize,
        with_report_steps => report_steps: usize,
        with_external_files => external_files: usize,
        with_external_bytes => external_bytes: u64,
        with_splat_bytes => splat_bytes: u64,
        with_run_elements => run_elements: u64,
        with_run_bytes => run_bytes: u64,
        with_run_steps => run_steps: u64,
        with_run_depth => run_depth: usize,
        with_proof_runs => proof_runs: usize,
        with_proof_attempts => proof_attempts: usize,
        with_proof_nodes => proof_nodes: usize,
        with_proof_elements => proof_elements: u64,
        with_proof_steps => proof_steps: u64,
        with_proof_bytes => proof_bytes: u64,
        with_selector_steps => selector_steps: u64,
        with_reduce_attempts => reduce_attempts: u64,
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// No limit has the given name; [`LIMITS`] lists those that there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownLimitError;

impl std::fmt::Display for UnknownLimitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a limit of this name does not exist")
    }
}

impl std::error::Error for UnknownLimitError {}

/// The description of one limit.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Its name: that of its field in [`Limits`], as errors say it.
    pub name: &'static str,
    /// The unit of the limit.
    pub unit: &'static str,
    /// The purpose of the limit, in one phrase.
    pub guards: &'static str,
    get: fn(&Limits) -> u64,
    set: fn(&mut Limits, u64),
}

impl Limit {
    /// The default; `None` if it is unlimited.
    #[must_use]
    pub fn default_value(&self) -> Option<u64> {
        Some((self.get)(&Limits::DEFAULT)).filter(|&value| value != u64::MAX)
    }
}

/// A row of the table: a name, its unit, what it guards, and its field.
macro_rules! limit {
    ($field:ident, $unit:literal, $guards:literal) => {
        Limit {
            name: stringify!($field),
            unit: $unit,
            guards: $guards,
            get: |limits| u64::try_from(limits.$field).unwrap_or(u64::MAX),
            set: |limits, to| limits.$field = to.try_into().unwrap_or(!0),
        }
    };
}

/// All limits, in the order of the fields of [`Limits`].
pub const LIMITS: [Limit; 36] = [
    limit!(message_depth, "levels", "the stack, against messages in messages; other readers stop at 100"),
    limit!(input_bytes, "bytes", "the time to read a file at all"),
    limit!(string_bytes, "bytes", "memory, against one endless name or documentation"),
    limit!(nodes, "nodes", "memory, against files of tiny nodes"),
    limit!(values, "values", "memory, against files of tiny outputs"),
    limit!(graphs, "graphs", "memory, against files of empty nested graphs"),
    limit!(functions, "functions", "memory, against files of tiny functions"),
    limit!(tensors, "tensors", "memory, against files of empty tensors"),
    limit!(entries, "entries", "memory, against lists of imports, metadata and annotations"),
    limit!(text_depth, "levels", "the stack, against graphs in graphs and types in types of a text"),
    limit!(text_bytes, "bytes", "the width of positions in a text"),
    limit!(text_errors, "errors", "time, against texts in which everything is wrong"),
    limit!(followed_elements, "elements", "memory, against values that inference would compute"),
    limit!(inferred_rank, "axes", "memory, against shapes whose rank is the length of a tensor"),
    limit!(visits_per_node, "visits", "time, against loops in loops and calls that double"),
    limit!(
        expression_steps,
        "expressions",
        "time, against tensors of large expressions that are computed with"
    ),
    limit!(inference_depth, "levels", "memory, against graphs and calls in each other"),
    limit!(findings, "findings", "memory and patience, against models in which everything is wrong"),
    limit!(findings_per_rule, "findings", "patience, against one defect a million times"),
    limit!(
        report_entries,
        "entries",
        "memory and the length of output, against models in which nothing is known"
    ),
    limit!(report_steps, "steps", "time, against long chains of shapes with many axes"),
    limit!(external_files, "files", "handles, against models that name files without end"),
    limit!(external_bytes, "bytes", "time and memory, against files with holes that claim any size"),
    limit!(
        splat_bytes,
        "bytes",
        "memory, against tensors of one element, and constants of functions, that are written out"
    ),
    limit!(run_elements, "elements", "memory, against models that compute tensors of any size"),
    limit!(run_bytes, "bytes", "memory, against models that keep many values"),
    limit!(run_steps, "operations", "time, against loops without end and products of any size"),
    limit!(run_depth, "levels", "memory, against graphs and calls in each other that run"),
    limit!(proof_runs, "runs", "the time to test an edit"),
    limit!(proof_attempts, "runs", "the time to find inputs for which an edit can be tested"),
    limit!(proof_nodes, "nodes", "the time to test an edit of many nodes"),
    limit!(proof_elements, "elements", "the time to test an edit of large tensors"),
    limit!(proof_steps, "operations", "the time to test an edit: the operations on elements in its runs"),
    limit!(proof_bytes, "bytes", "memory, against edits that expand tensors"),
    limit!(selector_steps, "steps", "time, against selectors that visit the model again and again"),
    limit!(reduce_attempts, "models", "the time to reduce a model, which runs a command for each attempt"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_row_that_changes_it_alone() {
        // The names in the debugging form are those of the fields.
        let fields = format!("{:?}", Limits::DEFAULT).matches(':').count();
        assert_eq!(LIMITS.len(), fields);
        for limit in LIMITS {
            let mut limits = Limits::default();
            limits.set(limit.name, 7).unwrap();
            assert_eq!(limits.get(limit.name), Some(7));
            let changed = LIMITS.iter().filter(|other| (other.get)(&limits) != (other.get)(&Limits::DEFAULT));
            assert_eq!(changed.count(), 1, "{}", limit.name);
            assert!(format!("{limits:?}").contains(&format!("{}: 7", limit.name)));
        }
    }

    #[test]
    fn every_limit_has_a_setter() {
        for limit in LIMITS {
            let row = format!("with_{0} => {0}: ", limit.name);
            assert_eq!(include_str!("limits.rs").matches(&row).count(), 1, "{}", limit.name);
        }
        assert_eq!(Limits::default().with_run_depth(7).get("run_depth"), Some(7));
    }

    #[test]
    fn what_is_too_great_is_as_great_as_can_be() {
        let mut limits = Limits::default();
        limits.set("message_depth", u64::MAX).unwrap();
        assert_eq!(limits.message_depth, u32::MAX);
        assert_eq!(limits.set("", 1), Err(UnknownLimitError));
        assert_eq!(limits.get("nowhere"), None);
    }
}
