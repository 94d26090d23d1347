//! Letters as strokes, so that a picture of pixels is the same on every machine.
//!
//! A letter is a list of lines through points. Two digits are a point: from the left, and from the top of a capital letter down.
//! The base line is at 7, the top of small letters at 2, the bottom of `g` at 9. Letters are as wide as the layout expects.

use crate::text::char_width;

/// The base line, from the top of a capital letter.
const BASE: f64 = 7.0;
/// A unit of the grid, as a part of the font size.
const UNIT: f64 = 0.104;
/// The space before and after a letter, as a part of the font size.
const BEARING: f64 = 0.085;

/// The letters from `!` to `~`.
const ASCII: [&str; 94] = [
    "0004 0707",
    "0002 2022",
    "2017 5047 0262 0565",
    "615110010213536465561605 3037",
    "0002222000 4547676545 6007",
    "671211203041420406173764",
    "0002",
    "201103051728",
    "001123251708",
    "2024 0143 0341",
    "2226 0444",
    "1608",
    "0434",
    "0707",
    "4008",
    "203052553727050220",
    "012027 0747",
    "0201104051520757",
    "01104051524323 435456471706",
    "47400555",
    "500003435456471706",
    "514010010617475654431304",
    "005017",
    "104051524313020110 1304061747565443",
    "061747565140100103144453",
    "0303 0707",
    "1313 1608",
    "510457",
    "0353 0555",
    "015407",
    "01103041422425 2727",
    "55252252557571601001061767",
    "073067 1555",
    "00074756544303 0040515243",
    "6150200205275766",
    "00074765624000",
    "50000757 0343",
    "500007 0343",
    "61502002052757666444",
    "0007 6067 0363",
    "0007",
    "20261707",
    "0007 6004 2367",
    "000757",
    "0700346067",
    "07006760",
    "204062654727050220",
    "07004051534404",
    "204062654727050220 4568",
    "07004051534404 3457",
    "514010010213445556471706",
    "0060 3037",
    "000527476560",
    "003760",
    "0027416780",
    "0067 6007",
    "003460 3437",
    "00600767",
    "20000828",
    "0048",
    "00202808",
    "032043",
    "0959",
    "0011",
    "0312324347 44140506173746",
    "0007 0312324346371706",
    "4332120306173746",
    "4047 4332120306173746",
    "05454332120306173746",
    "30201117 0232",
    "4248391908 4332120306173746",
    "0007 0312324347",
    "0207 0000",
    "121809 1010",
    "0007 4205 1447",
    "0007",
    "0207 0312223337 3342526367",
    "0207 0312324347",
    "123243463717060312",
    "0209 0312324346371706",
    "4249 4332120306173746",
    "0207 031232",
    "43321203143546371706",
    "10162737 0232",
    "0206173746 4247",
    "022742",
    "0217335762",
    "0247 4207",
    "0227 421909",
    "02420747",
    "302011130415172838",
    "0009",
    "001021233425271808",
    "051424455564",
];

/// A mark of letters, over a width of 4: its lines, whether it is above the letter, and the letters with it, each after the one that
/// it is added to.
const MARKS: [(&str, bool, &str); 14] = [
    ("1021", true, "aàeèiìoòuùAÀEÈIÌOÒUÙnǹNǸ"),
    ("3021", true, "aáeéiíoóuúyýcćnńsśzźlĺrŕAÁEÉIÍOÓUÚYÝCĆNŃSŚZŹLĹRŔ"),
    ("112031", true, "aâeêiîoôuûcĉgĝhĥjĵsŝwŵyŷAÂEÊIÎOÔUÛCĈGĜHĤJĴSŜWŴYŶ"),
    ("01102130", true, "aãnñoõiĩuũAÃNÑOÕIĨUŨ"),
    ("1010 3030", true, "aäeëiïoöuüyÿAÄEËIÏOÖUÜYŸ"),
    ("1030311110", true, "aåuůAÅUŮ"),
    ("102130", true, "cčdďeěnňrřsštťzžgğaăuŭCČDĎEĚNŇRŘSŠTŤZŽGĞAĂUŬ"),
    ("1030", true, "aāeēiīoōuūAĀEĒIĪOŌUŪ"),
    ("2020", true, "cċeėgġzżCĊEĖGĠIİZŻ"),
    ("2011 4031", true, "oőuűOŐUŰ"),
    ("2718", false, "cçsştţCÇSŞTŢ"),
    ("4738", false, "aąeęiįuųAĄEĘIĮUŲ"),
    ("0742", false, "oø"),
    ("0740", false, "OØ"),
];

/// The letter that a letter with a mark consists of, and the mark with `true` if it is above the letter.
fn divided(c: char) -> Option<(char, &'static str, bool)> {
    MARKS.iter().find_map(|&(lines, is_above, letters)| {
        let mut pairs = letters.chars();
        while let (Some(base), Some(marked)) = (pairs.next(), pairs.next()) {
            if marked == c {
                // The mark takes the place of the dot.
                return Some((if base == 'i' && is_above { 'ı' } else { base }, lines, is_above));
            }
        }
        None
    })
}

/// Returns `true` if a character has strokes. Others are boxes.
pub(super) fn is_known(c: char) -> bool {
    letter_of(divided(c).map_or(c, |(base, ..)| base)) != UNKNOWN
}

/// A part of a letter: a line between two points, from the place of the text.
pub(super) type Stroke = ((f64, f64), (f64, f64));

/// The strokes of a text, and its width. What is not known is a box.
pub(super) fn strokes(text: &str, font_size: f64) -> (Vec<Stroke>, f64) {
    let mut found = Vec::new();
    let mut left = 0.0;
    for c in text.chars() {
        let advance = char_width(c);
        let (base, mark) =
            divided(c).map_or((c, None), |(base, lines, is_above)| (base, Some((lines, is_above))));
        letter(letter_of(base), (left, advance, 0.0), font_size, &mut found);
        if let Some((lines, is_above)) = mark {
            // Capital letters reach to the top of the line.
            let rise = if is_above && base.is_uppercase() { 2.0 } else { 0.0 };
            // An empty line makes the mark as wide as the letter.
            letter(&format!("{lines} 40"), (left, advance, rise), font_size, &mut found);
        }
        left += advance * font_size;
    }
    (found, left)
}

/// The strokes of a character that is not known.
const UNKNOWN: &str = "0007474000";

fn letter_of(c: char) -> &'static str {
    match c {
        'ı' => "0207",
        'ß' => "07011030413323 3344463727",
        'µ' => "0209 0206173746 4247",
        '°' => "1030322110",
        '–' | '—' => "0454",
        '·' => "2424",
        ' ' => "",
        '×' => "0246 4206",
        '…' => "0707 3737 6767",
        '▸' => "01074401 0244 0644",
        '→' => "0464 426446",
        '−' => "0454",
        c => u32::from(c)
            .checked_sub(0x21)
            .and_then(|index| ASCII.get(index as usize).copied())
            .unwrap_or(UNKNOWN),
    }
}

/// Adds the strokes of a letter, which is as wide as `advance` says, and higher by some units of the grid.
fn letter(lines: &str, (left, advance, rise): (f64, f64, f64), font_size: f64, found: &mut Vec<Stroke>) {
    let digit = |digit: &u8| f64::from(digit.saturating_sub(b'0'));
    let widest = lines
        .split(' ')
        .flat_map(|line| line.as_bytes().chunks_exact(2))
        .map(|point| digit(&point[0]))
        .fold(0.0, f64::max);
    // A letter without width is in the middle of its place.
    let (start, step) = match widest > 0.0 {
        true => (BEARING, (advance - 2.0 * BEARING).max(0.0) / widest),
        false => (advance / 2.0, 0.0),
    };
    let place = |point: &[u8]| {
        let (x, y) = (digit(&point[0]), digit(&point[1]));
        (left + (start + x * step) * font_size, (y - BASE - rise) * UNIT * font_size)
    };
    for line in lines.split(' ') {
        let points: Vec<(f64, f64)> = line.as_bytes().chunks_exact(2).map(place).collect();
        found.extend(points.windows(2).map(|ends| (ends[0], ends[1])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::text_width;

    #[test]
    fn letters_are_as_wide_as_the_layout_expects() {
        for text in ["batch×sequence×768", "MatMul", "漢字 …"] {
            let (strokes, width) = strokes(text, 10.0);
            assert!((width - text_width(text, 10.0)).abs() < 1e-9, "{text}");
            for ((x, y), (to, end)) in strokes {
                assert!(x >= 0.0 && x.max(to) <= width && y.min(end) > -8.0 && y.max(end) < 3.0, "{text}");
            }
        }
    }

    #[test]
    fn letters_with_marks_have_strokes_of_their_own() {
        let mut seen = std::collections::HashSet::new();
        for c in "aàáâãäåāăąAÀÁÂÃÄÅcçćčiíïıoøöőOØÖuüůűſßñłŻ".chars() {
            if !is_known(c) {
                assert!("ſł".contains(c), "{c}");
                continue;
            }
            let (strokes, width) = strokes(&c.to_string(), 10.0);
            let key: Vec<_> = strokes.iter().map(|(from, to)| format!("{from:?}{to:?}")).collect();
            assert!(seen.insert(key.concat()), "{c}");
            assert!(strokes.iter().all(|&((x, _), (to, _))| x >= 0.0 && x.max(to) <= width + 0.01), "{c}");
        }
        assert!(!is_known('漢') && is_known('ö') && is_known('×') && is_known(' '));
    }

    #[test]
    fn every_letter_has_strokes_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        for c in '!'..='~' {
            let letter = letter_of(c);
            assert!(letter.split(' ').all(|line| line.len() >= 4 && line.len() % 2 == 0), "{c}");
            // The narrow letters are lines of different lengths only.
            assert!(seen.insert(letter) || "Il|'".contains(c), "{c}");
        }
    }
}
