//! The native part of the Python package: handles of models and conversions of values.
//!
//! Everything public is in the Python package `onnxkit`, whose modules call this one. One file for each kind of object or
//! question: `model`, `graph`, `node`, `nodes`, `value` and `attr` are handles, `tensor`, `dtype`, `number` and `types` are data, `inspect`,
//! `change`, `formats`, `quantize`, `run` and `passes` are work on whole models, `rows` is work on files of unknown origin. `load` and `save` are files, `command` is the command, `work` is how long work is done, `fault` how errors are raised, `reserve` what happens when memory is refused, `json`
//! how reports become objects, `buffer` is shared memory, and `table` and `arrow` are columns.
#![deny(unsafe_code)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    clippy::trivially_copy_pass_by_ref,
    reason = "signatures are those that Python calls"
)]

mod arrow;
mod attr;
mod buffer;
mod change;
mod command;
mod data;
mod dtype;
mod fault;
mod formats;
mod graph;
mod inspect;
mod json;
mod lists;
mod load;
mod model;
mod node;
mod nodes;
mod number;
mod passes;
mod quantize;
mod reserve;
mod rows;
mod run;
mod save;
mod table;
mod tensor;
mod types;
mod value;
mod weights;
mod work;

/// The module of the extension.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::attr::{AttrRef, Attributes};
    #[pymodule_export]
    use crate::change::{
        convert, extract, inline, merge, names, outline, reach, reduce, rename, resize, split,
    };
    #[pymodule_export]
    use crate::command::main;
    #[pymodule_export]
    use crate::dtype::DType;
    #[pymodule_export]
    use crate::formats::{dequantize, half, retype};
    #[pymodule_export]
    use crate::graph::Graph;
    #[pymodule_export]
    use crate::inspect::{
        Inference, check, cost, diff, explain, find, fix, hash, infer, info, schema, schemas,
    };
    #[pymodule_export]
    use crate::load::{decode_findings, load, loads, parse, received};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::node::Node;
    #[pymodule_export]
    use crate::nodes::NodeIter;
    #[pymodule_export]
    use crate::passes::{Rules, passes, run_passes, simplify};
    #[pymodule_export]
    use crate::quantize::quantize;
    #[pymodule_export]
    use crate::rows::{require_options, scan_file, scan_source};
    #[pymodule_export]
    use crate::run::{Evaluator, compare, inputs};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::tensor::Tensor;
    #[pymodule_export]
    use crate::value::Value;
    #[pymodule_export]
    use crate::weights::{import_weights, strip_weights};

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods as _;

        // Without memory for it, the first call says so.
        let _ = crate::reserve::require();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
