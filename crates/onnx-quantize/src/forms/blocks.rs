//! `MatMulNBits` of onnxruntime: products with weights in blocks of 4 or 8 bits.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;

use foldhash::fast::RandomState;
use onnx_eval::compare::Noise;
use onnx_ir::{AttrValue, Attribute, Callee, Model, Node, NodeId, OpsetImport, Position, ValueId};
use onnx_schema::{Registry, attr, domain, op};
use onnx_types::tensor::{DataSource, NoData, Tensor, filled, require_memory};
use onnx_types::{ElemType, Execution, Interrupt};

use crate::activations::fold_weights;
use crate::edits::{
    add_constant, erase_unused_initializers, evaluation, nodes_outside_functions, substitute, write_types,
};
use crate::weights::{
    Format, NoScale, QuantizeError, QuantizedWeight, Reading, ReadingError, WeightReport, dense_constant,
    of_other_types,
};

/// The domain of the operator.
const DOMAIN: &str = "com.microsoft";

/// Settings of [`quantize_blocks`].
#[derive(Clone)]
#[non_exhaustive]
pub struct BlockOptions<'a> {
    /// Number of elements that share a scale: a power of two of at least 16. Default: 32.
    pub block: usize,
    /// Whether blocks have no zero points.
    pub symmetric: bool,
    /// Nodes that stay. Default: none.
    pub except: &'a [NodeId],
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// Source of external weights. By default there is none.
    pub data: &'a dyn DataSource,
    /// Limits, and what ends the work early.
    pub execution: Execution,
}

impl Default for BlockOptions<'_> {
    fn default() -> Self {
        Self {
            block: 32,
            symmetric: false,
            except: &[],
            registry: Registry::STANDARD,
            data: &NoData,
            execution: Execution::DEFAULT,
        }
    }
}

onnx_types::option_setters! {
    BlockOptions<'a> {
        with_block => block: usize,
        with_symmetric => symmetric: bool,
        with_except => except: &'a [NodeId],
        with_registry => registry: &'a Registry,
        with_data => data: &'a dyn DataSource,
        with_execution => execution: into Execution,
    }
}

impl fmt::Debug for BlockOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockOptions")
            .field("block", &self.block)
            .field("symmetric", &self.symmetric)
            .finish_non_exhaustive()
    }
}

/// Makes `MatMulNBits` of each `MatMul` and `Gemm` of `float` with a constant matrix; the third operand of a `Gemm` is added behind it. A `Gemm`
/// with factors, or whose first operand is transposed, stays. Codes are unsigned: signed types have the middle as zero. Tensors are read one
/// at a time. The model is unchanged after an error.
///
/// # Errors
///
/// Returns an error if the type does not have 4 or 8 bits, the size of a block is not a power of two of at least 16, or a weight cannot be
/// read.
pub fn quantize_blocks(
    model: &mut Model,
    to: ElemType,
    options: &BlockOptions<'_>,
) -> Result<WeightReport, QuantizeError> {
    let (unsigned, is_signed) = codes_of(to).ok_or(QuantizeError::Type(to))?;
    let format = Format::of(unsigned).ok_or(QuantizeError::Type(to))?;
    if !options.block.is_power_of_two() || !(16..=1 << 16).contains(&options.block) {
        return Err(QuantizeError::BlockOfProduct(options.block));
    }
    let is_taken = |record: &Node| record.is(op::MAT_MUL) || record.is(op::GEMM);
    let run = evaluation(options.registry, options.data, &options.execution);
    let folded = fold_weights(model, options.except, &run, is_taken, |_| false)?.into_owned();
    let mut result = folded.clone();
    let except: HashSet<NodeId> = options.except.iter().copied().collect();
    let stay = of_other_types(&folded, options.except, is_taken);
    let mut report = WeightReport::of(Vec::new(), stay);
    // Products with one weight share its blocks.
    let mut known: HashMap<(ValueId, bool), Option<Placed>, RandomState> = HashMap::default();
    let mut formless = HashSet::new();
    for node in nodes_outside_functions(&folded).into_iter().filter(|node| !except.contains(node)) {
        options.execution.interrupt.check()?;
        let Some(product) = Product::of(&folded, node, options.registry) else { continue };
        let name = folded.str(folded.value(product.weight).name()).to_owned();
        if !product.is_plain {
            let is_new = formless.insert(product.weight);
            report.stay.extend(is_new.then_some((name, NoScale::Form)));
            continue;
        }
        if let Entry::Vacant(entry) = known.entry((product.weight, product.is_transposed)) {
            let symmetric = is_signed || options.symmetric;
            let reading = Reading { data: options.data, interrupt: &options.execution.interrupt };
            let Some(tensor) = dense_constant(&folded, product.weight) else { continue };
            let layout = (options.block, product.is_transposed);
            let packed = pack(tensor, &format, layout, symmetric, reading);
            let packed = match packed.map_err(|error| error.of(&name))? {
                Some(Ok(packed)) => {
                    report.weights.push(packed.weight(name.clone(), tensor));
                    Some(Placed::new(&mut result, &name, packed)?)
                }
                Some(Err(reason)) => {
                    report.stay.push((name, reason));
                    None
                }
                None => None,
            };
            entry.insert(packed);
        }
        if let Some(Some(placed)) = known.get(&(product.weight, product.is_transposed)) {
            placed.multiply(&mut result, node)?;
        }
    }
    if !report.weights.is_empty() {
        import(&mut result);
        erase_unused_initializers(&mut result);
        write_types(&mut result, options.registry, options.data, &options.execution)?;
        *model = result;
    }
    Ok(report)
}

/// The type of the codes, and whether the middle is zero.
const fn codes_of(to: ElemType) -> Option<(ElemType, bool)> {
    match to {
        ElemType::Uint4 => Some((ElemType::Uint4, false)),
        ElemType::Int4 => Some((ElemType::Uint4, true)),
        ElemType::Uint8 => Some((ElemType::Uint8, false)),
        ElemType::Int8 => Some((ElemType::Uint8, true)),
        _ => None,
    }
}

/// A product with a constant matrix.
struct Product {
    weight: ValueId,
    /// Whether the matrix has the columns in its rows.
    is_transposed: bool,
    /// Whether there is one matrix and no factors, and the first operand is as it is.
    is_plain: bool,
}

impl Product {
    fn of(model: &Model, node: NodeId, registry: &Registry) -> Option<Self> {
        /// `Add` before this version states how operands are repeated.
        const WITH_BROADCASTING: i64 = 7;
        let record = model.node(node);
        let is_gemm = record.is(op::GEMM);
        if !(is_gemm || record.is(op::MAT_MUL))
            || !matches!(model.callee(node, registry), Callee::Standard(_))
        {
            return None;
        }
        record.input(0)?;
        let weight = record.input(1)?;
        let rank = dense_constant(model, weight).map(Tensor::rank).filter(|&rank| rank >= 2)?;
        let is_one = |name| record.attribute(name).and_then(Attribute::as_float).unwrap_or(1.0) == 1.0;
        let is_set = |name| record.int(name).unwrap_or(0) != 0;
        let version = model.versions_in(record.graph()).get(domain::ONNX).unwrap_or(1);
        let is_plain = !is_set(attr::TRANS_A)
            && is_one(attr::ALPHA)
            && (record.input(2).is_none() || is_one(attr::BETA) && version >= WITH_BROADCASTING);
        let is_plain = rank == 2 && (!is_gemm || is_plain);
        Some(Self { weight, is_transposed: is_gemm && is_set(attr::TRANS_B), is_plain })
    }
}

/// Imports the operators of onnxruntime, if the model does not.
fn import(model: &mut Model) {
    let domain = model.intern(DOMAIN);
    let is_imported = model.info().opset_imports.iter().any(|import| import.domain() == domain);
    if !is_imported {
        model.info_mut().opset_imports.push(OpsetImport::new(domain, 1));
    }
}

/// A matrix as the operator takes it: the columns one after the other.
struct Packed {
    rows: i64,
    columns: i64,
    bits: i64,
    block: i64,
    codes: Tensor,
    scales: Tensor,
    zeros: Option<Tensor>,
    sums: Noise,
}

impl Packed {
    fn weight(&self, name: String, before: &Tensor) -> QuantizedWeight {
        let parts = [Some(&self.codes), Some(&self.scales), self.zeros.as_ref()];
        let snr = self.sums.ratio().unwrap_or(f64::NEG_INFINITY);
        QuantizedWeight::new(name, before, parts.into_iter().flatten(), (self.sums.max_error, snr))
    }
}

/// Quantizes a matrix, or returns why it gets no scale; `None` if it is empty.
fn pack(
    tensor: &Tensor,
    format: &Format,
    (block, is_transposed): (usize, bool),
    symmetric: bool,
    Reading { data, interrupt }: Reading<'_>,
) -> Result<Option<Result<Packed, NoScale>>, ReadingError> {
    let view = tensor.view::<f32>(data)?;
    let numbers = view.to_slice()?;
    let &[first, second] = tensor.dims() else { return Ok(None) };
    let (rows, columns) = if is_transposed { (second, first) } else { (first, second) };
    let (height, width) = (rows as usize, columns as usize);
    if numbers.is_empty() {
        return Ok(None);
    }
    if let Some(reason) = no_scale(&numbers, format, symmetric) {
        return Ok(Some(Err(reason)));
    }
    let bits = format.elem.bits().unwrap_or(8) as usize;
    let mut blocks = Blocks::new((height, width), format, block)?;
    match is_transposed {
        true => blocks.fill_from_columns(&numbers, height, symmetric, interrupt)?,
        false => blocks.fill_from_rows(&numbers, width, symmetric, interrupt)?,
    }
    view.release(data);
    let Blocks { codes, scales, zeros, zero_bytes, count, sums, .. } = blocks;
    let blob = (block * bits / 8) as i64;
    let zeros = match symmetric {
        true => None,
        false => Some(Tensor::from_raw(ElemType::Uint8, [columns, zero_bytes as i64], zeros)?.held(data)),
    };
    Ok(Some(Ok(Packed {
        rows,
        columns,
        bits: bits as i64,
        block: block as i64,
        codes: Tensor::from_raw(ElemType::Uint8, [columns, count as i64, blob], codes)?.held(data),
        scales: Tensor::from_slice([columns, count as i64], &scales)?.held(data),
        zeros,
        sums,
    })))
}

/// The blocks of the columns of a matrix.
struct Blocks<'a> {
    format: &'a Format,
    /// The size of a block, and the number of blocks of a column.
    block: usize,
    count: usize,
    bits: usize,
    codes: Vec<u8>,
    scales: Vec<f32>,
    zeros: Vec<u8>,
    /// The bytes of the zero points of a column.
    zero_bytes: usize,
    sums: Noise,
}

impl<'a> Blocks<'a> {
    fn new((height, width): (usize, usize), format: &'a Format, block: usize) -> Result<Self, ReadingError> {
        let bits = format.elem.bits().unwrap_or(8) as usize;
        let count = height.div_ceil(block);
        let codes = filled(0_u8, width * count * block * bits / 8)?;
        let scales = filled(0.0_f32, width * count)?;
        let zero_bytes = (count * bits).div_ceil(8);
        let zeros = filled(0_u8, width * zero_bytes)?;
        require_memory::<f32>(scales.len())?;
        Ok(Self { format, block, count, bits, codes, scales, zeros, zero_bytes, sums: Noise::default() })
    }

    /// Takes the columns, one after the other.
    fn fill_from_columns(
        &mut self,
        numbers: &[f32],
        height: usize,
        symmetric: bool,
        interrupt: &Interrupt,
    ) -> Result<(), ReadingError> {
        for (column, numbers) in numbers.chunks(height).enumerate() {
            interrupt.check()?;
            for (index, numbers) in numbers.chunks(self.block).enumerate() {
                let ends = numbers.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &number| {
                    (low.min(number), high.max(number))
                });
                let parameters = self.format.parameters(ends, symmetric);
                self.set_parameters((column, index), parameters);
                for (place, &number) in numbers.iter().enumerate() {
                    self.put((column, index, place), number, parameters);
                }
            }
        }
        Ok(())
    }

    /// Takes the rows in their order: a walk down the columns would wait for memory at each element.
    fn fill_from_rows(
        &mut self,
        numbers: &[f32],
        width: usize,
        symmetric: bool,
        interrupt: &Interrupt,
    ) -> Result<(), ReadingError> {
        for (index, rows) in numbers.chunks(width * self.block).enumerate() {
            interrupt.check()?;
            let ends = ends(rows, width).into_iter();
            let parameters: Vec<(f32, f32)> =
                ends.map(|ends| self.format.parameters(ends, symmetric)).collect();
            for (column, &parameters) in parameters.iter().enumerate() {
                self.set_parameters((column, index), parameters);
            }
            for (place, row) in rows.chunks(width).enumerate() {
                for (column, (&number, &parameters)) in row.iter().zip(&parameters).enumerate() {
                    self.put((column, index, place), number, parameters);
                }
            }
        }
        Ok(())
    }

    fn set_parameters(&mut self, (column, index): (usize, usize), (scale, zero): (f32, f32)) {
        if let Some(place) = self.scales.get_mut(column * self.count + index) {
            *place = scale;
        }
        put(&mut self.zeros, column * self.zero_bytes * 8 + index * self.bits, zero as u8);
    }

    fn put(&mut self, (column, index, place): (usize, usize, usize), number: f32, (scale, zero): (f32, f32)) {
        let code = self.format.quantize(number, scale, zero);
        self.sums.add(f64::from(number), f64::from((code - zero) * scale));
        let at = ((column * self.count + index) * self.block + place) * self.bits;
        put(&mut self.codes, at, code as u8);
    }
}

/// Why some numbers get no scale.
fn no_scale(numbers: &[f32], format: &Format, symmetric: bool) -> Option<NoScale> {
    if numbers.iter().any(|number| !number.is_finite()) {
        return Some(NoScale::NotFinite);
    }
    let ends = ends(numbers, 1).first().copied().unwrap_or_default();
    (!format.has_scale(ends, symmetric)).then_some(NoScale::TooSmall)
}

/// The least and the greatest number of each column.
fn ends(rows: &[f32], width: usize) -> Vec<(f32, f32)> {
    let mut ends = vec![(f32::INFINITY, f32::NEG_INFINITY); width];
    for row in rows.chunks(width) {
        for (ends, &number) in ends.iter_mut().zip(row) {
            *ends = (ends.0.min(number), ends.1.max(number));
        }
    }
    ends
}

/// Sets a code at a bit, which is 0 before.
fn put(bytes: &mut [u8], bit: usize, code: u8) {
    if let Some(byte) = bytes.get_mut(bit / 8) {
        *byte |= code << (bit % 8);
    }
}

/// The operands and attributes of the products with a matrix.
struct Placed {
    operands: Vec<ValueId>,
    attributes: [(&'static str, i64); 4],
}

impl Placed {
    /// Adds the blocks of a matrix to a model.
    fn new(model: &mut Model, name: &str, packed: Packed) -> Result<Self, QuantizeError> {
        let codes = add_constant(model, &format!("{name}_quantized"), packed.codes)?;
        let mut operands = vec![codes, add_constant(model, &format!("{name}_scale"), packed.scales)?];
        if let Some(zeros) = packed.zeros {
            operands.push(add_constant(model, &format!("{name}_zero_point"), zeros)?);
        }
        let attributes =
            [("K", packed.rows), ("N", packed.columns), ("bits", packed.bits), ("block_size", packed.block)];
        Ok(Self { operands, attributes })
    }

    /// Puts a `MatMulNBits` in the place of a node.
    fn multiply(&self, model: &mut Model, node: NodeId) -> Result<(), QuantizeError> {
        // The result of another product that was replaced is another value by now.
        let Some(a) = model.node(node).input(0) else { return Ok(()) };
        let attributes = self.attributes.map(|(name, number)| (model.intern(name), number));
        let (old, bias) = (model.node(node).output(0), model.node(node).input(2));
        let name = old.filter(|_| bias.is_some()).map(|old| {
            let name = format!("{}_product", model.str(model.value(old).name()));
            let name = model.unused_name(&name);
            model.str(name).to_owned()
        });
        let mut build = model.build_at(Position::Before(node));
        let mut call =
            build.call(DOMAIN, "MatMulNBits", std::iter::once(a).chain(self.operands.iter().copied()));
        for (name, number) in attributes {
            call = call.attr(name, AttrValue::Int(number));
        }
        let mut new = match name {
            Some(name) => call.output_named(&name)?,
            None => call.output()?,
        };
        if let Some(bias) = bias {
            new = model.build_at(Position::Before(node)).op(op::ADD, [new, bias]).output()?;
        }
        match old {
            Some(old) => Ok(substitute(model, node, old, new)?),
            None => Ok(model.erase_node(node)?),
        }
    }
}
