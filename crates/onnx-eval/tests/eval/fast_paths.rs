//! Kernels with several paths, chosen by sizes and distances, against definitions that are written out element by element.
//! Elements are small integers, so every order of summation gives the same number.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests may fail")]

use onnx_eval::{EvalOptions, Evaluator, Value};
use onnx_types::tensor::{Element, NoData, Tensor};

/// Pseudorandom numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A number between two, both included.
    fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.next() as usize % (high - low + 1)
    }

    /// Integers between -8 and 8.
    fn elements(&mut self, dims: &[usize]) -> Vec<f32> {
        (0..dims.iter().product()).map(|_| self.between(0, 16) as f32 - 8.0).collect()
    }
}

fn tensor<T: Element>(dims: &[usize], elements: &[T]) -> Tensor {
    Tensor::from_slice(dims.iter().map(|&dim| dim as i64), elements).unwrap()
}

/// Runs a node on tensors named `a`, `b`, …; its first output with its sizes.
fn run(node: &str, outputs: &str, inputs: &[Tensor]) -> (Vec<usize>, Vec<f64>) {
    let names = ["a", "b", "c"];
    let declared: Vec<String> = names
        .iter()
        .zip(inputs)
        .map(|(name, tensor)| format!("{}{:?} {name}", tensor.elem(), tensor.dims()))
        .collect();
    let declared = declared.join(", ");
    let text =
        format!("<ir_version: 10, opset_import: [\"\": 21]>\ng ({declared}) => (y) {{ {outputs} = {node} }}");
    let model = onnx_text::parse_model(&text, &onnx_text::ParseOptions::default()).unwrap();
    let evaluator = Evaluator::new(&model, &EvalOptions::default()).unwrap();
    let inputs: Vec<_> = names.iter().zip(inputs).map(|(name, x)| (*name, Value::from(x.clone()))).collect();
    let found = evaluator.run(&inputs).unwrap_or_else(|failure| panic!("{failure}\n{text}"));
    let y = found[0].tensor().unwrap();
    let dims = y.dims().iter().map(|&dim| dim as usize).collect();
    (dims, y.iter_f64(&NoData).unwrap().collect())
}

/// All indices of a tensor in row-major order.
fn indices(dims: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    (0..dims.iter().product()).map(move |mut rest: usize| {
        let mut index: Vec<usize> = dims.iter().rev().map(|&dim| (rest % dim, rest /= dim).0).collect();
        index.reverse();
        index
    })
}

fn offset(index: &[usize], dims: &[usize]) -> usize {
    index.iter().zip(dims).fold(0, |offset, (&at, &dim)| offset * dim + at)
}

/// A window along each axis.
#[derive(Debug)]
struct Windows {
    sizes: Vec<usize>,
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    /// Padding before all axes, then after all axes.
    pads: Vec<usize>,
}

impl Windows {
    fn random(random: &mut Random) -> Self {
        loop {
            let rank = random.between(1, 3);
            let mut list = |low, high| (0..rank).map(|_| random.between(low, high)).collect::<Vec<_>>();
            let (sizes, kernel) = (list(1, 7), list(1, 3));
            let (strides, dilations) = (list(1, 3), list(1, 2));
            let pads = [list(0, 2), list(0, 2)].concat();
            let windows = Self { sizes, kernel, strides, dilations, pads };
            if (0..rank).all(|axis| windows.padded(axis) >= windows.extent(axis)) {
                return windows;
            }
        }
    }

    fn padded(&self, axis: usize) -> usize {
        self.sizes[axis] + self.pads[axis] + self.pads[axis + self.sizes.len()]
    }

    fn extent(&self, axis: usize) -> usize {
        self.dilations[axis] * (self.kernel[axis] - 1) + 1
    }

    fn counts(&self) -> Vec<usize> {
        let axes = 0..self.sizes.len();
        axes.map(|axis| (self.padded(axis) - self.extent(axis)) / self.strides[axis] + 1).collect()
    }

    fn attributes(&self) -> String {
        let Self { kernel, strides, dilations, pads, .. } = self;
        format!(
            "kernel_shape = {kernel:?}, strides = {strides:?}, dilations = {dilations:?}, pads = {pads:?}"
        )
    }

    /// The elements of the kernel that are in the input for a window, with their index there.
    fn covered(&self, window: &[usize]) -> Vec<(Vec<usize>, Vec<usize>)> {
        let place = |axis: usize, element: usize| {
            let place = window[axis] * self.strides[axis] + element * self.dilations[axis];
            place.checked_sub(self.pads[axis]).filter(|&place| place < self.sizes[axis])
        };
        let elements = indices(&self.kernel);
        elements
            .filter_map(|element| {
                let index =
                    element.iter().enumerate().map(|(axis, &at)| place(axis, at)).collect::<Option<_>>()?;
                Some((element, index))
            })
            .collect()
    }
}

#[test]
fn convolutions() {
    let mut random = Random(1);
    for _ in 0..150 {
        let windows = Windows::random(&mut random);
        let (batch, groups) = (random.between(1, 2), random.between(1, 3));
        let (channels, features) = (random.between(1, 3), random.between(1, 9));
        let x_dims = [&[batch, groups * channels], windows.sizes.as_slice()].concat();
        let w_dims = [&[groups * features, channels], windows.kernel.as_slice()].concat();
        let (x, w) = (random.elements(&x_dims), random.elements(&w_dims));
        let node = format!("Conv <group = {groups}, {}> (a, b)", windows.attributes());
        let (dims, found) = run(&node, "y", &[tensor(&x_dims, &x), tensor(&w_dims, &w)]);
        let y_dims = [&[batch, groups * features], windows.counts().as_slice()].concat();
        assert_eq!(dims, y_dims);
        let expected: Vec<f64> = indices(&y_dims)
            .map(|at| {
                let group = at[1] / features;
                let terms = windows.covered(&at[2..]).into_iter().flat_map(|(element, index)| {
                    (0..channels).map(move |channel| (channel, element.clone(), index.clone()))
                });
                let terms = terms.map(|(channel, element, index)| {
                    let x_at = [&[at[0], group * channels + channel], index.as_slice()].concat();
                    let w_at = [&[at[1], channel], element.as_slice()].concat();
                    f64::from(x[offset(&x_at, &x_dims)]) * f64::from(w[offset(&w_at, &w_dims)])
                });
                terms.sum::<f64>() + 0.0
            })
            .collect();
        assert_eq!(found, expected, "{windows:?}, {groups} groups, {channels} channels, {features} features");
    }
}

/// Without channels or without elements in the input, results are sums of nothing.
#[test]
fn convolutions_of_nothing() {
    for features in [1, 5] {
        for (channels, size) in [(0, 3), (2, 0)] {
            let (x_dims, w_dims) = ([1, channels, size], [features, channels, 2]);
            let operands =
                [tensor::<f32>(&x_dims, &[]), tensor(&w_dims, &vec![1.0_f32; features * channels * 2])];
            let (dims, found) = run("Conv <pads = [1, 1]> (a, b)", "y", &operands);
            let expected = [1, features, size + 1];
            assert_eq!((dims.as_slice(), found), (&expected[..], vec![0.0; features * (size + 1)]));
        }
    }
}

/// The elements of each window of a pool, with the place of each in the plane.
fn pool(random: &mut Random) -> (Windows, Tensor, Vec<Vec<(f64, usize)>>) {
    let windows = Windows::random(random);
    let x_dims = [&[random.between(1, 2), random.between(1, 3)], windows.sizes.as_slice()].concat();
    let mut x = random.elements(&x_dims);
    x.iter_mut().filter(|x| **x > 7.0).for_each(|x| *x = f32::NAN);
    let y_dims = [&x_dims[..2], &windows.counts()].concat();
    let members = indices(&y_dims).map(|at| {
        let covered = windows.covered(&at[2..]).into_iter();
        let places = covered.map(|(_, index)| offset(&[&at[..2], index.as_slice()].concat(), &x_dims));
        places.map(|place| (f64::from(x[place]), place)).collect()
    });
    let members = members.collect();
    (windows, tensor(&x_dims, &x), members)
}

#[test]
fn greatest_elements_of_windows() {
    let mut random = Random(2);
    for _ in 0..150 {
        let (windows, x, members) = pool(&mut random);
        let node = format!("MaxPool <{}> (a)", windows.attributes());
        let (_, alone) = run(&node, "y", std::slice::from_ref(&x));
        let (_, with_indices) = run(&node, "y, i", std::slice::from_ref(&x));
        let (_, places) = run(&node, "values, y", &[x]);
        for (at, window) in members.iter().enumerate() {
            let numbers = window.iter().filter(|(value, _)| !value.is_nan());
            let greatest = numbers.fold(None, |best: Option<&(f64, usize)>, member| {
                if best.is_none_or(|best| member.0 > best.0) { Some(member) } else { best }
            });
            for found in [alone[at], with_indices[at]] {
                match greatest.or(window.first()) {
                    Some((value, _)) => assert!(found == *value || (found.is_nan() && value.is_nan())),
                    None => assert_eq!(found, f64::NEG_INFINITY, "{windows:?}"),
                }
            }
            if let Some((_, place)) = greatest.or(window.first()) {
                assert_eq!(places[at], *place as f64, "{windows:?}");
            }
        }
    }
}

#[test]
fn means_of_windows() {
    let mut random = Random(3);
    for _ in 0..150 {
        let (windows, x, members) = pool(&mut random);
        let (_, found) = run(&format!("AveragePool <{}> (a)", windows.attributes()), "y", &[x]);
        for (found, window) in found.iter().zip(&members) {
            let sum: f64 = window.iter().map(|(value, _)| value).sum();
            let mean = f64::from(sum as f32 / window.len() as f32);
            assert!(*found == mean || (found.is_nan() && mean.is_nan()), "{windows:?}: {found}, {mean}");
        }
    }
}

/// Sizes of operands that broadcast, some of them 1.
fn broadcast(random: &mut Random) -> [Vec<usize>; 3] {
    let rank = random.between(0, 4);
    let joined: Vec<usize> = (0..rank).map(|_| random.between(1, 4)).collect();
    let mut part = || -> Vec<usize> {
        let dims = joined.iter().map(|&dim| if random.between(0, 2) == 0 { 1 } else { dim });
        let dims: Vec<usize> = dims.collect();
        dims[random.between(0, rank.min(1))..].to_vec()
    };
    let (a, b) = (part(), part());
    [a, b, joined]
}

#[test]
fn operands_that_broadcast() {
    let mut random = Random(4);
    for _ in 0..400 {
        let [a_dims, b_dims, c_dims] = broadcast(&mut random);
        let (a, b) = (random.elements(&a_dims), random.elements(&b_dims));
        let (a, b) = (tensor(&a_dims, &a), tensor(&b_dims, &b));
        let at = |x: &Tensor, index: &[usize]| {
            let dims: Vec<usize> = x.dims().iter().map(|&dim| dim as usize).collect();
            let own = index[index.len() - dims.len()..].iter().zip(&dims);
            let own: Vec<usize> = own.map(|(&at, &dim)| if dim == 1 { 0 } else { at }).collect();
            x.iter_f64(&NoData).unwrap().nth(offset(&own, &dims)).unwrap()
        };
        let (dims, found) = run("Sub (a, b)", "y", &[a.clone(), b.clone()]);
        let expected: Vec<f64> = indices(&dims).map(|index| at(&a, &index) - at(&b, &index)).collect();
        assert_eq!(found, expected, "{a_dims:?}, {b_dims:?}");
        // Three operands, of which the last one has all sizes.
        let c: Vec<bool> = (0..c_dims.iter().product()).map(|_| random.between(0, 1) == 1).collect();
        let c = tensor(&c_dims, &c);
        let (dims, found) = run("Where (c, a, b)", "y", &[a.clone(), b.clone(), c.clone()]);
        let chosen = |index: Vec<usize>| if at(&c, &index) == 0.0 { at(&b, &index) } else { at(&a, &index) };
        assert_eq!((&dims, found), (&c_dims, indices(&c_dims).map(chosen).collect()));
    }
}

#[test]
fn quantized_elements_by_scale() {
    let mut random = Random(5);
    for round in 0..300 {
        let dims: Vec<usize> = (0..random.between(1, 3)).map(|_| random.between(1, 5)).collect();
        let axis = random.between(0, dims.len() - 1);
        let block = random.between(1, 3);
        let mut scale_dims = dims.clone();
        let (attributes, scale_dims) = match round % 3 {
            0 => (String::new(), vec![]),
            1 => (format!("<axis = {axis}>"), vec![dims[axis]]),
            _ => {
                scale_dims[axis] = dims[axis].div_ceil(block);
                (format!("<axis = {axis}, block_size = {block}>"), scale_dims)
            }
        };
        let x: Vec<f32> = random.elements(&dims).iter().map(|x| x * 40.5).collect();
        let scales: Vec<f32> = random.elements(&scale_dims).iter().map(|x| x.abs() + 0.5).collect();
        let zeros: Vec<i8> = random.elements(&scale_dims).iter().map(|&x| x as i8).collect();
        let zeros = tensor(&scale_dims, &zeros);
        let operands = [tensor(&dims, &x), tensor(&scale_dims, &scales), zeros.clone()];
        let (_, found) = run(&format!("QuantizeLinear {attributes} (a, b, c)"), "y", &operands);
        let zeros = zeros.iter_f64(&NoData).unwrap().collect::<Vec<_>>();
        let place = |index: &[usize]| match round % 3 {
            0 => 0,
            1 => index[axis],
            _ => {
                let mut index = index.to_vec();
                index[axis] /= block;
                offset(&index, &scale_dims)
            }
        };
        let expected: Vec<f64> = indices(&dims)
            .map(|index| {
                let quotient = x[offset(&index, &dims)] / scales[place(&index)];
                (f64::from(quotient.round_ties_even()) + zeros[place(&index)]).clamp(-128.0, 127.0)
            })
            .collect();
        assert_eq!(found, expected, "{dims:?} {attributes}");
        let codes: Vec<i8> = found.iter().map(|&code| code as i8).collect();
        let codes = tensor(&dims, &codes);
        let operands = [codes, operands[1].clone(), operands[2].clone()];
        let (_, back) = run(&format!("DequantizeLinear {attributes} (a, b, c)"), "y", &operands);
        let expected: Vec<f64> = indices(&dims)
            .zip(&found)
            .map(|(index, code)| f64::from((code - zeros[place(&index)]) as f32 * scales[place(&index)]))
            .collect();
        assert_eq!(back, expected, "{dims:?} {attributes}");
    }
}

/// The tensor with bytes that are not aligned for its elements.
fn unaligned(tensor: &Tensor) -> Tensor {
    let mut bytes = vec![0_u8];
    bytes.extend_from_slice(&tensor.bytes(&NoData).unwrap());
    // One of two neighbors is not aligned, wherever the vector is.
    let bytes = bytes::Bytes::from(bytes);
    let payload = onnx_types::tensor::Payload::Raw(bytes.slice(1..));
    let tensor = Tensor::from_parts(tensor.data_type(), tensor.dims().into(), payload);
    tensor.validate().unwrap();
    tensor
}

#[test]
fn rows_of_unaligned_tables_are_those_of_aligned_ones() {
    let mut random = Random(7);
    for dims in [vec![300, 9], vec![300, 1], vec![3, 290, 5]] {
        let elements = random.elements(&dims);
        let table = tensor(&dims, &elements);
        for axis in 0..dims.len() {
            // Few rows are read by themselves, many in a copy of the table.
            for count in [0, 1, 3, 400] {
                let indices: Vec<i64> =
                    (0..count).map(|_| random.between(0, dims[axis] - 1) as i64).collect();
                let indices = tensor(&[count], &indices);
                let node = format!("Gather <axis = {axis}> (a, b)");
                let expected = run(&node, "y", &[table.clone(), indices.clone()]);
                assert_eq!(
                    run(&node, "y", &[unaligned(&table), indices]),
                    expected,
                    "{dims:?} {axis} {count}"
                );
            }
        }
    }
}
