//! Base64 in pieces: written in the standard alphabet, read in that or the one for URLs, with padding or without.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// The value of a byte that is not a digit of either alphabet.
const NONE: u8 = 0xff;
const VALUES: [u8; 256] = values();

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a constant, computed at compile time"
)]
const fn values() -> [u8; 256] {
    let mut values = [NONE; 256];
    let mut digit = 0;
    while digit < 64 {
        values[ALPHABET[digit] as usize] = digit as u8;
        digit += 1;
    }
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values
}

fn digit(value: u32) -> u8 {
    ALPHABET.get((value & 63) as usize).copied().unwrap_or(b'A')
}

fn digits([a, b, c]: [u8; 3]) -> [u8; 4] {
    let bits = u32::from_be_bytes([0, a, b, c]);
    [digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)]
}

/// Writes bytes.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    /// The bytes that wait for others, at most two.
    rest: [u8; 3],
    len: usize,
}

impl Encoder {
    pub(crate) fn encode(&mut self, mut bytes: &[u8], mut put: impl FnMut(&[u8])) {
        while self.len > 0
            && let Some((&first, others)) = bytes.split_first()
        {
            self.push(first);
            bytes = others;
            if self.len == 3 {
                put(&digits(self.rest));
                self.len = 0;
            }
        }
        const AT_ONCE: usize = 192;
        let (triples, rest) = bytes.as_chunks::<3>();
        let mut buffer = [[0_u8; 4]; AT_ONCE];
        for triples in triples.chunks(AT_ONCE) {
            for (quad, &triple) in buffer.iter_mut().zip(triples) {
                *quad = digits(triple);
            }
            put(buffer.get(..triples.len()).unwrap_or_default().as_flattened());
        }
        rest.iter().for_each(|&byte| self.push(byte));
    }

    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.rest.get_mut(self.len) {
            *slot = byte;
            self.len = self.len.wrapping_add(1);
        }
    }

    /// Writes the remaining digits, and the padding.
    pub(crate) fn finish(&mut self, mut put: impl FnMut(&[u8])) {
        let [a, b, _] = self.rest;
        match self.len {
            1 => {
                let [first, second, ..] = digits([a, 0, 0]);
                put(&[first, second, b'=', b'=']);
            }
            2 => {
                let [first, second, third, _] = digits([a, b, 0]);
                put(&[first, second, third, b'=']);
            }
            _ => {}
        }
        self.len = 0;
    }
}

/// Reads bytes.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The digits that wait for others.
    bits: u32,
    /// Their number, at most three.
    len: u32,
    padding: u32,
}

/// Why characters are not base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base64Error {
    /// The character at this position is not a digit, or follows padding.
    Character(usize),
    /// The number of characters is impossible.
    Length,
}

impl Decoder {
    pub(crate) fn decode(&mut self, mut text: &[u8], out: &mut Vec<u8>) -> Result<(), Base64Error> {
        let whole = text.len();
        loop {
            if self.len == 0 && self.padding == 0 {
                let (quads, _) = text.as_chunks::<4>();
                let count = decode_quads(quads, out);
                text = text.get(count.saturating_mul(4)..).unwrap_or_default();
            }
            // What is not a group of four digits: the rest of a group, padding, an invalid character, or the end.
            let Some((&character, others)) = text.split_first() else { return Ok(()) };
            let at = whole.saturating_sub(text.len());
            self.one(character, out).ok_or(Base64Error::Character(at))?;
            text = others;
        }
    }

    fn one(&mut self, character: u8, out: &mut Vec<u8>) -> Option<()> {
        if character == b'=' {
            self.padding = self.padding.saturating_add(1);
            return (self.len >= 2 && self.len.saturating_add(self.padding) <= 4).then_some(());
        }
        let value = VALUES.get(usize::from(character)).copied().filter(|&value| value != NONE)?;
        if self.padding > 0 {
            return None;
        }
        self.bits = self.bits << 6 | u32::from(value);
        self.len = self.len.wrapping_add(1);
        if self.len == 4 {
            let [_, a, b, c] = self.bits.to_be_bytes();
            out.extend_from_slice(&[a, b, c]);
            (self.bits, self.len) = (0, 0);
        }
        Some(())
    }

    /// Reads the remaining digits.
    pub(crate) fn finish(&self, out: &mut Vec<u8>) -> Result<(), Base64Error> {
        if self.padding > 0 && self.len.saturating_add(self.padding) != 4 {
            return Err(Base64Error::Length);
        }
        match self.len {
            0 => {}
            2 => out.push((self.bits >> 4) as u8),
            3 => out.extend_from_slice(&[(self.bits >> 10) as u8, (self.bits >> 2) as u8]),
            _ => return Err(Base64Error::Length),
        }
        Ok(())
    }
}

/// Reads groups of four digits until one is something else, and returns how many there were.
fn decode_quads(quads: &[[u8; 4]], out: &mut Vec<u8>) -> usize {
    const AT_ONCE: usize = 256;
    let value = |character: u8| VALUES.get(usize::from(character)).copied().unwrap_or(NONE);
    let mut done = 0_usize;
    let mut buffer = [[0_u8; 3]; AT_ONCE];
    for quads in quads.chunks(AT_ONCE) {
        let mut read = 0_usize;
        for (triple, &[a, b, c, d]) in buffer.iter_mut().zip(quads) {
            let [a, b, c, d] = [value(a), value(b), value(c), value(d)];
            if (a | b | c | d) & 0x80 != 0 {
                break;
            }
            *triple = [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d];
            read = read.wrapping_add(1);
        }
        out.extend_from_slice(buffer.get(..read).unwrap_or_default().as_flattened());
        done = done.wrapping_add(read);
        if read < quads.len() {
            break;
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(pieces: &[&[u8]]) -> String {
        let (mut encoder, mut text) = (Encoder::default(), Vec::new());
        for piece in pieces {
            encoder.encode(piece, |more| text.extend_from_slice(more));
        }
        encoder.finish(|more| text.extend_from_slice(more));
        String::from_utf8(text).unwrap()
    }

    fn decode(pieces: &[&[u8]]) -> Result<Vec<u8>, Base64Error> {
        let (mut decoder, mut bytes) = (Decoder::default(), Vec::new());
        for piece in pieces {
            decoder.decode(piece, &mut bytes)?;
        }
        decoder.finish(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn the_examples_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(&[bytes.as_bytes()]), text);
            assert_eq!(decode(&[text.as_bytes()]).unwrap(), bytes.as_bytes());
            assert_eq!(decode(&[text.trim_end_matches('=').as_bytes()]).unwrap(), bytes.as_bytes());
        }
        assert_eq!(decode(&[b"-_+/"]).unwrap(), [0xfb, 0xff, 0xbf]);
    }

    #[test]
    fn pieces_may_end_anywhere() {
        let bytes: Vec<u8> = (0..3000_u32).map(|number| (number * 7 % 251) as u8).collect();
        let text = encode(&[&bytes]);
        for split in 0..bytes.len() {
            let (first, second) = bytes.split_at(split);
            assert_eq!(encode(&[first, second]), text);
            let (first, second) = text.as_bytes().split_at(split);
            assert_eq!(decode(&[first, second]).unwrap(), bytes);
        }
    }

    #[test]
    fn what_is_not_base64_is_refused() {
        for (text, error) in [
            ("Zm9v!mFy", Base64Error::Character(4)),
            ("Zg=", Base64Error::Length),
            ("Z", Base64Error::Length),
            ("Zg===", Base64Error::Character(4)),
            ("Zg==Zg==", Base64Error::Character(4)),
            ("=", Base64Error::Character(0)),
            ("Z=", Base64Error::Character(1)),
            ("Zm9v\n", Base64Error::Character(4)),
        ] {
            assert_eq!(decode(&[text.as_bytes()]), Err(error), "{text}");
        }
    }
}
