"""What operators compute, in a sentence or a few: the texts of `OpSchema.doc`.

They are written for this package. The texts of the specification are not part of it.
"""

from __future__ import annotations

import functools

# An operator, with the version from which its text counts if there are several; the domain `ai.onnx.ml` follows the first empty line.
_TEXTS = """\
Abs: The absolute value of each element.
Acos: The inverse cosine of each element.
Acosh: The inverse hyperbolic cosine of each element.
Add: The sum of two tensors that are broadcast to each other.
AffineGrid: The sampling positions of each output pixel under an affine map, for `GridSample`.
And: Whether both of two boolean elements are true, with broadcasting.
ArgMax: The index of the largest element along an axis.
ArgMin: The index of the smallest element along an axis.
Asin: The inverse sine of each element.
Asinh: The inverse hyperbolic sine of each element.
Atan: The inverse tangent of each element.
Atanh: The inverse hyperbolic tangent of each element.
Attention: For each head, the values averaged with the softmax of the scaled products of queries and keys as weights. A key that a mask \
excludes has no weight.
AveragePool: The mean of each window that slides over the spatial axes.
BatchNormalization: Each channel minus its mean, divided by its standard deviation, then scaled and shifted. In training, the statistics \
are those of the batch, and running ones are updated.
Bernoulli: Random 0 and 1; each element of the input is the probability of a 1.
BitCast: The same bits as elements of another type of the same width.
BitShift-11: The bits of each element of X moved by as many places as Y says. A shift to the `RIGHT` drops the lowest bits, so that the \
number is effectively decreased; one to the `LEFT` fills them with 0.
BitShift-28: The bits of each element of X moved by as many places as Y says, to the `LEFT` or to the `RIGHT`. For signed elements, a \
right shift is an arithmetic shift: the sign fills the highest bits. Where Y is negative or is not less than the number of bits, only the \
fill is left: -1 for a right shift of a negative element, else 0.
BitwiseAnd: The bits that two integers both have, with broadcasting.
BitwiseNot: Each bit of an integer inverted.
BitwiseOr: The bits that at least one of two integers has, with broadcasting.
BitwiseXor: The bits that exactly one of two integers has, with broadcasting.
BlackmanWindow: The Blackman window of a size: a sum of three cosines.
Cast: Each element converted to another type.
CastLike: Each element converted to the type of another tensor.
CausalConvWithState: A convolution of each channel with a kernel that sees the current and earlier positions only. The last positions are \
given out as a state, which continues a sequence.
Ceil: Each element rounded up to an integer.
Celu: `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))` for each element.
CenterCropPad: The centre of a tensor cropped to the given sizes, or padded to them with zeros.
Clip: Each element limited to the range from `min` to `max`.
Col2Im: The columns of blocks put back in their places in an image; elements of overlapping blocks are added.
Compress: The slices along an axis for which a condition is true.
Concat: Tensors joined along an axis; their other sizes are equal.
ConcatFromSequence: The tensors of a sequence joined along an axis, or along a new one.
Constant: A tensor that an attribute holds.
ConstantOfShape: A tensor of the given shape whose elements are all the same.
Conv: The convolution of an input with filters, in groups of channels, with a bias for each filter.
ConvInteger: A convolution of quantized integers from which zero points are subtracted, with sums of 32 bits.
ConvTranspose: The transposed convolution, which is the gradient of a convolution with respect to its input.
Cos: The cosine of each element.
Cosh: The hyperbolic cosine of each element.
CumProd: The products of the elements along an axis up to each of them.
CumSum: The sums of the elements along an axis up to each of them.
DFT: The discrete Fourier transform along an axis, or its inverse.
DeformConv: A convolution whose sampling positions are moved by offsets, and whose samples are weighted by a mask.
DepthToSpace: Blocks of channels moved to the spatial axes.
DequantizeLinear: `(x - x_zero_point) * x_scale`, for a tensor, for each slice of an axis or for each block.
Det: The determinants of square matrices.
Div: The quotient of two tensors that are broadcast to each other. Quotients of integers are truncated.
Dropout: The input; in training, random elements are set to 0 and the others are scaled so that the expected value stays.
DynamicQuantizeLinear: An input quantized to 8 bits, with a scale and a zero point from its smallest and its largest element.
Einsum: The sum of products that an equation in Einstein's notation describes.
Elu: `x` where it is not negative, else `alpha * (exp(x) - 1)`.
Equal: Whether two elements are equal, with broadcasting.
Erf: The error function of each element.
Exp: The exponential of each element.
Expand: A tensor broadcast together with a shape.
EyeLike: A matrix with ones on a diagonal and zeros elsewhere, of the shape of the input.
Flatten: A matrix: the axes before `axis` are the rows, and the others are the columns.
Floor: Each element rounded down to an integer.
GRU: A recurrent network of gated units, in one direction or in both.
Gather: The slices of an axis that indices select.
GatherElements: For each element of the indices, the element of the data at its place whose coordinate along an axis is the index.
GatherND: The slices that lists of coordinates select.
Gelu: Each element multiplied by the normal distribution function of it, exactly or approximated with a hyperbolic tangent.
Gemm: `alpha * A * B + beta * C` for matrices, which can be transposed.
GlobalAveragePool: The mean of each channel.
GlobalLpPool: The p-norm of each channel.
GlobalMaxPool: The largest element of each channel.
Greater: Whether the first of two elements is greater, with broadcasting.
GreaterOrEqual: Whether the first of two elements is greater or equal, with broadcasting.
GridSample: An input sampled at the positions of a grid, with interpolation.
GroupNormalization: Each group of channels normalized to mean 0 and variance 1, then scaled and shifted.
HammingWindow: The Hamming window of a size: a raised cosine.
HannWindow: The Hann window of a size: a cosine that falls to 0.
HardSigmoid: `max(0, min(1, alpha * x + beta))` for each element.
HardSwish: `x * max(0, min(1, x / 6 + 0.5))` for each element.
Hardmax: 1 for the first largest element along an axis, and 0 for the others.
Identity: The input.
If: The results of one of two graphs, which a condition selects.
ImageDecoder: The pixels of an encoded image.
InstanceNormalization: Each channel of each sample normalized to mean 0 and variance 1, then scaled and shifted.
IsInf: Whether an element is infinite.
IsNaN: Whether an element is not a number.
LRN: Each element divided by a power of the sum of squares of the elements around it in neighbouring channels.
LSTM: A recurrent network of long short-term memory cells, in one direction or in both.
LayerNormalization: The axes from `axis` on normalized together to mean 0 and variance 1, then scaled and shifted.
LeakyRelu: `x` where it is not negative, else `alpha * x`.
Less: Whether the first of two elements is less, with broadcasting.
LessOrEqual: Whether the first of two elements is less or equal, with broadcasting.
LinearAttention: Attention whose state is updated by each key and value, so that its cost grows with the length and not with its square.
Log: The natural logarithm of each element.
LogSoftmax: The logarithm of the softmax along an axis.
Loop: A graph that is run repeatedly. Each iteration receives the state of the one before it, until a number or a condition ends the loop.
LpNormalization: Elements divided by the p-norm along an axis.
LpPool: The p-norm of each window that slides over the spatial axes.
MatMul: The product of matrices; outer axes are broadcast.
MatMulInteger: The product of matrices of quantized integers from which zero points are subtracted, with sums of 32 bits.
Max: The largest of several tensors, element by element.
MaxPool: The largest element of each window that slides over the spatial axes.
MaxRoiPool: The largest element of each part of a region, for each channel.
MaxUnpool: Elements put back to the places that `MaxPool` took them from, with zeros elsewhere.
Mean: The mean of several tensors, element by element.
MeanVarianceNormalization: Elements minus the mean, divided by the standard deviation, both along some axes.
MelWeightMatrix: A matrix that turns the bins of a spectrum into the bands of the mel scale.
Min: The smallest of several tensors, element by element.
Mish: `x * tanh(softplus(x))` for each element.
Mod-10: The remainder of a division. With `fmod` 0 it has the sign of the divisor, and is for integers; with `fmod` 1 it has the sign of \
the dividend, as the function `fmod` of C has it.
Mod-28: The remainder of a division. With `fmod` 0 it is `A - floor(A / B) * B`, which has the sign of the divisor; with `fmod` 1 it is \
`A - trunc(A / B) * B`, which has the sign of the dividend.
Mul: The product of two tensors that are broadcast to each other.
Multinomial: Random classes, drawn with the probabilities whose logarithms are given.
Neg: Each element with the opposite sign.
NegativeLogLikelihoodLoss: The negated score of the class that a label names, weighted, and reduced to a mean or a sum.
NonMaxSuppression: The boxes of each class that are left if each box removes those of lower scores that overlap it too much.
NonZero: The coordinates of the elements that are not 0, in order.
Not: Whether a boolean element is false.
OneHot: For each index, a new axis with one value at its place and another one elsewhere.
Optional: An optional value: empty, of the type that an attribute gives, or with an element.
OptionalGetElement-15: The element of an optional value, which must have one.
OptionalGetElement-18: The element of an optional value, which must have one. For a tensor or a sequence, it returns the input.
OptionalHasElement-15: Whether an optional value has an element.
OptionalHasElement-18: Whether there is an element: true for an optional value with an element and for a value of a tensor or sequence \
type, and false for an empty optional value and for an omitted input.
Or: Whether at least one of two boolean elements is true, with broadcasting.
PRelu: `x` where it is not negative, else `slope * x`, with a slope that is broadcast.
Pad: A tensor with elements added before and after each axis: a constant, a reflection, a copy of the edge, or the tensor repeated. \
Negative numbers remove elements.
Pow: Each element of a tensor raised to the power of an element of another one, with broadcasting.
QLinearConv: A convolution of quantized integers whose sums are quantized to the scale and the zero point of the result.
QLinearMatMul: A product of matrices of quantized integers whose sums are quantized to the scale and the zero point of the result.
QuantizeLinear: `x / y_scale + y_zero_point`, rounded to even and saturated, for a tensor, for each slice of an axis or for each block.
RMSNormalization: The axes from `axis` on divided by the root of the mean of their squares, then scaled.
RNN: A simple recurrent network, in one direction or in both.
RandomNormal: Random numbers of a normal distribution, of a shape that an attribute gives.
RandomNormalLike: Random numbers of a normal distribution, of the shape of the input.
RandomUniform: Random numbers of a uniform distribution, of a shape that an attribute gives.
RandomUniformLike: Random numbers of a uniform distribution, of the shape of the input.
Range: The numbers from `start` up to and without `limit` in steps of `delta`.
Reciprocal: 1 divided by each element.
ReduceL1: The sum of absolute values along axes.
ReduceL2: The root of the sum of squares along axes.
ReduceLogSum: The logarithm of the sum along axes.
ReduceLogSumExp: The logarithm of the sum of exponentials along axes.
ReduceMax: The largest element along axes.
ReduceMean: The mean along axes.
ReduceMin: The smallest element along axes.
ReduceProd: The product along axes.
ReduceSum: The sum along axes.
ReduceSumSquare: The sum of squares along axes.
RegexFullMatch: Whether a regular expression matches the whole of a string.
Relu: `max(0, x)` for each element.
Reshape: The same elements in another shape, one size of which can follow from the others.
Resize: A tensor enlarged or reduced along some axes, with the nearest element or with interpolation.
ReverseSequence: The first elements of each sequence of a batch in reverse order, as many as the sequence is long.
RoiAlign: Regions of an input pooled to one size, with bilinear samples.
RotaryEmbedding: Pairs of elements rotated by angles that depend on the position.
Round: Each element rounded to the nearest integer, and to the even one if two are equally near.
STFT: The Fourier transforms of overlapping windows of a signal.
Scan: A graph that is run for each slice of its scanned inputs. Each run receives the state of the one before it; slices of outputs are \
stacked.
Scatter: The data with some elements replaced, as `ScatterElements` has it, which takes its place.
ScatterElements: The data with elements replaced by updates, or combined with them, at places whose coordinate along an axis is an index.
ScatterND: The data with slices replaced by updates, or combined with them, at lists of coordinates.
Selu: `gamma * x` where it is positive, else `gamma * (alpha * exp(x) - alpha)`.
SequenceAt: The tensor of a sequence at a position.
SequenceConstruct: A sequence of tensors of one element type.
SequenceEmpty: A sequence without elements.
SequenceErase: A sequence without the tensor at a position.
SequenceInsert: A sequence with one more tensor, at a position or at the end.
SequenceLength: The number of the tensors of a sequence.
SequenceMap: A graph that is run for each element of sequences; the results are sequences.
Shape: The sizes of a tensor, or some of them.
Shrink: `x + bias` where `x < -lambd`, `x - bias` where `x > lambd`, else 0.
Sigmoid: `1 / (1 + exp(-x))` for each element.
Sign: -1, 0 or 1: the sign of each element.
Sin: The sine of each element.
Sinh: The hyperbolic sine of each element.
Size: The number of the elements of a tensor.
Slice: The part of a tensor from a start to an end along some axes, in steps.
Softmax: The exponentials of elements divided by their sum along an axis.
SoftmaxCrossEntropyLoss: The negated logarithm of the softmax of the class that a label names, weighted, and reduced to a mean or a sum.
Softplus: `log(exp(x) + 1)` for each element.
Softsign: `x / (1 + |x|)` for each element.
SpaceToDepth: Blocks of the spatial axes moved to the channels.
Split: A tensor cut into parts along an axis.
SplitToSequence: A tensor cut into parts along an axis, which are the elements of a sequence.
Sqrt: The square root of each element.
Squeeze: A tensor without axes of size 1.
StringConcat: Two strings joined, with broadcasting.
StringNormalizer: Strings in upper or lower case, without those of a list.
StringSplit: Each string split at a delimiter, and the number of its parts.
Sub: The difference of two tensors that are broadcast to each other.
Sum: The sum of several tensors, element by element.
SwiGLU: `A * sigmoid(alpha * A) * B` for each pair of elements.
Swish: `x * sigmoid(alpha * x)` for each element.
Tan: The tangent of each element.
Tanh: The hyperbolic tangent of each element.
TensorScatter: A cache into which an update is written along an axis, at a position for each sample; it can wrap around.
TfIdfVectorizer: The numbers of n-grams of a list in the input, or their weights.
ThresholdedRelu: `x` where it is greater than `alpha`, else 0.
Tile: A tensor repeated along each of its axes.
TopK: The K largest or smallest elements along an axis, and their indices.
Transpose: A tensor with its axes in another order.
Trilu: The upper or the lower triangle of matrices, with zeros elsewhere.
Unique: The different elements of a tensor, or the different slices of an axis, with their places and numbers.
Unsqueeze: A tensor with axes of size 1 inserted.
Upsample: A tensor enlarged along its axes. `Resize` takes its place.
Where: Elements of one tensor where a condition is true, and of another one elsewhere, with broadcasting.
Xor: Whether exactly one of two boolean elements is true, with broadcasting.

ArrayFeatureExtractor: The elements of the last axis that indices select.
Binarizer: 1 for an element greater than a threshold, else 0.
CastMap: The values of a map as a tensor, in the order of their keys.
CategoryMapper: Strings turned into integers, or integers into strings, by a list.
DictVectorizer: The values of a map in the places that a list gives their keys, with zeros elsewhere.
FeatureVectorizer: Features joined to one vector for each sample.
Imputer: Elements of one value replaced, such as those that are missing.
LabelEncoder: Each element replaced by the value that a list of keys and values gives it.
LinearClassifier: The class with the largest score of a linear model, and the scores.
LinearRegressor: The results of a linear model.
Normalizer: Each row divided by its largest element, or by its 1-norm or 2-norm.
OneHotEncoder: A new axis with 1 at the place of the category of an element, and 0 elsewhere.
SVMClassifier: The class that a support vector machine decides for, and the scores or probabilities.
SVMRegressor: The results of a support vector machine.
Scaler: `(x - offset) * scale` for each feature.
TreeEnsemble: The leaves that a sample reaches in decision trees, combined.
TreeEnsembleClassifier: The class with the largest score of decision trees, and the scores.
TreeEnsembleRegressor: The results of decision trees, combined.
ZipMap: A map from classes to scores for each sample.

FlexAttention: Attention whose scores and probabilities are changed by graphs.

Adagrad: One step of the optimizer Adagrad, for each of several tensors.
Adam: One step of the optimizer Adam, for each of several tensors.
Gradient: The partial derivatives of a value with respect to others, which are found along the graph between them.
Momentum: One step of gradient descent with momentum, for each of several tensors.
"""
_DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")


@functools.cache
def _known() -> dict[tuple[str, str], list[tuple[int, str]]]:
    """The texts of operators with the versions from which they count, the oldest first."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for domain, part in zip(_DOMAINS, _TEXTS.split("\n\n"), strict=True):
        for line in part.splitlines():
            name, text = line.split(": ", 1)
            name, _, since = name.partition("-")
            found.setdefault((domain, name), []).append((int(since or 1), text))
    return found


def description(domain: str, name: str, version: int) -> str:
    """What an operator computes in a version of its operator set."""
    texts = [text for since, text in _known().get((domain, name), []) if since <= version]
    return texts[-1] if texts else ""
