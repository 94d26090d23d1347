//! The derivatives of operators: what the derivatives by the output of a node contribute to those by its inputs.

use onnx_schema::{attr, domain, op};

use crate::cx::axes::{axes, product, strides};
use crate::cx::{Cx, Dims, Outcome, Stop};
use crate::family::Axes;
use crate::family::broadcast::{for_each_row, repeated};
use crate::family::gemm::{Matrix, Product, work};
use crate::family::reduce::Reduction;

/// The elements of a tensor in `double`.
pub(super) struct Tensor {
    pub(super) is_float: bool,
    pub(super) dims: Dims,
    pub(super) values: Vec<f64>,
}

/// The contributions to each input; `None` for inputs without one.
type Parts = Vec<Option<Vec<f64>>>;

/// What the derivatives `slope` by the first output contribute to those by the inputs.
pub(super) fn pulled_back(
    cx: &mut Cx<'_, '_>,
    inputs: &[Option<Tensor>],
    output: &Tensor,
    slope: &[f64],
) -> Outcome<Parts> {
    cx.work(slope.len().saturating_mul(4))?;
    let given: Vec<&Tensor> = inputs.iter().flatten().collect();
    let op = if cx.node().domain() == domain::ONNX { cx.op() } else { return Err(unknown(cx)) };
    if let (Some(derivative), [x, ..]) = (unary(op), &given[..]) {
        let places = x.values.iter().zip(&output.values).zip(slope);
        return Ok(vec![Some(places.map(|((&x, &y), slope)| derivative(x, y) * slope).collect())]);
    }
    if let (Some(derivatives), [a, b]) = (binary(op), &given[..]) {
        if cx.has_attribute(attr::BROADCAST) {
            return Err(Stop::unsupported("the derivative of a broadcast before version 7"));
        }
        return Ok(both(derivatives, [a, b], output, slope));
    }
    match (op, &given[..]) {
        (op::RESHAPE | op::FLATTEN | op::SQUEEZE | op::UNSQUEEZE, [_, ..]) => Ok(vec![Some(slope.to_vec())]),
        (op::SUM, _) => Ok(given.iter().map(|x| Some(summed(&x.dims, &output.dims, slope))).collect()),
        (op::TRANSPOSE, [x]) => transposed(cx, x, output, slope),
        (op::REDUCE_SUM | op::REDUCE_MEAN, [x, ..]) => reduced(cx, x, slope),
        (op::MAT_MUL, [a, b]) => matmul(cx, a, b, slope),
        (op::GEMM, [a, b, rest @ ..]) => gemm(cx, [a, b], rest.first(), output, slope),
        _ => Err(unknown(cx)),
    }
}

fn unknown(cx: &Cx<'_, '_>) -> Stop {
    Stop::unsupported(format_args!("the derivative of `{}`", cx.model.str(cx.op())))
}

/// The derivative of a function of one number, of the number and the result.
fn unary(op: onnx_types::Symbol) -> Option<fn(f64, f64) -> f64> {
    Some(match op {
        op::ABS => |x, _| {
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                0.0
            }
        },
        op::COS => |x, _| -libm::sin(x),
        op::ERF => |x, _| std::f64::consts::FRAC_2_SQRT_PI * libm::exp(-x * x),
        op::EXP => |_, y| y,
        op::IDENTITY => |_, _| 1.0,
        op::LOG => |x, _| 1.0 / x,
        op::NEG => |_, _| -1.0,
        op::RECIPROCAL => |_, y| -y * y,
        op::RELU => |x, _| if x > 0.0 { 1.0 } else { 0.0 },
        op::SIGMOID => |_, y| y * (1.0 - y),
        op::SIN => |x, _| libm::cos(x),
        op::SOFTPLUS => |x, _| 1.0 / (1.0 + libm::exp(-x)),
        op::SQRT => |_, y| 0.5 / y,
        op::TANH => |_, y| 1.0 - y * y,
        _ => return None,
    })
}

/// The derivatives of a function of two numbers, of both and the result.
type Binary = fn(f64, f64, f64) -> [f64; 2];

fn binary(op: onnx_types::Symbol) -> Option<Binary> {
    Some(match op {
        op::ADD => |_, _, _| [1.0, 1.0],
        op::SUB => |_, _, _| [1.0, -1.0],
        op::MUL => |a, b, _| [b, a],
        op::DIV => |a, b, _| [1.0 / b, -a / (b * b)],
        op::POW => |a, b, y| {
            let by_base = if b == 0.0 { 0.0 } else { b * libm::pow(a, b - 1.0) };
            [by_base, y * libm::log(a)]
        },
        _ => return None,
    })
}

fn both(derivatives: Binary, [a, b]: [&Tensor; 2], output: &Tensor, slope: &[f64]) -> Parts {
    let mut parts = [vec![0.0; a.values.len()], vec![0.0; b.values.len()]];
    let steps = [&output.dims, &a.dims, &b.dims].map(|dims| repeated(dims, &output.dims));
    if !slope.is_empty() {
        let steps = [&steps[0][..], &steps[1], &steps[2]];
        for_each_row(&output.dims, steps, |[at, x, y], [_, dx, dy], length| {
            for i in 0..length {
                let (x, y) = (x + i * dx, y + i * dy);
                let [by_a, by_b] = derivatives(a.values[x], b.values[y], output.values[at + i]);
                parts[0][x] += by_a * slope[at + i];
                parts[1][y] += by_b * slope[at + i];
            }
        });
    }
    parts.map(Some).into()
}

/// The sums of the elements that come from one element of an operand which broadcasts.
fn summed(dims: &[usize], joined: &[usize], slope: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; product(dims)];
    let steps = [repeated(joined, joined), repeated(dims, joined)];
    if !slope.is_empty() {
        for_each_row(joined, [&steps[0], &steps[1]], |[at, to], [_, step], length| {
            for i in 0..length {
                sums[to + i * step] += slope[at + i];
            }
        });
    }
    sums
}

fn transposed(cx: &Cx<'_, '_>, x: &Tensor, output: &Tensor, slope: &[f64]) -> Outcome<Parts> {
    let perm = match cx.ints(attr::PERM)? {
        Some(perm) => axes(&perm, x.dims.len())?,
        None => (0..x.dims.len()).rev().collect(),
    };
    let own = strides(&x.dims);
    let steps: Dims = perm.iter().map(|&axis| own[axis]).collect();
    let mut part = vec![0.0; x.values.len()];
    let out = strides(&output.dims);
    if !slope.is_empty() {
        for_each_row(&output.dims, [&out, &steps], |[at, to], [_, step], length| {
            for i in 0..length {
                part[to + i * step] = slope[at + i];
            }
        });
    }
    Ok(vec![Some(part)])
}

fn reduced(cx: &Cx<'_, '_>, x: &Tensor, slope: &[f64]) -> Outcome<Parts> {
    let has_input = cx.since() >= if cx.op() == op::REDUCE_SUM { 13 } else { 18 };
    let listed = cx.axes_at(if has_input { Axes::Input(1) } else { Axes::Attribute })?;
    let listed = listed.filter(|listed| !listed.is_empty());
    if listed.is_none() && has_input && cx.flag(attr::NOOP_WITH_EMPTY_AXES)? {
        return Ok(vec![Some(slope.to_vec())]);
    }
    let reduction = Reduction::new(&x.dims, listed.as_deref())?;
    let factor = if cx.op() == op::REDUCE_SUM { 1.0 } else { 1.0 / reduction.size() as f64 };
    let mut part = vec![0.0; x.values.len()];
    let steps = [strides(&x.dims), repeated(&reduction.kept, &x.dims)];
    if !part.is_empty() {
        for_each_row(&x.dims, [&steps[0], &steps[1]], |[at, from], [_, step], length| {
            for i in 0..length {
                part[at + i] = slope[from + i * step] * factor;
            }
        });
    }
    Ok(vec![Some(part)])
}

/// Of matrices, or of as many matrices on both sides.
fn matmul(cx: &mut Cx<'_, '_>, a: &Tensor, b: &Tensor, slope: &[f64]) -> Outcome<Parts> {
    let ([batch @ .., rows, depth], [others @ .., _, columns]) = (&a.dims[..], &b.dims[..]) else {
        return Err(Stop::unsupported("the derivative of a product with a vector"));
    };
    if batch != others {
        return Err(Stop::unsupported("the derivative of products of matrices that broadcast"));
    }
    let (rows, depth, columns) = (*rows, *depth, *columns);
    work(cx, slope.len(), depth, 2)?;
    let mut parts = [vec![0.0; a.values.len()], vec![0.0; b.values.len()]];
    for n in 0..if slope.is_empty() { 0 } else { product(batch) } {
        let x = Matrix::new(&a.values[n * rows * depth..][..rows * depth], rows, depth);
        let y = Matrix::new(&b.values[n * depth * columns..][..depth * columns], depth, columns);
        let slope = Matrix::new(&slope[n * rows * columns..][..rows * columns], rows, columns);
        f64::product(slope, y.transposed(), &mut parts[0][n * rows * depth..][..rows * depth], cx.poll())?;
        f64::product(
            x.transposed(),
            slope,
            &mut parts[1][n * depth * columns..][..depth * columns],
            cx.poll(),
        )?;
    }
    Ok(parts.map(Some).into())
}

fn gemm(
    cx: &mut Cx<'_, '_>,
    [a, b]: [&Tensor; 2],
    c: Option<&&Tensor>,
    output: &Tensor,
    slope: &[f64],
) -> Outcome<Parts> {
    let (&[rows, columns], &[a_rows, a_columns], &[b_rows, b_columns]) =
        (&output.dims[..], &a.dims[..], &b.dims[..])
    else {
        return Err(unknown(cx));
    };
    let (alpha, beta) = (cx.float_or(attr::ALPHA, 1.0)?, cx.float_or(attr::BETA, 1.0)?);
    let (trans_a, trans_b) = (cx.flag(attr::TRANS_A)?, cx.flag(attr::TRANS_B)?);
    let (x, y) = (Matrix::new(&a.values, a_rows, a_columns), Matrix::new(&b.values, b_rows, b_columns));
    let slopes = Matrix::new(slope, rows, columns);
    work(cx, slope.len(), a_columns.max(a_rows), 2)?;
    let mut parts = [vec![0.0; a.values.len()], vec![0.0; b.values.len()]];
    let right = if trans_b { y } else { y.transposed() };
    let left = if trans_a { x } else { x.transposed() };
    if trans_a {
        f64::product(right.transposed(), slopes.transposed(), &mut parts[0], cx.poll())?;
    } else {
        f64::product(slopes, right, &mut parts[0], cx.poll())?;
    }
    if trans_b {
        f64::product(slopes.transposed(), left.transposed(), &mut parts[1], cx.poll())?;
    } else {
        f64::product(left, slopes, &mut parts[1], cx.poll())?;
    }
    for part in parts.iter_mut().flatten() {
        *part *= f64::from(alpha);
    }
    let [by_a, by_b] = parts;
    let by_c = c.map(|c| {
        let sums = summed(&c.dims, &output.dims, slope);
        sums.into_iter().map(|sum| sum * f64::from(beta)).collect()
    });
    Ok(vec![Some(by_a), Some(by_b), by_c])
}
