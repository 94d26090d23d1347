//! `ImageDecoder`: an encoded image as `[height, width, channels]` of `uint8`.
//!
//! BMP, JPEG, PNG, PNM, TIFF and WebP are decoded by the crate `image`, JPEG 2000 by `hayro-jpeg2000`, so the kernel
//! exists only with the feature `image` of this crate. Samples of 16 bits are scaled to 8, an alpha channel is dropped,
//! a palette is resolved, and orientation in metadata has no effect. `Grayscale` is the luma of ITU-R 601,
//! `(19595 R + 38470 G + 7471 B + 32768) / 65536` rounded down, as in the reference. An image that cannot be decoded
//! has size 0 × 0, as the text requires; the reference fails. Decoders of lossy formats may differ by small numbers.

use image::{DynamicImage, ImageDecoder as _, ImageError, ImageReader};
use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::IMAGE_DECODER, &[since(20, decode)]);

/// Pixels of red, green and blue.
struct Picture {
    height: usize,
    width: usize,
    pixels: Vec<u8>,
}

fn decode(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let bytes = cx.units::<u8>(&x)?;
    let format = cx.text(attr::PIXEL_FORMAT)?;
    if !matches!(format, "RGB" | "BGR" | "Grayscale") {
        return Err(Stop::failed("attribute `pixel_format` names no format"));
    }
    let is_jpeg_2000 = bytes.starts_with(b"\x00\x00\x00\x0cjP  ") || bytes.starts_with(b"\xff\x4f\xff\x51");
    let picture = if is_jpeg_2000 { jpeg_2000(cx, &bytes)? } else { common(cx, &bytes)? };
    let mut picture = picture.unwrap_or(Picture { height: 0, width: 0, pixels: Vec::new() });
    let channels = if format == "Grayscale" { 1 } else { 3 };
    if format == "BGR" {
        picture.pixels.chunks_exact_mut(3).for_each(<[u8]>::reverse);
    }
    if format == "Grayscale" {
        picture.pixels = picture.pixels.as_chunks().0.iter().map(luma).collect();
    }
    cx.put_units(0, ElemType::Uint8, &[picture.height, picture.width, channels], picture.pixels)
}

fn luma(&[red, green, blue]: &[u8; 3]) -> u8 {
    ((19595 * u32::from(red) + 38470 * u32::from(green) + 7471 * u32::from(blue) + 0x8000) >> 16) as u8
}

/// Counts what decoding allocates for a sample of the result: those of the file, and the pixels.
fn admit(cx: &mut Cx<'_, '_>, height: u32, width: u32, size: usize) -> Outcome<[usize; 2]> {
    let [height, width] = [height as usize, width as usize];
    let count = cx.count(&[height, width, 3])?;
    cx.budget.allocate(count, size)?;
    Ok([height, width])
}

/// An image of a format that the crate `image` decodes; `None` if it cannot.
fn common(cx: &mut Cx<'_, '_>, bytes: &[u8]) -> Outcome<Option<Picture>> {
    let reader = ImageReader::new(std::io::Cursor::new(bytes)).with_guessed_format();
    let Ok(decoder) = reader.map_err(ImageError::IoError).and_then(ImageReader::into_decoder) else {
        return Ok(None);
    };
    let (width, height) = decoder.dimensions();
    // Samples of 16 bits in four channels at most.
    let [height, width] = admit(cx, height, width, 4)?;
    match DynamicImage::from_decoder(decoder) {
        Ok(image) => Ok(Some(Picture { height, width, pixels: image.into_rgb8().into_raw() })),
        Err(ImageError::Limits(error)) => Err(Stop::Memory(format!("the image cannot be decoded: {error}"))),
        Err(_) => Ok(None),
    }
}

/// An image in JPEG 2000; `None` if it cannot be decoded.
fn jpeg_2000(cx: &mut Cx<'_, '_>, bytes: &[u8]) -> Outcome<Option<Picture>> {
    /// Coefficients and samples of 32 bits in four channels, and their bytes.
    const SAMPLE_BYTES: usize = 14;
    use hayro_jpeg2000::{ColorSpace, DecodeSettings, DecoderContext, Image};
    let Ok(image) = Image::new(bytes, &DecodeSettings::default()) else { return Ok(None) };
    let [height, width] = admit(cx, image.height(), image.width(), SAMPLE_BYTES)?;
    let colors = match image.color_space() {
        ColorSpace::CMYK => return Ok(None),
        space => usize::from(space.num_channels()),
    };
    let channels = colors + usize::from(image.has_alpha());
    let mut context = DecoderContext::default();
    let Ok(decoded) = image.decode(&mut context) else { return Ok(None) };
    let data = decoded.data_u8();
    let pixels: Vec<u8> = match colors {
        1 => data.chunks_exact(channels).flat_map(|pixel| [pixel[0]; 3]).collect(),
        3 => data.chunks_exact(channels).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect(),
        _ => return Ok(None),
    };
    Ok(Some(Picture { height, width, pixels }))
}
