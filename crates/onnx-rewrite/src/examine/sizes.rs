//! Sizes of operands that an operator is likely to accept.

use super::choose::Rng;

/// The sizes of a value of any rank.
pub(super) fn any(rng: &mut Rng, rank: usize) -> Vec<i64> {
    (0..rank).map(|_| rng.pick(&[1, 2, 2, 3, 3, 4]).unwrap_or(1)).collect()
}

/// Returns `true` for operators that take certain ranks or sizes only.
pub(super) fn is_particular(op: &str) -> bool {
    matches!(
        op,
        "Attention"
            | "AveragePool"
            | "BatchNormalization"
            | "Conv"
            | "ConvTranspose"
            | "DepthToSpace"
            | "Gemm"
            | "GlobalAveragePool"
            | "GlobalLpPool"
            | "GlobalMaxPool"
            | "GroupNormalization"
            | "InstanceNormalization"
            | "LRN"
            | "LpPool"
            | "MaxPool"
            | "SpaceToDepth"
            | "StringNormalizer"
    )
}

/// Returns `true` for operators whose result has the sizes of the first operand, or larger ones.
pub(super) fn keeps_sizes(op: &str) -> bool {
    let changes = [
        "ArgMax",
        "ArgMin",
        "Compress",
        "Concat",
        "Constant",
        "ConstantOfShape",
        "Expand",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "MatMul",
        "NonZero",
        "OneHot",
        "Pad",
        "Range",
        "Reshape",
        "Resize",
        "Shape",
        "Size",
        "Slice",
        "Split",
        "Squeeze",
        "Tile",
        "TopK",
        "Transpose",
        "Unsqueeze",
    ];
    !changes.contains(&op) && !op.starts_with("Reduce")
}

/// The sizes of the first operand of an operator: all `equal`, if that is given. Results of sides that move elements in different
/// ways have the same type only if the sizes of the axes are equal.
pub(super) fn first_sizes(rng: &mut Rng, op: &str, equal: Option<i64>) -> Vec<i64> {
    let rank = match op {
        "Conv"
        | "ConvTranspose"
        | "MaxPool"
        | "AveragePool"
        | "LpPool"
        | "GlobalMaxPool"
        | "GlobalAveragePool"
        | "GlobalLpPool"
        | "InstanceNormalization"
        | "GroupNormalization" => rng.pick(&[3, 4, 3, 4, 5]).unwrap_or(4),
        "DepthToSpace" | "SpaceToDepth" | "LRN" | "Attention" => 4,
        "Range" => 0,
        "StringNormalizer" => 1,
        "Gemm" => 2,
        "BatchNormalization" => rng.below(3).saturating_add(2),
        op if is_product(op) => rng.pick(&[1, 1, 2, 2, 2, 2, 3, 3, 4]).unwrap_or(2),
        "Pad" => rng.pick(&[1, 2, 3, 3, 4, 4]).unwrap_or(3),
        // Two axes can only be exchanged, and each exchange undoes itself.
        _ if equal.is_some() => rng.pick(&[2, 3, 3, 4]).unwrap_or(3),
        // Numbers of axes that rules name are passed by some.
        _ => rng.pick(&[0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 6]).unwrap_or(2),
    };
    let mut sizes = any(rng, rank);
    match (op, sizes.as_mut_slice()) {
        // Blocks of 2 or 3, and more channels than one block needs.
        ("DepthToSpace", [_, channels, ..]) => *channels = rng.pick(&[4, 8, 8, 12, 9, 18]).unwrap_or(8),
        ("SpaceToDepth", [_, _, height, width]) => {
            (*height, *width) = (rng.pick(&[2, 3, 4, 6]).unwrap_or(2), rng.pick(&[2, 4, 6]).unwrap_or(2));
        }
        (_, sizes) if equal.is_some() => sizes.fill(equal.unwrap_or(2)),
        _ => {}
    }
    if is_product(op)
        && rng.chance(30)
        && let [batch, _, _, ..] = sizes.as_mut_slice()
    {
        *batch = 1;
    }
    if equal.is_some() || matches!(op, "DepthToSpace" | "SpaceToDepth") {
        return sizes;
    }
    if op == "Squeeze" {
        // Only axes of size 1 can be removed.
        sizes.iter_mut().filter(|_| rng.chance(50)).for_each(|size| *size = 1);
    }
    if matches!(op, "Conv" | "ConvTranspose" | "MaxPool" | "AveragePool" | "LpPool") {
        sizes.iter_mut().skip(2).for_each(|size| *size = size.saturating_add(2));
    } else if rng.chance(6) {
        let axis = rng.below(sizes.len());
        sizes.get_mut(axis).into_iter().for_each(|size| *size = 0);
    }
    sizes
}

/// The sizes of a further operand, chosen to fit the first one; `groups` is the number of groups of a convolution.
pub(super) fn other_sizes(
    rng: &mut Rng,
    op: &str,
    name: &str,
    first: &[i64],
    weight: Option<&[i64]>,
    groups: i64,
) -> Vec<i64> {
    let at = |index: usize| first.get(index).copied().unwrap_or(1);
    let last = first.last().copied().unwrap_or(1);
    match (op, name) {
        ("Conv" | "ConvTranspose", _) => of_convolution(rng, op, name, first, weight, groups),
        ("ScatterElements", "updates") => weight.unwrap_or(first).to_vec(),
        ("ScatterND", "updates") => {
            let (last, outer) = weight.and_then(<[i64]>::split_last).unwrap_or((&0, &[]));
            let inner = first.iter().skip(usize::try_from(*last).unwrap_or(0));
            outer.iter().chain(inner).copied().collect()
        }
        ("Attention", "K") => of_keys(rng, first),
        ("Attention", "V") => weight.unwrap_or(first).to_vec(),
        ("BatchNormalization" | "InstanceNormalization" | "GroupNormalization", _) => vec![at(1)],
        ("LayerNormalization" | "RMSNormalization", _) if rng.chance(40) => {
            let axis = rng.below(first.len());
            first.iter().skip(axis).copied().collect()
        }
        ("LayerNormalization" | "RMSNormalization", _) => vec![last],
        ("Range", _) | (_, "constant_value" | "min" | "max" | "ratio" | "training_mode") => Vec::new(),
        // One scale for the tensor, or one for each channel.
        (_, "x_scale" | "y_scale") => first.get(1).copied().into_iter().filter(|_| rng.chance(30)).collect(),
        // One for the tensor, for each row, or for each column.
        (_, "a_scale" | "a_zero_point") => {
            first.iter().rev().nth(1).copied().into_iter().filter(|_| rng.chance(20)).collect()
        }
        (_, "b_scale" | "b_zero_point") => {
            let weight = weight.filter(|_| op == "MatMulInteger").unwrap_or_default();
            weight.last().copied().into_iter().filter(|_| rng.chance(30)).collect()
        }
        (_, "x_zero_point" | "y_zero_point") => weight.unwrap_or_default().to_vec(),
        ("Gemm", "B") => {
            let other = rng.pick(&[1, 2, 3]).unwrap_or(1);
            let inner = if rng.chance(70) { last } else { at(0) };
            if rng.chance(60) { vec![inner, other] } else { vec![other, inner] }
        }
        // The bias of a product: its sizes, or some that are broadcast to them.
        ("Gemm", "C") => {
            let rows = if rng.chance(70) { at(0) } else { at(1) };
            let of_weight = |axis: usize| weight.and_then(|weight| weight.get(axis)).copied().unwrap_or(1);
            let columns = if rng.chance(60) { of_weight(1) } else { of_weight(0) };
            let all = [&[rows, columns][..], &[rows, 1], &[1, columns], &[columns], &[1], &[], &[1, 1]];
            rng.pick(&all).unwrap_or_default().to_vec()
        }
        (op, _) if is_product(op) => of_product(rng, first, true),
        ("Concat", _) => {
            let mut sizes = first.to_vec();
            let axis = rng.below(sizes.len());
            if rng.chance(50)
                && let Some(size) = sizes.get_mut(axis)
            {
                *size = rng.pick(&[1, 2, 3]).unwrap_or(1);
            }
            sizes
        }
        _ => broadcast(rng, first),
    }
}

/// The sizes of the weights or the bias of a convolution.
fn of_convolution(
    rng: &mut Rng,
    op: &str,
    name: &str,
    first: &[i64],
    weight: Option<&[i64]>,
    groups: i64,
) -> Vec<i64> {
    let channels = first.get(1).copied().unwrap_or(1);
    if name == "B" {
        return match (op, weight) {
            ("Conv", Some(&[filters, ..])) => vec![filters],
            ("ConvTranspose", Some(&[_, filters, ..])) => vec![filters.saturating_mul(groups)],
            _ => Vec::new(),
        };
    }
    let filters = rng.pick(&[1_i64, 2, 3]).unwrap_or(1);
    let mut sizes = match op {
        "Conv" => vec![filters.saturating_mul(groups), channels.checked_div(groups).unwrap_or(0)],
        _ => vec![channels, filters],
    };
    sizes.extend(first.iter().skip(2).map(|_| rng.pick(&[1, 2, 3]).unwrap_or(1)));
    sizes
}

/// The sizes of the keys of an attention: several heads of queries can have the same keys.
fn of_keys(rng: &mut Rng, queries: &[i64]) -> Vec<i64> {
    let mut sizes = queries.to_vec();
    if let [_, heads, positions, _] = sizes.as_mut_slice() {
        let divisors: Vec<i64> = (1..=*heads).filter(|&part| heads.checked_rem(part) == Some(0)).collect();
        *heads = rng.pick(&divisors).unwrap_or(*heads);
        *positions = rng.pick(&[1, 2, 3]).unwrap_or(1);
    }
    sizes
}

/// The sizes of the first operand of an operator, chosen to fit another one.
pub(super) fn sizes_for(rng: &mut Rng, op: &str, name: &str, other: &[i64]) -> Option<Vec<i64>> {
    Some(match (op, name, other) {
        ("Attention", "K" | "V", &[batch, heads, positions, last]) => {
            let heads = heads.saturating_mul(rng.pick(&[1, 2])?);
            vec![batch, heads, rng.pick(&[1, 2, positions])?, last]
        }
        (op, _, other @ [_, ..]) if is_product(op) => of_product(rng, other, false),
        ("Gemm", "B", &[inner, _]) => vec![rng.pick(&[1, 2, 3])?, inner],
        ("Attention" | "Gemm", ..) => return None,
        (op, ..) if is_product(op) => return None,
        _ => broadcast(rng, other),
    })
}

/// Number of groups of a convolution: the wanted one, if the channels can be divided into as many.
pub(super) fn groups(op: &str, first: &[i64], weight: Option<&[i64]>, wanted: i64) -> i64 {
    let Some(&channels) = first.get(1) else { return 1 };
    let part = weight.and_then(|weight| weight.get(1)).copied();
    match (op, part) {
        // The weights determine it.
        ("Conv", Some(part)) if channels.checked_rem(part) == Some(0) => {
            channels.checked_div(part).unwrap_or(1)
        }
        _ if wanted > 0 && channels > 0 && channels.checked_rem(wanted) == Some(0) => wanted,
        _ => 1,
    }
}

/// Returns `true` for products of matrices, whose operands can be vectors, matrices, and batches of matrices.
pub(super) fn is_product(op: &str) -> bool {
    matches!(op, "MatMul" | "MatMulInteger" | "QLinearMatMul")
}

/// The sizes of an operand of a product of matrices, chosen to fit the other one: a vector, a matrix, and a batch that is the same,
/// broadcast in either direction, or has more axes.
fn of_product(rng: &mut Rng, other: &[i64], is_second: bool) -> Vec<i64> {
    let matrix = other.len().saturating_sub(2);
    let (batch, matrix) = other.split_at(matrix);
    let inner = if is_second { matrix.last() } else { matrix.first() }.copied().unwrap_or(1);
    if rng.chance(20) {
        return vec![inner];
    }
    let mut sizes: Vec<i64> = match rng.below(20) {
        0..7 => Vec::new(),
        7..9 => batch.get(1..).unwrap_or_default().to_vec(),
        9..13 => [rng.pick(&[1, 2, 3]).unwrap_or(2)].iter().chain(batch).copied().collect(),
        _ => batch.to_vec(),
    };
    // Either operand is broadcast, or both.
    match rng.below(3) {
        0 => sizes.iter_mut().filter(|size| **size == 1).for_each(|size| *size = 3),
        1 => sizes.iter_mut().filter(|_| rng.chance(50)).for_each(|size| *size = 1),
        _ => widen(rng, &mut sizes),
    }
    // Products of square matrices can be exchanged and nested in both ways.
    let free = if rng.chance(25) { inner } else { rng.pick(&[1, 2, 3, 4]).unwrap_or(1) };
    sizes.extend(if is_second { [inner, free] } else { [free, inner] });
    sizes
}

/// Makes some sizes of 1 larger: the other operand is broadcast.
fn widen(rng: &mut Rng, sizes: &mut [i64]) {
    let by = rng.pick(&[2, 3, 3]).unwrap_or(2);
    sizes.iter_mut().filter(|size| **size == 1 && rng.chance(35)).for_each(|size| *size = by);
}

/// Sizes that broadcast with others: equal, a part, single elements, and rarely more axes.
pub(super) fn broadcast(rng: &mut Rng, first: &[i64]) -> Vec<i64> {
    let mut sizes: Vec<i64> = match rng.below(6) {
        0 => Vec::new(),
        1 => first.last().copied().into_iter().collect(),
        2 => {
            let skipped = rng.below(first.len().saturating_add(1));
            first.iter().skip(skipped).copied().collect()
        }
        3 => {
            let mut sizes = first.to_vec();
            sizes.insert(0, rng.pick(&[1, 2, 3]).unwrap_or(1));
            if rng.chance(20) {
                sizes.insert(0, 1);
            }
            sizes
        }
        _ => first.to_vec(),
    };
    widen(rng, &mut sizes);
    if rng.chance(30) {
        let index = rng.below(sizes.len());
        sizes.iter_mut().enumerate().filter(|(other, _)| *other == index).for_each(|(_, size)| *size = 1);
    }
    if rng.chance(12) {
        sizes.iter_mut().for_each(|size| *size = 1);
    }
    sizes
}
