//! Operators of onnxruntime's own domain that run on its CPU provider: tensors, images, quantized tensors, text.

use super::operators::list;
use super::world::{Value, World};

fn op(name: &str) -> String {
    format!("com.microsoft.{name}")
}

impl World {
    /// Adds an operator that rearranges, compares or generates.
    pub(super) fn microsoft_tensor(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "float" && value.rank() > Some(0))?;
        let rank = x.rank()?;
        let name = x.name.as_str();
        match self.rng.below(10) {
            0 => {
                let axis = self.rng.between(-(rank as i64) - 1, rank as i64);
                let axis = self.constant("int32", &format!("{{{axis}}}"));
                self.op(&op("ExpandDims"), &[name, &axis], "");
            }
            1 => {
                let pads: Vec<i64> = (0..2 * rank).map(|_| self.rng.between(-1, 2)).collect();
                let pads = self.ints(&pads);
                let mode = self.rng.of(&["constant", "edge", "reflect"]);
                self.op(&op("Pad"), &[name, &pads], &format!("mode = \"{mode}\""));
            }
            2 => drop(self.ops(&op("Unique"), &[name], "", 3)),
            3 => {
                let depth = self.rng.between(1, rank as i64);
                let dims = [self.rng.between(0, 3), depth];
                let count = usize::try_from(dims.iter().product::<i64>()).ok()?;
                let zeros = vec!["0"; count].join(", ");
                let indices = self.constant(&format!("int64{}", list(&dims)), &format!("{{{zeros}}}"));
                self.op(&op("GatherND"), &[name, &indices], "");
            }
            4 => {
                let n = self.size(1)?;
                let n = self.to_scalar(&n);
                let zero = self.scalar(0);
                let step = self.scalar(2);
                let form: &[&str] = if self.rng.percent(50) { &[&zero, &n] } else { &[&zero, &n, &step] };
                self.op(&op("Range"), form, "");
            }
            5 => {
                let seen = self.op("Cast", &[name], "to = 6");
                self.op(&op("MurmurHash3"), &[&seen], &format!("positive = {}", self.opset % 2));
            }
            6 if rank == 2 => {
                let width = x.dims()?[1];
                let fits =
                    |value: &Value| value.is_float(2) && value.dims().is_some_and(|dims| dims[1] == width);
                let y = self.pick(fits)?;
                self.op(&op("CDist"), &[name, &y.name], "metric = \"sqeuclidean\"");
            }
            7 if rank == 2 => drop(self.ops(&op("DynamicTimeWarping"), &[name], "", 1)),
            8 => {
                let k = self.rng.between(-1, 1);
                let k = self.scalar(k);
                self.op(&op("Trilu"), &[name, &k], &format!("upper = {}", rank % 2));
            }
            _ => {
                let w = self.weight(&[1]);
                self.op(&op("BiasGelu"), &[name, &w], "");
            }
        }
        Some(())
    }

    /// Adds an operator on images.
    pub(super) fn microsoft_image(&mut self) -> Option<()> {
        let x = self.pick(|value| value.is_float(4))?;
        let dims = x.dims()?;
        let (name, channels) = (x.name.as_str(), dims[1]);
        if channels == 0 || channels > 16 {
            return None;
        }
        match self.rng.below(5) {
            0 => {
                let w = self.weight(&[2, channels, 2, 2]);
                let stride = self.rng.between(1, 3);
                let pad = self.rng.below(2);
                let attributes = format!(
                    "kernel_shape = [2, 2], strides = [{stride}, 1], pads = [{pad}, 0, 1, 0], activation = \"Relu\""
                );
                self.op(&op("FusedConv"), &[name, &w], &attributes);
            }
            1 => {
                let w = self.weight(&[channels, 2, 2, 2]);
                let pads = self.ints(&[0, 1, 0, 0]);
                let attributes = "strides = [2, 1], kernel_shape = [2, 2]";
                self.op(&op("ConvTransposeWithDynamicPads"), &[name, &w, &pads], attributes);
            }
            2 => {
                let rois = self.rng.between(0, 3);
                let count = usize::try_from(rois).ok()?;
                let boxes = vec!["0.0, 0.0, 1.0, 1.0"; count].join(", ");
                let boxes = self.constant(&format!("float[{rois}, 4]"), &format!("{{{boxes}}}"));
                let zeros = vec!["0"; count].join(", ");
                let batch = self.constant(&format!("int32[{rois}]"), &format!("{{{zeros}}}"));
                let size = self.constant("int32[2]", "{3, 2}");
                self.op(&op("CropAndResize"), &[name, &boxes, &batch, &size], "mode = \"bilinear\"");
            }
            3 => {
                let grid = self.weight(&[dims[0], 3, 2, 2]);
                self.op(&op("GridSample"), &[name, &grid], "mode = \"nearest\"");
            }
            _ => {
                let mask = self.op("Shape", &[name], "");
                let mask = self.op("ConstantOfShape", &[&mask], "value = int32[1] {1}");
                self.op(&op("MaxpoolWithMask"), &[name, &mask], "kernel_shape = [2, 2]");
            }
        }
        Some(())
    }

    /// A tensor as bytes, with its scale and zero point.
    fn bytes(&mut self, x: &str) -> [String; 3] {
        let (scale, zero) = (self.float(0.5), self.constant("uint8", "{1}"));
        let y = self.op(&op("QuantizeLinear"), &[x, &scale, &zero], "");
        [y, scale, zero]
    }

    /// Adds an operator on quantized tensors.
    pub(super) fn microsoft_quantized(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "float" && value.rank() > Some(0))?;
        let rank = x.rank()?;
        let [a, scale, zero] = self.bytes(&x.name);
        let (a, scale, zero) = (a.as_str(), scale.as_str(), zero.as_str());
        let name = self.rng.of(&["QLinearSigmoid", "QLinearLeakyRelu"]);
        match self.rng.below(10) {
            0 => drop(self.op(&op("DequantizeLinear"), &[a, scale, zero], "")),
            1 | 2 => {
                let y = self.pick(|value| value.elem == "float")?;
                let [b, other, point] = self.bytes(&y.name);
                let name = self.rng.of(&["QLinearAdd", "QLinearMul"]);
                self.op(&op(name), &[a, scale, zero, &b, &other, &point, scale, zero], "");
            }
            3 => drop(self.op(&op(name), &[a, scale, zero, scale, zero], "")),
            4 => {
                let attributes = format!("axis = {}, opset = {}", rank - 1, self.opset);
                self.op(&op("QLinearSoftmax"), &[a, scale, zero, scale, zero], &attributes);
            }
            5 if rank == 4 => {
                let channels_last = self.rng.below(2);
                let attributes = format!("channels_last = {channels_last}");
                self.op(&op("QLinearGlobalAveragePool"), &[a, scale, zero, scale, zero], &attributes);
            }
            6 if rank == 4 => {
                let ceil = self.rng.below(2);
                let attributes = format!("kernel_shape = [2, 2], strides = [2, 1], ceil_mode = {ceil}");
                self.op(&op("QLinearAveragePool"), &[a, scale, zero, scale, zero], &attributes);
            }
            7 => {
                let axis = self.rng.below(rank);
                self.op(
                    &op("QLinearConcat"),
                    &[scale, zero, a, scale, zero, a, scale, zero],
                    &format!("axis = {axis}"),
                );
            }
            8 if rank == 2 => {
                let inner = x.dims()?[1];
                let elements = vec!["1"; usize::try_from(inner * 3).ok()?].join(", ");
                let turned = self.rng.percent(50);
                let dims = if turned { [3, inner] } else { [inner, 3] };
                let w = self.constant(&format!("uint8{}", list(&dims)), &format!("{{{elements}}}"));
                let attributes = format!("transB = {}", i64::from(turned));
                self.op(&op("QGemm"), &[a, scale, zero, &w, scale, zero], &attributes);
            }
            _ => {
                let inner = *x.dims()?.last()?;
                let elements = vec!["1"; usize::try_from(inner * 2).ok()?].join(", ");
                let w = self.constant(&format!("uint8[{inner}, 2]"), &format!("{{{elements}}}"));
                self.op(&op("MatMulIntegerToFloat"), &[a, &w, scale, scale, zero, zero], "");
            }
        }
        Some(())
    }

    /// Adds an operator of language models.
    pub(super) fn microsoft_language(&mut self) -> Option<()> {
        match self.rng.below(5) {
            0 => {
                let x = self.pick(|value| value.elem == "int64" && value.rank() == Some(2))?;
                let zero = self.scalar(0);
                let ids = self.op("Mul", &[&x.name, &zero], "");
                let ids = self.op("Cast", &[&ids], "to = 6");
                let (words, places, scale) = (self.weight(&[4, 6]), self.weight(&[64, 6]), self.weight(&[6]));
                let inputs = [&ids, "", &words, &places, "", &scale, &scale];
                self.ops(&op("EmbedLayerNormalization"), &inputs, "", 2);
            }
            1 => {
                let x = self.pick(|value| value.is_float(3))?;
                let width = x.dims()?[2];
                if width == 0 || width % 4 != 0 || width > 16 {
                    return None;
                }
                let (cos, sin) = (self.weight(&[64, width / 4]), self.weight(&[64, width / 4]));
                let start = self.constant("int64[1]", "{0}");
                self.op(&op("RotaryEmbedding"), &[&x.name, &start, &cos, &sin], "num_heads = 2");
            }
            2 => {
                let x = self.pick(|value| value.elem == "float" && value.rank() > Some(0))?;
                let inner = *x.dims()?.last()?;
                if !(1..=64).contains(&inner) {
                    return None;
                }
                let blocks = (inner + 15) / 16;
                let count = usize::try_from(5 * blocks * 8).ok()?;
                let elements = vec!["1"; count].join(", ");
                let w = self.constant(&format!("uint8[5, {blocks}, 8]"), &format!("{{{elements}}}"));
                let scales = self.weight(&[5 * blocks]);
                let attributes = format!("K = {inner}, N = 5, bits = 4, block_size = 16");
                self.op(&op("MatMulNBits"), &[&x.name, &w, &scales], &attributes);
            }
            3 => {
                let x = self.pick(|value| value.is_float(3))?;
                let width = x.dims()?[2];
                if width == 0 || width % 4 != 0 || width > 16 {
                    return None;
                }
                let bias = self.weight(&[3 * width]);
                let (k, v) = (self.op("Neg", &[&x.name], ""), self.op("Abs", &[&x.name], ""));
                let inputs = [x.name.as_str(), &k, &v, &bias];
                self.ops(&op("MultiHeadAttention"), &inputs, "num_heads = 4", self.opset as usize % 3 + 1);
            }
            _ => {
                let x = self.pick(|value| value.elem == "int64" && value.rank() == Some(2))?;
                let scores = self.weight(&[x.dims()?[0], 4]);
                self.op(&op("NGramRepeatBlock"), &[&x.name, &scores], "ngram_size = 2");
            }
        }
        Some(())
    }
}
