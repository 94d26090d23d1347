//! The fast path for simple literals: digits with an optional sign, point and exponent, followed by a comma or a brace.
//!
//! Weights are most of the text of many models, and nearly all of their numbers are simple literals, so lists of them are
//! parsed in a tight loop. The general path parses all other literals and reports errors.

/// Maximum number of literals in a run. The caller checks the interrupt between runs.
const MAX_RUN: usize = 4096;

/// Why a run of simple literals ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// The closing brace of the list, which is consumed.
    Closed,
    /// An element that is not a simple literal, which is not consumed, or the maximum length of a run.
    Other,
}

/// Parses simple literals, each followed by a comma or the closing brace of the list. Returns the number of bytes consumed.
#[inline]
#[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "places in a text that is in memory"))]
pub(super) fn run<T>(
    text: &[u8],
    number: impl Fn(&[u8]) -> Option<(T, usize)>,
    mut push: impl FnMut(T),
) -> (usize, Stop) {
    let mut taken = 0;
    for _ in 0..MAX_RUN {
        let mut at = taken;
        while matches!(text.get(at), Some(b' ' | b'\n')) {
            at += 1;
        }
        let Some((value, length)) = text.get(at..).and_then(&number) else { return (taken, Stop::Other) };
        let end = at + length;
        match text.get(end) {
            Some(b',') => push(value),
            Some(b'}') => {
                push(value);
                return (end + 1, Stop::Closed);
            }
            _ => return (taken, Stop::Other),
        }
        taken = end + 1;
    }
    (taken, Stop::Other)
}

/// The integer that a text begins with, and its length, if it has at most 18 digits.
#[inline]
#[cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "18 digits are less than the largest number, and more are not taken"
    )
)]
pub(super) fn int(text: &[u8]) -> Option<(i64, usize)> {
    let (negative, start) = sign(text);
    let (mut value, mut at) = (0_i64, start);
    while let Some(digit) = digit(text, at) {
        value = value.wrapping_mul(10).wrapping_add(digit.into());
        at += 1;
    }
    (1..=18).contains(&(at - start)).then(|| (if negative { -value } else { value }, at))
}

/// The integer without sign that a text begins with, and its length, if it has at most 18 digits.
#[inline]
pub(super) fn uint(text: &[u8]) -> Option<(u64, usize)> {
    int(text).and_then(|(value, length)| Some((u64::try_from(value).ok()?, length)))
}

/// The binary32 nearest to the number that a text begins with, and the length of the number, if that is quickly found.
#[inline]
pub(super) fn f32(text: &[u8]) -> Option<(f32, usize)> {
    if let Some(digit) = only_digit(text) {
        return Some((f32::from(digit), 1));
    }
    let (value, length) = f64(text)?;
    let bits = value.to_bits();
    // The binary64 lies on the same side of every middle between two binary32 as the number itself does, as such a middle
    // is a binary64, too. So rounding twice is rounding once, unless the first result is such a middle.
    let is_middle = bits & 0x1fff_ffff == 0x1000_0000;
    let is_normal = (f64::from(f32::MIN_POSITIVE)..f64::from(f32::MAX)).contains(&value.abs());
    (value == 0.0 || (is_normal && !is_middle)).then_some((value as f32, length))
}

/// The binary64 nearest to the number that a text begins with, and the length of the number, if that is quickly found.
#[inline]
#[cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "places in a text that is in memory, and exponents of few digits"
    )
)]
pub(super) fn f64(text: &[u8]) -> Option<(f64, usize)> {
    if let Some(digit) = only_digit(text) {
        return Some((f64::from(digit), 1));
    }
    let (negative, start) = sign(text);
    let (mut digits, mut at) = (0_u64, start);
    while let Some(digit) = digit(text, at) {
        digits = digits.wrapping_mul(10).wrapping_add(digit.into());
        at += 1;
    }
    if !(1..=15).contains(&(at - start)) {
        return None;
    }
    let mut exponent = 0_i32;
    if text.get(at) == Some(&b'.') {
        at += 1;
        let (few, count) = eight_digits(text, at)?;
        (digits, at, exponent) = (joined(digits, few, count), at + count, -(count as i32));
        if count == 8 {
            let (few, count) = eight_digits(text, at)?;
            (digits, at, exponent) = (joined(digits, few, count), at + count, exponent - count as i32);
            if count == 8 {
                return None;
            }
        }
    }
    // Numbers of up to 19 digits always fit a word.
    if at - start > 19 {
        return None;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let (ten, length) = small_exponent(text.get(at + 1..)?)?;
        (exponent, at) = (exponent + ten, at + 1 + length);
    }
    // Digits and power are exact, so one operation rounds once.
    let power = *POWERS.get(exponent.unsigned_abs() as usize)?;
    if digits > 1 << f64::MANTISSA_DIGITS {
        return None;
    }
    let value = if exponent < 0 { digits as f64 / power } else { digits as f64 * power };
    Some((if negative { -value } else { value }, at))
}

#[inline]
fn sign(text: &[u8]) -> (bool, usize) {
    let negative = text.first() == Some(&b'-');
    (negative, usize::from(negative))
}

/// The value of a number of one digit in a list; zeros and ones are what many lists are made of.
#[inline]
#[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "a digit is no less than zero"))]
fn only_digit(text: &[u8]) -> Option<u8> {
    match *text {
        [digit @ b'0'..=b'9', b',' | b'}', ..] => Some(digit - b'0'),
        _ => None,
    }
}

#[inline]
fn digit(text: &[u8], at: usize) -> Option<u8> {
    text.get(at).map(|&byte| byte.wrapping_sub(b'0')).filter(|&digit| digit <= 9)
}

/// An exponent of one or two digits with its sign, and its length.
#[inline(never)]
#[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "two digits at most"))]
fn small_exponent(text: &[u8]) -> Option<(i32, usize)> {
    let start = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let mut value = i32::from(digit(text, start)?);
    let mut at = start + 1;
    if let Some(digit) = digit(text, at) {
        value = value * 10 + i32::from(digit);
        at += 1;
    }
    let negative = text.first() == Some(&b'-');
    digit(text, at).is_none().then_some((if negative { -value } else { value }, at))
}

/// Digits followed by `count` more.
#[inline]
fn joined(digits: u64, more: u64, count: usize) -> u64 {
    const TENS: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    digits.wrapping_mul(TENS.get(count).copied().unwrap_or(1)).wrapping_add(more)
}

/// The value of up to eight digits, and how many there are; all at once, as the number of digits cannot be guessed.
#[inline]
#[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "of 8 bytes, at most 8 are digits"))]
fn eight_digits(text: &[u8], at: usize) -> Option<(u64, usize)> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let bytes = text.get(at..)?.first_chunk::<8>()?;
    let digits = u64::from_le_bytes(*bytes) ^ (EACH * 0x30);
    // What is over 9 gets its highest bit; what that carries goes to bytes behind, which do not count.
    let others = (digits.wrapping_add(EACH * 0x76) | digits) & (EACH * 0x80);
    let count = others.trailing_zeros() / 8;
    // The digits go to the end, and zeros before them.
    let digits = digits.checked_shl(64 - 8 * count).unwrap_or(0);
    // Pairs, then quadruples, then all.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let upper = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let lower = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    Some((upper.wrapping_add(lower) >> 32, count as usize))
}

/// The powers of ten that are exact.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The number that a text begins with, as the standard library reads it.
    fn check(text: &str) {
        let padded = format!("{text}, 1, 2, 3, 4");
        let found = f64(padded.as_bytes());
        if let Some((value, length)) = found {
            assert_eq!(length, text.len(), "{text}");
            assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
        if let Some((value, length)) = f32(padded.as_bytes()) {
            assert_eq!(length, text.len(), "{text}");
            assert_eq!(value.to_bits(), text.parse::<f32>().unwrap().to_bits(), "{text}");
        }
    }

    #[test]
    fn plain_numbers_are_what_the_standard_library_reads() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 32
        };
        for _ in 0..200_000 {
            let bits = random() as u32;
            let value = f32::from_bits(bits);
            if value.is_finite() {
                check(&format!("{value:?}"));
                check(&format!("{value:.7}"));
            }
            check(&format!("{:?}", (random() as f64 - 2e9) * 1e-11));
            check(&format!("{}.{:0width$}", random() % 100, random(), width = (random() % 17) as usize));
            check(&format!("-{}e{}", random() % 1000, random() % 60));
            check(&format!("{}.{}e-{}", random() % 1000, random() % 1000, random() % 60));
        }
    }

    #[test]
    fn middles_between_two_numbers_are_left_to_who_has_more_time() {
        for number in ["16777217", "1.00000005960464477539062", "9007199791611904"] {
            check(number);
        }
        assert_eq!(f32(b"16777217, 0, 0, 0"), None);
        assert_eq!(f32(b"16777219.5, 0, 0, 0"), Some((16_777_220.0, 10)));
        assert_eq!(f32(b"0.1234567, 0, 0"), Some((0.123_456_7, 9)));
        assert_eq!(f32(b"-0, 0, 0").map(|(value, _)| value.to_bits()), Some(1 << 31));
    }

    #[test]
    fn nearly_all_weights_are_plain() {
        let weights = (1..10_000).map(|index| (index as f32 * 0.37).sin() * 0.02);
        let plain = weights.filter(|weight| f32(format!("{weight:?}, 1, 2, 3").as_bytes()).is_some());
        assert!(plain.count() > 9900);
    }

    #[test]
    fn runs_stop_where_something_else_comes() {
        let numbers = |text: &str| {
            let mut list = Vec::new();
            let small = |text: &[u8]| int(text).filter(|&(value, _)| value < 100);
            let (taken, stop) = run(text.as_bytes(), small, |value| list.push(value));
            (list, text[taken..].to_owned(), stop)
        };
        assert_eq!(numbers("1, -2,\n 3} x"), (vec![1, -2, 3], " x".to_owned(), Stop::Closed));
        assert_eq!(numbers("1, 2 , 3}"), (vec![1], " 2 , 3}".to_owned(), Stop::Other));
        assert_eq!(numbers("1, x}"), (vec![1], " x}".to_owned(), Stop::Other));
        assert_eq!(numbers("1, 100, 3}"), (vec![1], " 100, 3}".to_owned(), Stop::Other));
        assert_eq!(numbers("1, 2"), (vec![1], " 2".to_owned(), Stop::Other));
        assert_eq!(numbers("1, -, 1234567890123456789}").1, " -, 1234567890123456789}");
    }
}
