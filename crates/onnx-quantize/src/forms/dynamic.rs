//! Dynamic quantization: ranges of activations are found in each run.

use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use onnx_ir::{Callee, Def, Model, Node, NodeId, Position, ValueId};
use onnx_schema::{Registry, attr, domain, op};
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::tensor::{DataSource, NoData, Tensor, require_memory, reserved};
use onnx_types::{ElemType, Execution};

use crate::activations::{RuntimeView, fold_weights};
use crate::edits::{
    add_constant, count, erase_unused_initializers, evaluation, nodes_outside_functions, substitute,
    write_types,
};
use crate::narrow::cast_code;
use crate::weights::{
    Format, Layout, NoScale, QuantizeError, QuantizedWeight, Reading, dense_constant, of_other_types,
    quantize,
};

/// Settings of [`quantize_dynamic`].
#[derive(Clone)]
#[non_exhaustive]
pub struct DynamicOptions<'a> {
    /// Whether each output channel of a weight has a scale.
    pub per_channel: bool,
    /// Nodes that stay. Default: none.
    pub except: &'a [NodeId],
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// Source of external weights. By default there is none.
    pub data: &'a dyn DataSource,
    /// Limits, and what ends the work early.
    pub execution: Execution,
}

impl Default for DynamicOptions<'_> {
    fn default() -> Self {
        Self {
            per_channel: false,
            except: &[],
            registry: Registry::STANDARD,
            data: &NoData,
            execution: Execution::DEFAULT,
        }
    }
}

onnx_types::option_setters! {
    DynamicOptions<'a> {
        with_per_channel => per_channel: bool,
        with_except => except: &'a [NodeId],
        with_registry => registry: &'a Registry,
        with_data => data: &'a dyn DataSource,
        with_execution => execution: into Execution,
    }
}

impl fmt::Debug for DynamicOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicOptions").field("per_channel", &self.per_channel).finish_non_exhaustive()
    }
}

/// What a dynamic quantization did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DynamicReport {
    /// Number of nodes that compute with integers now, by operator, in the order of the first one.
    pub quantized: Vec<(String, usize)>,
    /// The weights.
    pub weights: Vec<QuantizedWeight>,
    /// The weights that get no scale, by their names. They stay.
    pub stay: Vec<(String, NoScale)>,
}

/// A node whose second operand is a weight.
struct Product {
    node: NodeId,
    weight: ValueId,
    /// Whether the third operand is a bias.
    has_bias: bool,
    is_conv: bool,
    /// Whether the weight is transposed.
    is_transposed: bool,
    /// Whether a bias behind it has more axes, which onnxruntime would take for its own.
    is_widened: bool,
}

/// A weight in the model.
#[derive(Clone)]
struct Placed {
    numbers: ValueId,
    scale: ValueId,
    zero: ValueId,
}

/// Computes products and convolutions with constant weights in integers: the activation is quantized to `uint8` in each run by
/// `DynamicQuantizeLinear`, `MatMulInteger` or `ConvInteger` computes with it, and the result is scaled. No calibration is needed. The weights
/// are of type `to`, `int8` or `uint8`; those of convolutions are `uint8` in any case, which is what kernels take. The model is unchanged
/// after an error.
///
/// ```
/// use onnx_quantize::{DynamicOptions, quantize_dynamic};
/// use onnx_text::{ParseOptions, parse_model};
/// use onnx_types::ElemType;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 21]>
/// g (float[N,4] x) => (float[N,2] y) <float[4,2] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9}> { y = MatMul (x, w) }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// let report = quantize_dynamic(&mut model, ElemType::Int8, &DynamicOptions::default())?;
/// assert_eq!(report.quantized, [("MatMul".to_owned(), 1)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the version that the model imports lacks the operators, or a weight cannot be read.
pub fn quantize_dynamic(
    model: &mut Model,
    to: ElemType,
    options: &DynamicOptions<'_>,
) -> Result<DynamicReport, QuantizeError> {
    let format = Format::of(to).filter(|_| matches!(to, ElemType::Int8 | ElemType::Uint8));
    let format = format.ok_or(QuantizeError::Type(to))?;
    let imported = model.versions_in(model.main_graph()).get(domain::ONNX).unwrap_or(1);
    let first = onnx_schema::versions(domain::ONNX, op::DYNAMIC_QUANTIZE_LINEAR).first();
    if let Some(needed) = first.map(onnx_schema::Schema::since_version).filter(|&needed| imported < needed) {
        let operator = "DynamicQuantizeLinear";
        return Err(QuantizeError::Version { operator, imported, what: "does not exist".to_owned(), needed });
    }
    let run = evaluation(options.registry, options.data, &options.execution);
    let mut result = fold_weights(model, options.except, &run, is_product, |_| false)?.into_owned();
    let mut work = Work {
        options,
        format,
        activations: HashMap::default(),
        weights: HashMap::default(),
        report: DynamicReport::default(),
    };
    let (products, stay) = products(&result, options);
    work.report.stay = stay;
    if products.is_empty() {
        return Ok(work.report);
    }
    for product in products {
        options.execution.interrupt.check()?;
        work.replace(&mut result, &product)?;
    }
    erase_unused_initializers(&mut result);
    write_types(&mut result, options.registry, options.data, &options.execution)?;
    *model = result;
    Ok(work.report)
}

/// Whether there is an operator that computes with integers in the place of one.
fn is_product(record: &Node) -> bool {
    record.is(op::MAT_MUL) || record.is(op::GEMM) || record.is(op::CONV)
}

/// The products and convolutions of `float` with constant weights, and the weights of those that stay.
fn products(model: &Model, options: &DynamicOptions<'_>) -> (Vec<Product>, Vec<(String, NoScale)>) {
    let known = InferOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone());
    let inference = infer(model, &known);
    let except: std::collections::HashSet<NodeId> = options.except.iter().copied().collect();
    let (mut found, view) = (Vec::new(), RuntimeView::of(model));
    let mut stay = of_other_types(model, options.except, is_product);
    let mut formless = std::collections::HashSet::new();
    for node in nodes_outside_functions(model).into_iter().filter(|node| !except.contains(node)) {
        let record = model.node(node);
        let (is_matmul, is_gemm, is_conv) =
            (record.is(op::MAT_MUL), record.is(op::GEMM), record.is(op::CONV));
        if !(is_matmul || is_gemm || is_conv) || !record.domain().is_empty() {
            continue;
        }
        let (Some(activation), Some(weight)) = (record.input(0), record.input(1)) else { continue };
        let is_factor =
            |name| record.attribute(name).and_then(|attribute| attribute.as_float()).unwrap_or(1.0) == 1.0;
        let is_plain =
            is_factor(attr::ALPHA) && is_factor(attr::BETA) && record.int(attr::TRANS_A).unwrap_or(0) == 0;
        let rank = dense_constant(model, weight).map(Tensor::rank);
        let has_rank = if is_conv { rank.is_some_and(|rank| rank > 2) } else { rank == Some(2) };
        let is_float = inference.elem(activation) == Some(ElemType::Float)
            && dense_constant(model, activation).is_none();
        let is_standard = matches!(model.callee(node, options.registry), Callee::Standard(_));
        if has_rank && is_float && is_standard && is_gemm && !is_plain {
            let row = || (model.str(model.value(weight).name()).to_owned(), NoScale::Form);
            stay.extend(formless.insert(weight).then(row));
        } else if has_rank && is_float && is_standard {
            let has_bias = record.input(2).is_some() && !is_matmul;
            let is_transposed = is_gemm && record.int(attr::TRANS_B).unwrap_or(0) != 0;
            let rank = |value| inference.ty(value).dims().map(<[_]>::len);
            let own = record.output(0).and_then(rank).unwrap_or(1);
            let is_wider = |sum: NodeId, index: usize| {
                model.node(sum).input(index).and_then(rank).is_none_or(|other| other > own)
            };
            let mut sums = view.sums_behind(model, node).into_iter();
            let is_widened = !is_conv && sums.any(|(sum, index)| is_wider(sum.node, index));
            found.push(Product { node, weight, has_bias, is_conv, is_transposed, is_widened });
        }
    }
    (found, stay)
}

struct Work<'a> {
    options: &'a DynamicOptions<'a>,
    format: Format,
    /// Quantized activations: numbers, scale, zero point.
    activations: HashMap<ValueId, [ValueId; 3], RandomState>,
    weights: HashMap<(ValueId, bool, bool), Option<Placed>, RandomState>,
    report: DynamicReport,
}

impl Work<'_> {
    fn replace(&mut self, model: &mut Model, product: &Product) -> Result<(), QuantizeError> {
        let Some(weight) = self.weight(model, product)? else { return Ok(()) };
        let node = product.node;
        // The result of a product before this one has been replaced meanwhile.
        let Some(activation) = model.node(node).input(0) else { return Ok(()) };
        let [numbers, scale, zero] = self.activation(model, activation)?;
        let operator = model.str(model.node(node).op()).to_owned();
        let Some(old) = model.node(node).output(0) else { return Ok(()) };
        let attributes = model.node(node).attributes().to_vec();
        let bias = match model.node(node).input(2).filter(|_| product.has_bias) {
            Some(bias) if product.is_conv => Some(self.bias_of_conv(model, bias, product)?),
            bias => bias,
        };
        let code = cast_code(model, model.node(node).graph(), ElemType::Float);
        let result = model.str(model.value(old).name()).to_owned();
        let name = |model: &mut Model, value, suffix| name_after(model, value, &result, suffix);
        let factor = model.build_at(Position::Before(node)).op(op::MUL, [scale, weight.scale]).output()?;
        name(model, factor, "scale");
        let inputs = [numbers, weight.numbers, zero, weight.zero];
        let operation = if product.is_conv { op::CONV_INTEGER } else { op::MAT_MUL_INTEGER };
        let mut build = model.build_at(Position::Before(node));
        let mut call = build.op(operation, inputs);
        for attribute in attributes.into_iter().filter(|_| product.is_conv) {
            call = call.attribute(attribute);
        }
        let sums = call.output()?;
        name(model, sums, "quantized");
        let mut build = model.build_at(Position::Before(node));
        let float = build.op(op::CAST, [sums]).attr(attr::TO, code).output()?;
        let mut new = build.op(op::MUL, [float, factor]).output()?;
        name(model, float, "float");
        if let Some(bias) = bias {
            name(model, new, "scaled");
            new = model.build_at(Position::Before(node)).op(op::ADD, [new, bias]).output()?;
        }
        if product.is_widened {
            name(model, new, "narrow");
            new = model.build_at(Position::Before(node)).op(op::SUM, [new]).output()?;
        }
        substitute(model, node, old, new)?;
        count(&mut self.report.quantized, operator);
        Ok(())
    }

    /// The quantized form of an activation, once for all its users.
    fn activation(&mut self, model: &mut Model, value: ValueId) -> Result<[ValueId; 3], QuantizeError> {
        if let Some(&known) = self.activations.get(&value) {
            return Ok(known);
        }
        let at = match model.value(value).def() {
            Def::Output { node, .. } => Position::After(node),
            _ => Position::Start(model.graph_of(value)),
        };
        let mut build = model.build_at(at);
        let made: [ValueId; 3] = build.op(op::DYNAMIC_QUANTIZE_LINEAR, [value]).outputs()?;
        let name = model.str(model.value(value).name()).to_owned();
        for (made, suffix) in made.into_iter().zip(["quantized", "scale", "zero_point"]) {
            name_after(model, made, &name, suffix);
        }
        self.activations.insert(value, made);
        Ok(made)
    }

    /// The weight with its scales and zero points; `None` if it gets no scale, or it has no elements.
    fn weight(&mut self, model: &mut Model, product: &Product) -> Result<Option<Placed>, QuantizeError> {
        let key = (product.weight, product.is_transposed, product.is_conv);
        if let Some(known) = self.weights.get(&key) {
            return Ok(known.clone());
        }
        let made = self.place(model, product)?;
        self.weights.insert(key, made.clone());
        Ok(made)
    }

    fn place(&mut self, model: &mut Model, product: &Product) -> Result<Option<Placed>, QuantizeError> {
        let Some(tensor) = dense_constant(model, product.weight).cloned() else { return Ok(None) };
        let name = model.str(model.value(product.weight).name()).to_owned();
        let failed = |reason| QuantizeError::Weight { tensor: name.clone(), reason };
        let tensor = match product.is_transposed {
            true => transposed(&tensor, self.options.data).map_err(failed)?,
            false => tensor,
        };
        let dims: Option<Vec<usize>> = tensor.dims().iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let Some(dims) = dims.filter(|dims| dims.iter().all(|&dim| dim > 0)) else { return Ok(None) };
        let axis = if product.is_conv { 0 } else { 1 };
        let layout = match self.options.per_channel {
            true => Layout::per_axis(&dims, axis),
            false => Layout::whole(dims.iter().product()),
        };
        // A convolution has one zero point for all channels.
        let uint8 = Format::of(ElemType::Uint8).filter(|_| product.is_conv);
        let format = uint8.unwrap_or(self.format);
        let symmetric = product.is_conv || format.is_signed();
        let reading = Reading { data: self.options.data, interrupt: &self.options.execution.interrupt };
        let found = quantize(&tensor, &format, &layout, symmetric, reading);
        let quantized = match found.map_err(|error| error.of(&name))? {
            Ok(quantized) => quantized,
            Err(reason) => {
                self.report.stay.push((name, reason));
                return Ok(None);
            }
        };
        let channels = quantized.scales.len() as i64;
        let is_one = !self.options.per_channel;
        let mut scale_dims: Vec<i64> = if is_one { Vec::new() } else { vec![channels] };
        let zeros = match quantized.zeros.first() {
            None => format.tensor(&[], &[0.0]),
            Some(&zero) if product.is_conv => format.tensor(&[], &[zero]),
            Some(_) => format.tensor(&scale_dims, &quantized.zeros),
        };
        let zeros = zeros.map_err(failed)?;
        if product.is_conv && !is_one {
            scale_dims.extend(std::iter::repeat_n(1, dims.len() - 2));
        }
        let scales = Tensor::from_slice(scale_dims, &quantized.scales)?;
        let (parts, loss) = ([&quantized.tensor, &scales, &zeros], (quantized.max_error, quantized.snr));
        self.report.weights.push(QuantizedWeight::new(name.clone(), &tensor, parts, loss));
        Ok(Some(Placed {
            numbers: add_constant(model, &format!("{name}_quantized"), quantized.tensor)?,
            scale: add_constant(model, &format!("{name}_scale"), scales)?,
            zero: add_constant(model, &format!("{name}_zero_point"), zeros)?,
        }))
    }

    /// The bias of a convolution with the axes of its result.
    fn bias_of_conv(
        &self,
        model: &mut Model,
        bias: ValueId,
        product: &Product,
    ) -> Result<ValueId, QuantizeError> {
        let spatial =
            dense_constant(model, product.weight).map_or(0, |tensor| tensor.rank().saturating_sub(2));
        let mut shape = vec![-1_i64];
        shape.extend(std::iter::repeat_n(1, spatial));
        let name = format!("{}_shape", model.str(model.value(bias).name()));
        let shape = add_constant(model, &name, Tensor::vector(&shape))?;
        let mut build = model.build_at(Position::Before(product.node));
        let new = build.op(op::RESHAPE, [bias, shape]).output()?;
        let name = model.str(model.value(bias).name()).to_owned();
        name_after(model, new, &name, "reshaped");
        Ok(new)
    }
}

/// Names a new value after another one.
fn name_after(model: &mut Model, value: ValueId, name: &str, suffix: &str) {
    let name = model.unused_name(&format!("{name}_{suffix}"));
    model.set_value_name(value, name);
}

/// A matrix with its axes exchanged.
fn transposed(tensor: &Tensor, data: &dyn DataSource) -> Result<Tensor, onnx_types::tensor::TensorError> {
    let numbers = tensor.to_vec::<f32>(data)?;
    let [rows, columns] = [0, 1].map(|axis| tensor.dims().get(axis).copied().unwrap_or(0));
    let (height, width) = (rows as usize, columns as usize);
    let mut exchanged = reserved(numbers.len())?;
    let exchange = |index: usize| numbers.get(index % height * width + index / height).copied();
    exchanged.extend((0..height * width).filter_map(exchange));
    require_memory::<f32>(exchanged.len())?;
    Ok(Tensor::from_slice([columns, rows], &exchanged)?)
}
