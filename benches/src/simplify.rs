//! Simplification, with structure, rules and types proved, and what one sweep of many rules costs.

use std::error::Error;

use bytes::Bytes;
use onnx_codec::ReadMode;
use onnx_codec::file::read;
use onnx_pass::{Level, PassCx, PassOptions};
use onnx_rewrite::{RuleSet, simplification};
use onnx_schema::Registry;

use crate::decode;
use crate::samples::Samples;

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// Operators of the left sides of generated rules.
const OPERATORS: [&str; 40] = [
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Ceil",
    "Cos",
    "Cosh",
    "Div",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LeakyRelu",
    "Log",
    "MatMul",
    "Mish",
    "Mul",
    "Neg",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Tan",
    "Tanh",
];

fn options() -> PassOptions<'static> {
    PassOptions::default().with_level(Level::Types)
}

/// Simplifies the model of a file; `nodes` is their number afterwards.
///
/// # Errors
///
/// Returns an error if the file cannot be read.
pub fn file(path: &str, rounds: &str, samples: &mut Samples) -> Result {
    let bytes = read(path, ReadMode::Memory)?;
    for _ in 0..rounds.parse::<usize>()? {
        sample(&bytes, "simplify", samples)?;
    }
    Ok(())
}

/// Simplifies the model in these bytes, once.
///
/// # Errors
///
/// Returns an error if the rules of the workspace are wrong.
pub fn sample(bytes: &Bytes, name: &str, samples: &mut Samples) -> Result {
    let pipeline = simplification(RuleSet::standard()?, Registry::STANDARD)?;
    let mut model = decode(bytes.clone());
    samples.time(name, || pipeline.run(&mut model, &options()));
    samples.push(format!("{name}-nodes"), model.node_count() as u64);
    Ok(())
}

/// One sweep of generated rules over a model; no rule applies, since its last condition does not hold.
///
/// # Errors
///
/// Returns an error if a number is none, or a generated rule is wrong.
pub fn sweep(bytes: &Bytes, counts: &[&str], samples: &mut Samples) -> Result {
    for count in counts {
        let rules = RuleSet::parse(&generated(count.parse()?))?;
        let mut model = decode(bytes.clone());
        let mut cx = PassCx::new(&mut model, options());
        samples.time(format!("sweep/{count}"), || rules.apply(&mut cx));
    }
    Ok(())
}

/// Rules with two operators each.
fn generated(count: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let pick = |index: usize| OPERATORS.get(index % OPERATORS.len()).copied().unwrap_or("Relu");
        let (outer, inner) = (pick(number * 7), pick(number * 7 / OPERATORS.len() + number * 3));
        let call = |op: &str, operand: &str| match op {
            "Add" | "Sub" | "Mul" | "Div" | "MatMul" => format!("{op} ({operand}, z)"),
            _ => format!("{op} ({operand})"),
        };
        let has_second = [outer, inner].iter().any(|op| call(op, "x").ends_with(", z)"));
        let inputs = if has_second { "x, z" } else { "x" };
        text.push_str(&format!(
            "rule r{number}: exact, since 20\nfrom ({inputs}) => (y) {{ y = {} }}\nwhere rank(y) == 17\nto (x) => (x) {{}}\n",
            call(outer, &call(inner, "x"))
        ));
    }
    text
}
