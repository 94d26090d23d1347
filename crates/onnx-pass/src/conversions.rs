//! Claims about conversions of numbers: chains of `Cast` are compared by the values that their types represent.
//!
//! A chain of types from an operand is reduced by three equations, all of which hold for every value:
//!
//! * A type that represents each value of the one before it drops out.
//! * Of integers, the low bits are kept, so a type drops out that is not narrower than the next one.
//! * Integers that a float type rounds are so large that they overflow the next float type, rounded or not.
//!
//! Chains with one reduced form are equal. All values of an operand of at most 16 bits are tried; of others, those next to ties
//! of roundings and the limits of types.

use onnx_eval::{EvalOptions, Value, run_node};
use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::{attr, domain, op};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemClass, ElemType};

use crate::assumption::{Assumption, Exactness};
use crate::compare::{self, Difference};
use crate::elements;
use crate::equivalence::{Equivalence, EquivalenceSide};
use crate::fixed_results::is_defined_cast;
use crate::formats::{self, Format, range_of};
use crate::sample::{Case, Sampler, SplitMix64};

/// Whether two chains of conversions are equal.
pub(crate) enum Decision {
    /// They are; the method.
    Equal(&'static str),
    /// They are not, for this operand.
    Different(Box<Found>),
}

/// An operand for which the sides differ.
pub(crate) struct Found {
    pub(crate) case: Case,
    pub(crate) difference: Difference,
}

/// One side: the operand by its index, and the nodes from it to the result with the types that they make.
struct Chain {
    input: usize,
    nodes: Vec<NodeId>,
    types: Vec<ElemType>,
}

/// Decides a claim whose sides convert one operand; `None` if it is about anything else, or not decided.
pub(crate) fn decide(eq: &Equivalence, run: &EvalOptions<'_>) -> Option<Decision> {
    let [old, new] = [EquivalenceSide::Before, EquivalenceSide::After].map(|side| chain(eq, side));
    let (old, new) = (old?, new?);
    let is_restricted =
        eq.assumptions().iter().any(|assumption| matches!(assumption, Assumption::Content { .. }));
    if old.input != new.input || is_restricted {
        return None;
    }
    let source = *old.types.first()?;
    let is_small = source.bits().is_some_and(|bits| bits <= 16);
    if !is_small
        && reduced(&old.types, EquivalenceSide::Before) == reduced(&new.types, EquivalenceSide::After)
    {
        return Some(Decision::Equal("the values that the types represent"));
    }
    let types: Vec<ElemType> = old.types.iter().chain(&new.types).copied().collect();
    let values = values(eq, source, &types)?;
    let (before, after) =
        (results(eq.model(), &old, &values, run)?, results(eq.model(), &new, &values, run)?);
    match first_difference(&before, &after) {
        None if is_small => Some(Decision::Equal("all values of the operand")),
        // What is equal in real arithmetic is for the runs to find.
        Some((index, difference)) if eq.class() == Exactness::Exact => {
            Some(Decision::Different(Box::new(found(eq, &old, &values, index, difference)?)))
        }
        _ => None,
    }
}

/// The chain of conversions that is a side; `None` if it is anything else.
fn chain(eq: &Equivalence, side: EquivalenceSide) -> Option<Chain> {
    let model = eq.model();
    let body = model.graph(model.function(eq.function(side)).body());
    let [output] = body.outputs() else { return None };
    let (mut nodes, mut types) = (Vec::new(), Vec::new());
    let mut value = output.value();
    while let Some(node) = model.value(value).producer() {
        let record = model.node(node);
        let is_cast = record.is(op::CAST);
        let is_plain = record.attributes().iter().all(|attribute| is_cast && attribute.name() == attr::TO);
        if record.domain() != domain::ONNX || !is_plain || !(is_cast || record.is(op::IDENTITY)) {
            return None;
        }
        if is_cast {
            types.push(ElemType::from_code(i32::try_from(record.int(attr::TO)?).ok()?)?);
        }
        nodes.push(node);
        value = record.input(0)?;
    }
    if nodes.len() != body.node_count() {
        return None;
    }
    let input = body.inputs().iter().position(|&input| input == value)?;
    let outer: ValueId = *eq.inputs().get(input)?;
    let source = match eq.constant(outer) {
        None => model.ty(outer).filter(|ty| ty.shape().is_some())?.elem(),
        Some(_) => return None,
    };
    types.push(source);
    types.reverse();
    nodes.reverse();
    let is_number = |elem: &ElemType| {
        matches!(elem.class(), ElemClass::Float | ElemClass::Int | ElemClass::Uint | ElemClass::Bool)
    };
    types.iter().all(is_number).then_some(Chain { input, nodes, types })
}

/// The shortest chain with the results of another one. That of the old side may be defined for more operands than the chain.
fn reduced(chain: &[ElemType], side: EquivalenceSide) -> Vec<ElemType> {
    let mut types = chain.to_vec();
    loop {
        types.dedup();
        let drops = |window: &[ElemType]| match *window {
            [from, through, to] => drops_out(from, through, to, side),
            _ => false,
        };
        match types.windows(3).position(drops) {
            Some(index) => types.remove(index.saturating_add(1)),
            None => return types,
        };
    }
}

/// Returns `true` if a conversion through a type is the direct one.
fn drops_out(from: ElemType, through: ElemType, to: ElemType, side: EquivalenceSide) -> bool {
    let is_integer = |elem: ElemType| range_of(elem).is_some();
    if represents(through, from) {
        // Integers wrap; floats that are not integers of the type have no defined result.
        let hides_undefined =
            is_integer(from) && through.is_float() && is_integer(to) && !represents(to, from);
        return side == EquivalenceSide::Before || !hides_undefined;
    }
    if is_integer(from) && is_integer(through) && is_integer(to) {
        return to.bits() <= through.bits();
    }
    let (Some(rounding), Some(next)) = (Format::of(through), Format::of(to)) else { return false };
    is_integer(from) && to != ElemType::Float8E8M0 && next.overflow() <= rounding.integers()
}

/// Returns `true` if a type has each value of another one.
fn represents(elem: ElemType, other: ElemType) -> bool {
    if elem == other {
        return true;
    }
    // Those of IEEE 754 have infinities, NaN, and zeros of both signs.
    let has_all = matches!(elem, ElemType::Double | ElemType::Float | ElemType::Float16 | ElemType::Bfloat16);
    let own = (Format::of(elem), range_of(elem));
    match (own, Format::of(other), range_of(other)) {
        ((Some(format), _), Some(other), _) => has_all && format.includes(other),
        ((Some(format), _), _, Some((low, high))) => {
            let most = format.integers().min(format.max);
            elem != ElemType::Float8E8M0 && low as f64 >= -most && high as f64 <= most
        }
        ((_, Some(own)), _, Some(other)) => own.0 <= other.0 && other.1 <= own.1,
        // Truth values are 0 and 1.
        ((format, range), None, None) => {
            other == ElemType::Bool
                && elem != ElemType::Float8E8M0
                && (format.is_some() || range.is_some_and(|(_, high)| high >= 1))
        }
        _ => false,
    }
}

/// The values of a type that are tried: all of a type of at most 16 bits.
fn values(eq: &Equivalence, source: ElemType, types: &[ElemType]) -> Option<Tensor> {
    let (mut floats, mut integers) = (Vec::new(), Vec::new());
    if source.is_float() {
        floats = match source.bits()? {
            16 => {
                let codes = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
                compare::floats(&Tensor::from_raw(source, [1 << 16], codes).ok()?)?
            }
            ..16 => powers(Format::of(source)?),
            _ => formats::floats_beside(source, types),
        };
        let special = [0.0, 1.0, f64::INFINITY, f64::NAN, Format::of(source)?.tiny()];
        floats.extend(special);
        let negative: Vec<f64> = floats.iter().map(|number| -number).collect();
        floats.extend(negative);
        let granted = |number: &f64| {
            eq.assumptions().iter().all(|assumption| match assumption {
                Assumption::Granted(condition) => condition.allows(*number),
                _ => true,
            })
        };
        floats.retain(granted);
    } else {
        let range = range_of(source).unwrap_or((0, 1));
        match source.bits()? {
            ..=16 => integers = (range.0..=range.1).map(|number| number as i64).collect(),
            _ => integers = formats::integers_beside(source, types),
        }
        integers.extend([0, 1]);
    }
    let count = i64::try_from(floats.len().max(integers.len())).ok()?;
    elements::make(source, vec![count], &floats, &integers)
}

/// All positive numbers of a float type of at most four significant bits, and others that it rounds.
fn powers(format: Format) -> Vec<f64> {
    let mut numbers = Vec::new();
    let mut power = format.tiny();
    while power <= format.max {
        numbers.extend((0..16).map(|step| power * (1.0 + f64::from(step) / 16.0)));
        power *= 2.0;
    }
    numbers
}

/// The results of a chain, and whether the standard defines each.
struct Results {
    tensor: Tensor,
    is_defined: Vec<bool>,
}

fn results(model: &Model, chain: &Chain, values: &Tensor, run: &EvalOptions<'_>) -> Option<Results> {
    let mut tensor = values.clone();
    let count = usize::try_from(values.element_count()?).ok()?;
    let mut is_defined = vec![true; count];
    for &node in &chain.nodes {
        let made = run_node(model, node, &[Some(Value::from(tensor.clone()))], run).ok()?;
        let made = Tensor::clone(made.first()?.as_ref()?.tensor()?);
        // Integers wrap to the integers of another type, and have a type of powers of two only if they are not negative.
        let numbers = match tensor.elem().is_float() || made.elem() == ElemType::Float8E8M0 {
            true if made.elem() != tensor.elem() => numbers(&tensor).unwrap_or_default(),
            _ => Vec::new(),
        };
        for (is_defined, number) in is_defined.iter_mut().zip(numbers) {
            *is_defined &= is_defined_cast(number, made.elem());
        }
        tensor = made;
    }
    Some(Results { tensor, is_defined })
}

/// The elements of a tensor as floats; `None` for integers of 64 bits without sign.
fn numbers(tensor: &Tensor) -> Option<Vec<f64>> {
    let integers = || Some(tensor.iter_i64(&NoData).ok()?.map(|number| number as f64).collect());
    compare::floats(tensor).or_else(integers)
}

/// The first value for which the old side is defined and the new one is not, or has another result.
fn first_difference(before: &Results, after: &Results) -> Option<(usize, Difference)> {
    let texts = |results: &Results| compare::element_texts(&results.tensor, usize::MAX);
    let (old, new) = (texts(before), texts(after));
    let is_defined = before.is_defined.iter().zip(&after.is_defined);
    let mut all = old.iter().zip(&new).zip(is_defined).enumerate();
    let (index, ((old, new), (_, &is_defined))) =
        all.find(|(_, ((old, new), (before, after)))| **before && (!**after || old != new))?;
    let after = if is_defined { new.clone() } else { "not defined by the standard".to_owned() };
    Some((index, Difference { output: 0, element: None, before: old.clone(), after }))
}

/// The inputs of the claim with one value as the operand.
fn found(
    eq: &Equivalence,
    chain: &Chain,
    values: &Tensor,
    index: usize,
    difference: Difference,
) -> Option<Found> {
    let sampler = Sampler::new(eq, 1 << 16);
    // All sizes are 1, if the relations between them allow that.
    let mut case = (1..4).find_map(|attempt| sampler.case(attempt, &mut SplitMix64::new(0)).ok())?;
    let operand = case.inputs.get_mut(chain.input)?;
    let dims = operand.tensor()?.dims().to_vec();
    let count = usize::try_from(operand.tensor()?.element_count()?).ok()?;
    let number = compare::floats(values).and_then(|floats| floats.get(index).copied());
    let integer = || match values.elem() {
        ElemType::Uint64 => {
            let all = values.to_vec::<u64>(&NoData).ok()?;
            all.get(index).map(|number| number.cast_signed())
        }
        _ => values.iter_i64(&NoData).ok()?.nth(index),
    };
    let integers = if number.is_none() { vec![integer()?; count] } else { Vec::new() };
    let floats = number.map_or_else(Vec::new, |number| vec![number; count]);
    *operand = elements::make(values.elem(), dims, &floats, &integers)?.into();
    Some(Found { case, difference })
}

#[cfg(test)]
mod tests;
