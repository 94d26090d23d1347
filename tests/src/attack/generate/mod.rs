//! Random models: programs that compute sizes, layers, control flow and calls, composed by a grammar.
//!
//! A model grows block by block. A block picks operands among the values that fit at the first binding of the dimension
//! variables, and is dropped again if it is not valid there. What inference knows of each value *for given numbers* guides
//! the choice; what it reports as contradictory is sometimes kept, so that the runtime can show that it is not.

mod contrib;
mod control;
mod layers;
mod microsoft;
mod operators;
pub mod random;
mod rearranging;
mod sinks;
mod sizes;
pub mod world;

use random::Random;
use world::{BINDINGS, Input, World};

/// A generated model with the sizes and inputs to run it with.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed.
    pub seed: u64,
    /// The model as text.
    pub text: String,
    /// The sizes of the dimension variables.
    pub sizes: world::Sizes,
    /// The inputs.
    pub inputs: Vec<Input>,
}

/// The model of a seed.
///
/// # Errors
///
/// When the generator writes a text that has errors, which is a defect.
pub fn generate(seed: u64) -> Result<Case, String> {
    let mut rng = Random::new(seed);
    let opset =
        rng.of(&[7, 8, 9, 10, 11, 12, 13, 13, 14, 15, 16, 17, 18, 18, 19, 20, 21, 21, 22, 23, 24, 25, 26]);
    let ir = if opset >= 19 { rng.of(&[9, 10]) } else { rng.of(&[4, 7, 8, 8]) };
    let mut world = World::new(rng, opset, ir);
    inputs(&mut world);
    world.op("Identity", &["x0"], "");
    world.refresh()?;
    let blocks = 2 + world.rng.below(9);
    let mut tries = 0;
    let mut done = 0;
    while done < blocks && tries < 3 * blocks && world.node_count() < 120 {
        tries += 1;
        done += usize::from(block(&mut world)?);
    }
    Ok(Case { seed, text: world.text(), sizes: world.sizes, inputs: world.inputs })
}

/// Adds one block if it fits. Returns `true` if it did.
fn block(world: &mut World) -> Result<bool, String> {
    let before = world.clone();
    let known = world.values.len();
    let made = match world.rng.below(100) {
        0..38 => world.sink(),
        38..68 => world.layer(),
        68..79 => world.control(),
        79..86 => world.sequence(),
        86..94 => world.microsoft(),
        94..97 => world.function(),
        _ => world.declare(),
    };
    let rng = world.rng.clone();
    if made.is_none() {
        *world = World { rng, ..before };
        return Ok(false);
    }
    let contradicts = world.refresh()?;
    let dead = contradicts.iter().filter(|&&contradicts| contradicts).count();
    let is_kept = world.is_bounded()
        && (dead == 0
            || if contradicts[0] { world.rng.percent(12) } else { dead <= 2 && world.rng.percent(50) });
    if !is_kept {
        *world = World { rng: world.rng.clone(), ..before };
        return Ok(false);
    }
    if contradicts[0] {
        // It may not run, so nothing else depends on it.
        let new: Vec<String> = world.values.iter().skip(known).map(|value| value.name.clone()).collect();
        world.closed.extend(new);
    }
    Ok(true)
}

/// The dimension variables and the inputs.
fn inputs(world: &mut World) {
    let names = ["N", "M", "S", "H", "W"];
    let count = 2 + world.rng.below(3);
    for name in &names[..count] {
        let rng = &mut world.rng;
        let mut sizes = [rng.between(2, 6), 1, 0, 4];
        if rng.percent(40) {
            sizes[1] = rng.between(1, 3);
        }
        if rng.percent(50) {
            sizes[2] = rng.between(1, 7);
        }
        if rng.percent(30) {
            sizes[3] = rng.between(1, 9);
        }
        world.sizes.push(((*name).to_owned(), sizes));
    }
    let tensors = 2 + world.rng.below(3);
    for index in 0..tensors {
        let dims = loop {
            let rank = world.rng.of(&[1, 2, 2, 3, 3, 3, 4, 4, 4, 5]);
            let dims: Vec<String> = (0..rank).map(|axis| dim(world, axis)).collect();
            let sizes = (0..BINDINGS).map(|binding| dims_of(&dims, &world.sizes, binding));
            let is_small =
                |dims: Option<Vec<i64>>| dims.is_some_and(|dims| dims.iter().product::<i64>() <= 1500);
            if sizes.into_iter().all(is_small) {
                break dims;
            }
        };
        let elem = if index > 0 && world.rng.percent(20) { "int64" } else { "float" };
        let range = if elem == "float" { (-1, 2) } else { (0, 2) };
        world.inputs.push(Input { name: format!("x{index}"), elem, range, default: None, dims });
    }
    derived(world);
    if world.rng.percent(45) {
        // A small vector of integers, whose elements are not known.
        let length = world.rng.between(1, 3);
        let dims = if world.rng.percent(25) { Vec::new() } else { vec![length.to_string()] };
        let range = (0, world.rng.between(1, 4));
        let default = if world.rng.percent(45) {
            let count = if dims.is_empty() { 1 } else { length };
            let numbers: Vec<String> =
                (0..count).map(|_| world.rng.between(range.0, range.1).to_string()).collect();
            Some(format!("{{{}}}", numbers.join(", ")))
        } else {
            None
        };
        world.inputs.push(Input { name: "k".to_owned(), elem: "int64", range, default, dims });
    }
}

/// A dimension of an input: a variable, a number, or an expression of variables.
fn dim(world: &mut World, axis: usize) -> String {
    let (name, _) = world.rng.of(&world.sizes.clone());
    match world.rng.below(12) {
        0 | 1 => world.rng.of(&["1", "2", "3", "4", "8"]).to_owned(),
        2 if axis == 1 => "4".to_owned(),
        3 if axis == 1 => "3".to_owned(),
        4 => match world.rng.below(4) {
            0 => format!("2*{name}"),
            1 => format!("{name} + 1"),
            2 => {
                let (other, _) = world.rng.of(&world.sizes.clone());
                format!("{name} + {other}")
            }
            _ => format!("3*{name}"),
        },
        _ => name,
    }
}

/// Assigns sizes to expressions of variables that are not by themselves sizes of an input: such an expression is a
/// separate variable.
fn derived(world: &mut World) {
    let dims: Vec<String> = world.inputs.iter().flat_map(|input| input.dims.clone()).collect();
    for text in dims.iter().filter(|text| text.contains(['*', '+'])) {
        let is_alone = |name: &str| dims.iter().any(|dim| dim == name) || name.parse::<i64>().is_ok();
        if text.split(['*', '+']).all(|name| is_alone(name.trim()))
            || world.sizes.iter().any(|(name, _)| name == text)
        {
            continue;
        }
        let sizes = std::array::from_fn(|binding| {
            dims_of(std::slice::from_ref(text), &world.sizes, binding).map_or(0, |dims| dims[0])
        });
        world.sizes.push((text.clone(), sizes));
    }
}

/// Sizes of an input with a binding.
fn dims_of(dims: &[String], sizes: &world::Sizes, binding: usize) -> Option<Vec<i64>> {
    let number = |text: &str| -> Option<i64> {
        let text = text.trim();
        let bound = || sizes.iter().find(|(name, _)| name == text).map(|(_, sizes)| sizes[binding]);
        text.parse().ok().or_else(bound)
    };
    let term = |text: &str| text.split('*').map(number).product::<Option<i64>>();
    dims.iter().map(|dim| dim.split('+').map(term).sum::<Option<i64>>()).collect()
}
