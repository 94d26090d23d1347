//! No node makes inference panic, work long, or ask for much memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use onnx_ir::AttrValue;
use onnx_schema::{AttrKind, Schema, all};
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::ElemType;

use crate::generate::{EDGES, Given, Held, Numbers, Plan, constant_of, variables};
use crate::rounds;

/// As little as threads of some programs have.
const STACK: usize = 512 * 1024;

/// Number of expressions, symbols, facts and diagnostics that inference of one node may make. The most that one makes is 17. They
/// are counted instead of the time, which depends on the machine.
const MOST: usize = 256;

/// How much the address space may grow during all tests of this program together, in KiB; arenas of threads are reserved
/// in pieces of 64 MiB.
const ADDRESSES: u64 = 2 * 1024 * 1024;

/// Infers in all ways that the options ask for; says what went wrong.
fn survive(plan: &Plan) -> Result<(), String> {
    let tell = |what: &str| format!("{what} at {plan:?}");
    let mut others = InferOptions::default();
    (others.check_types, others.declared) = (true, false);
    for options in [InferOptions::default(), others] {
        let work = AssertUnwindSafe(|| {
            let made = plan.make();
            let inference = infer(&made.model, &options);
            inference.findings().diagnostics().iter().for_each(|found| {
                let _ = found.locus.to_string();
            });
            let tables = inference.exprs().len() + inference.symbol_count();
            tables + inference.facts().all().len() + inference.findings().diagnostics().len()
        });
        let made = catch_unwind(work).map_err(|_| tell("panic"))?;
        if made > MOST {
            return Err(tell(&format!("{made} expressions, symbols, facts and diagnostics")));
        }
    }
    Ok(())
}

/// The nodes of a schema with every edge in every attribute and at every input that may be constant.
fn systematic(schema: &'static Schema, numbers: &mut Numbers, survive: &mut impl FnMut(&Plan)) {
    let variables = variables();
    for edge in EDGES {
        for formal in schema.attributes() {
            let value = match formal.kind {
                AttrKind::Int => AttrValue::Int(edge),
                AttrKind::Ints => AttrValue::Ints(vec![edge; 1 + numbers.below(4)]),
                _ => continue,
            };
            let mut plan = Plan::random(schema, numbers, &variables, 0);
            plan.attributes.retain(|(name, _)| *name != formal.name);
            plan.attributes.push((formal.name, Held::Value(value)));
            survive(&plan);
        }
        for index in 0..schema.max_inputs().unwrap_or(3).min(12) {
            let Some(formal) = schema.input_for(index) else { continue };
            for elem in [ElemType::Int64, ElemType::Int32, ElemType::Float] {
                if !schema.types_of(formal).contains_tensor(elem) {
                    continue;
                }
                for dims in [vec![], vec![1], vec![numbers.below(6) as i64]] {
                    let count = dims.iter().product::<i64>();
                    let integers = vec![edge; usize::try_from(count).unwrap()];
                    let mut plan = Plan::random(schema, numbers, &variables, 0);
                    if plan.inputs.len() <= index {
                        plan.inputs.resize(index + 1, Given::Missing);
                    }
                    plan.inputs[index] = Given::Constant(constant_of(elem, &dims, &integers).unwrap());
                    survive(&plan);
                }
            }
        }
    }
}

/// Does some work with a small stack.
fn with_small_stack(work: impl FnOnce() -> Vec<String> + Send + 'static) {
    let thread = thread::Builder::new().stack_size(STACK).spawn(work).unwrap();
    let failures = thread.join().unwrap();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn edges_in_every_attribute_and_operand_are_survived() {
    with_small_stack(|| {
        let mut failures = Vec::new();
        for (index, schema) in all().iter().enumerate() {
            systematic(schema, &mut Numbers::new(index as u64), &mut |plan| {
                failures.extend(survive(plan).err());
            });
        }
        failures
    });
    let grown = address_space().unwrap_or_default();
    assert!(grown < ADDRESSES, "the address space grew to {grown} KiB");
}

#[test]
fn random_nodes_are_survived() {
    with_small_stack(|| {
        let mut failures = Vec::new();
        let variables = variables();
        for (index, schema) in all().iter().enumerate() {
            for round in 0..rounds() {
                let mut numbers = Numbers::new(round * 1000 + index as u64);
                let wild = [0, 10, 30, 60][numbers.below(4)];
                failures.extend(survive(&Plan::random(schema, &mut numbers, &variables, wild)).err());
            }
        }
        failures
    });
    let grown = address_space().unwrap_or_default();
    assert!(grown < ADDRESSES, "the address space grew to {grown} KiB");
}

/// The greatest size of the address space of this process so far in KiB, where the system tells.
fn address_space() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"))?;
    line.split_whitespace().next()?.parse().ok()
}
