//! A picture as pixels.

mod font;
mod raster;

use crate::paint::{MARGIN, PictureStyle, paint};
use crate::picture::Picture;
use raster::Raster;

/// Pixels of an image at most, in a direction and in all.
const MOST_PIXELS: f64 = 16_000.0;
const MOST_AREA: f64 = 40_000_000.0;
/// Pixels for each unit of the picture.
const SCALE: f64 = 2.0;

/// Writes a picture as PNG, twice as large as it is as SVG, and smaller if it has more than 40 million pixels. Letters are strokes
/// that are part of this crate, so that an equal picture has equal bytes on every machine.
#[must_use]
pub fn png(picture: &Picture, style: &PictureStyle) -> Vec<u8> {
    let (width, height) = (picture.size.width + 2.0 * MARGIN, picture.size.height + 2.0 * MARGIN);
    let scale = SCALE.min(MOST_PIXELS / width.max(height)).min((MOST_AREA / (width * height)).sqrt());
    let mut raster = Raster::new(picture.size, scale);
    paint(picture, style, &mut raster);
    encoded(&raster)
}

/// Returns the characters of a picture, each once, that [`png`] draws as boxes: those of other scripts than Latin.
#[must_use]
pub fn letters_without_strokes(picture: &Picture) -> Vec<char> {
    let boxes = picture.boxes.iter().flat_map(|drawn| std::iter::once(&drawn.title).chain(&drawn.lines));
    let labels = picture.lines.iter().filter_map(|line| line.label.as_ref().map(|(_, _, text)| text));
    let mut found: Vec<char> =
        boxes.chain(labels).flat_map(|text| text.chars()).filter(|&c| !font::is_known(c)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The file: a head, the rows, and an end, each with its length and checksum.
fn encoded(raster: &Raster) -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let size = |size: usize| u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes();
    let mut head = [size(raster.width), size(raster.height)].concat();
    // Eight bits for each of three channels.
    head.extend([8, 2, 0, 0, 0]);
    chunk(&mut out, *b"IHDR", &head);
    // The mark by which a later run knows that it may replace the file.
    chunk(&mut out, *b"tEXt", b"Comment\0<!-- onnx draw -->");
    let row = 3 * raster.width;
    let mut rows = Vec::with_capacity(raster.pixels.len() + raster.height);
    let blank = vec![0; row];
    let mut above = blank.as_slice();
    for pixels in raster.pixels.chunks_exact(row) {
        // A row is what differs from the one above it, mostly nothing.
        rows.push(2);
        rows.extend(pixels.iter().zip(above).map(|(pixel, above)| pixel.wrapping_sub(*above)));
        above = pixels;
    }
    chunk(&mut out, *b"IDAT", &miniz_oxide::deflate::compress_to_vec_zlib(&rows, 6));
    chunk(&mut out, *b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    out.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    let start = out.len();
    out.extend(kind);
    out.extend_from_slice(data);
    let sum = checksum(out.get(start..).unwrap_or_default());
    out.extend(sum.to_be_bytes());
}

/// CRC-32, as PNG has it.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 };
    let table: [u32; 256] = std::array::from_fn(|byte| (0..8).fold(byte as u32, step));
    !bytes.iter().fold(!0_u32, |sum, &byte| table[usize::from((sum as u8) ^ byte)] ^ (sum >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Size;
    use crate::picture::Line;

    #[test]
    fn a_checksum_is_that_of_the_standard() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
        assert_eq!(checksum(b"IEND"), 0xae42_6082);
    }

    #[test]
    fn a_picture_has_pixels() {
        let line = Line {
            points: vec![(10.0, 0.0), (10.0, 30.0)],
            label: Some((40.0, 20.0, "N×4".to_owned())),
            is_back: false,
            has_arrow: true,
            is_cut: false,
        };
        let size = Size { width: 60.0, height: 30.0 };
        let picture = Picture { size, boxes: Vec::new(), lines: vec![line] };
        let mut raster = Raster::new(size, 2.0);
        paint(&picture, &PictureStyle::default(), &mut raster);
        let at = |x: f64, y: f64| {
            let at = 3 * (((y + MARGIN) * 2.0) as usize * raster.width + ((x + MARGIN) * 2.0) as usize);
            raster.pixels[at]
        };
        assert_eq!((raster.width, raster.height), (184, 124));
        // On the line, next to it, in the arrow; the label has ink.
        assert!(at(10.0, 10.0) < 160 && at(20.0, 10.0) == 255 && at(11.5, 25.5) < 160);
        assert!(raster.pixels.chunks(3).filter(|pixel| pixel[0] < 120).count() > 20);
        let file = encoded(&raster);
        assert!(file.starts_with(b"\x89PNG") && file.ends_with(b"IEND\xae\x42\x60\x82"));
        let begin = file.windows(4).position(|part| part == b"IDAT").unwrap() + 4;
        let length = u32::from_be_bytes(file[begin - 8..begin - 4].try_into().unwrap()) as usize;
        let rows = miniz_oxide::inflate::decompress_to_vec_zlib(&file[begin..begin + length]).unwrap();
        assert_eq!(rows.len(), 124 * (184 * 3 + 1));
    }

    #[test]
    fn an_image_has_a_limit() {
        let size = Size { width: 1_000_000.0, height: 1_000.0 };
        let picture = Picture { size, ..Picture::default() };
        let file = png(&picture, &PictureStyle::default());
        let width = u32::from_be_bytes(file[16..20].try_into().unwrap());
        assert!((15_000..=16_000).contains(&width), "{width}");
    }
}
