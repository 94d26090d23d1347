//! Patterns of RE2 in the syntax of the crate `regex`, which is of the same family and as linear.
//!
//! `\d`, `\s`, `\w` and word boundaries are those of ASCII; brackets, `&` and `~` in a class are ordinary characters. What
//! RE2 refuses fails here too: repetitions of repetitions, more than 1000 of them, and names and escapes of the crate only.
//! `\Q`, `\C`, surrogates and repetitions right after flags (`a(?i)*`) are reported as unsupported. Names of groups have no
//! effect and are left out.

use crate::cx::{Outcome, Stop};

/// How often RE2 repeats at most, nested repetitions multiplied.
const MOST_REPETITIONS: u32 = 1000;

const CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// The general categories of RE2; the crate has more.
const CATEGORIES: &str = "\
    C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs Any";

/// The scripts of RE2, in its spelling; the crate has more names and spellings.
const SCRIPTS: &str = "\
    Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki \
    Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee \
    Chorasmian Common Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan \
    Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi \
    Gurmukhi Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited \
    Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi \
    Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani \
    Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui \
    Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari \
    New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian \
    Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong \
    Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian \
    Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le \
    Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai \
    Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square";

/// The same pattern in the syntax of the crate `regex`, and how often it repeats a part of it at most.
///
/// # Errors
///
/// Returns an error if RE2 refuses the pattern, or the crate has no equivalent. Not every error is found here: the crate finds
/// those that both have.
pub(super) fn translate(pattern: &str) -> Outcome<(String, u32)> {
    let mut translation = Translation {
        rest: pattern,
        out: String::with_capacity(pattern.len()),
        open: vec![1],
        last: 1,
        is_repeated: false,
    };
    while !translation.rest.is_empty() {
        translation.is_repeated = match repetition(translation.rest) {
            Some(repetition) => {
                translation.repeat(&repetition)?;
                true
            }
            None => {
                translation.element()?;
                false
            }
        };
    }
    let most = translation.open.iter().copied().max().unwrap_or(1);
    Ok((translation.out, most))
}

struct Translation<'p> {
    rest: &'p str,
    out: String,
    /// The greatest product of nested repetitions in the pattern and in each open group.
    open: Vec<u32>,
    /// The same product in the last element.
    last: u32,
    /// Whether the last element is a repetition.
    is_repeated: bool,
}

/// A repetition at the beginning of a text.
struct Repetition {
    /// Bytes of it.
    length: usize,
    /// The bounds in braces; the upper one may be omitted.
    counts: Option<(u32, Option<u32>)>,
}

/// The repetition at the beginning of a text; RE2 takes other braces literally, also around numbers with a leading 0.
fn repetition(text: &str) -> Option<Repetition> {
    if text.starts_with(['*', '+', '?']) {
        return Some(Repetition { length: 1, counts: None });
    }
    let (counts, _) = text.strip_prefix('{')?.split_once('}')?;
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let is_short = digits.len() == 1 || !digits.starts_with('0');
        (is_number && is_short).then(|| digits.parse().unwrap_or(u32::MAX))
    };
    let counts = match counts.split_once(',') {
        Some((least, "")) => (number(least)?, None),
        Some((least, most)) => (number(least)?, Some(number(most)?)),
        None => (number(counts)?, Some(number(counts)?)),
    };
    let length = text.find('}')? + 1;
    Some(Repetition { length, counts: Some(counts) })
}

fn unsupported(what: &str) -> Stop {
    Stop::unsupported(format_args!("a pattern with {what}"))
}

impl<'p> Translation<'p> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn repeat(&mut self, repetition: &Repetition) -> Outcome {
        if self.is_repeated {
            return Err(Stop::failed("the pattern repeats a repetition"));
        }
        if let Some((least, most)) = repetition.counts {
            let most = most.unwrap_or(least);
            self.last = self.last.saturating_mul(most.max(1));
            if most < least || least > MOST_REPETITIONS || most >= 2 && self.last > MOST_REPETITIONS {
                return Err(Stop::failed(format_args!(
                    "the pattern repeats more than {MOST_REPETITIONS} times, or its counts are not in order"
                )));
            }
            self.raise();
        }
        let (counts, rest) = self.rest.split_at(repetition.length);
        self.out.push_str(counts);
        self.rest = rest;
        if let Some(rest) = self.rest.strip_prefix('?') {
            self.out.push('?');
            self.rest = rest;
        }
        Ok(())
    }

    /// Notes the product of the last element in the group around it.
    fn raise(&mut self) {
        if let Some(most) = self.open.last_mut() {
            *most = self.last.max(*most);
        }
    }

    /// Translates an element, or a part of a group.
    fn element(&mut self) -> Outcome {
        self.last = 1;
        match self.next() {
            Some('\\') => self.escape()?,
            Some('[') => self.class()?,
            Some('(') => self.group()?,
            Some(')') => {
                // The crate finds a surplus bracket.
                if self.open.len() > 1 {
                    self.last = self.open.pop().unwrap_or(1);
                    self.raise();
                }
                self.out.push(')');
            }
            Some(next @ ('|' | '^' | '$' | '.')) => self.out.push(next),
            Some(next) => self.literal(next),
            None => {}
        }
        Ok(())
    }

    /// Appends a character that means itself, in a class too.
    fn literal(&mut self, character: char) {
        self.out.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
    }

    /// Translates the beginning of a group, after the bracket: a name, or flags.
    fn group(&mut self) -> Outcome {
        self.open.push(1);
        self.out.push('(');
        let Some(rest) = self.rest.strip_prefix('?') else { return Ok(()) };
        if let Some(named) = rest.strip_prefix("P<").or_else(|| rest.strip_prefix('<')) {
            let (name, rest) = named.split_once('>').unwrap_or_default();
            if name.is_empty() || !name.chars().all(|letter| letter == '_' || letter.is_alphanumeric()) {
                return Err(Stop::failed("the pattern has a group with a wrong name"));
            }
            self.rest = rest;
            return Ok(());
        }
        let end = rest.find(|flag| !matches!(flag, 'i' | 'm' | 's' | 'U' | '-')).unwrap_or(rest.len());
        let (flags, rest) = rest.split_at(end);
        if !rest.starts_with([':', ')']) {
            return Err(unsupported("a group of another kind"));
        }
        self.out.push('?');
        self.out.push_str(flags);
        self.rest = rest;
        if let Some(rest) = rest.strip_prefix(':') {
            self.out.push(':');
            self.rest = rest;
        }
        Ok(())
    }

    /// Translates the escape after a backslash, outside of a class.
    fn escape(&mut self) -> Outcome {
        let text = match self.rest.chars().next() {
            Some('b') => r"(?-u:\b)",
            Some('B') => r"(?-u:\B)",
            Some('A') => r"\A",
            Some('z') => r"\z",
            Some('Q' | 'C') => return Err(unsupported(r"`\Q` or `\C`")),
            _ if self.set()? => return Ok(()),
            _ => {
                let character = self.character()?;
                self.literal(character);
                return Ok(());
            }
        };
        self.out.push_str(text);
        self.rest = &self.rest[1..];
        Ok(())
    }

    /// Translates the escape of a set of characters, after the backslash; `false` if none begins.
    fn set(&mut self) -> Outcome<bool> {
        let text = match self.rest.chars().next() {
            Some('d') => "[0-9]",
            Some('D') => "[^0-9]",
            Some('w') => "[0-9A-Za-z_]",
            Some('W') => "[^0-9A-Za-z_]",
            Some('s') => r"[\t\n\f\r ]",
            Some('S') => r"[^\t\n\f\r ]",
            Some(sign @ ('p' | 'P')) => {
                self.rest = &self.rest[1..];
                self.property(sign == 'P')?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.out.push_str(text);
        self.rest = &self.rest[1..];
        Ok(true)
    }

    /// Translates the name of a set of characters of Unicode.
    fn property(&mut self, is_negated: bool) -> Outcome {
        let wrong = || Stop::failed("the pattern names no category and no script that RE2 has");
        let (name, rest, is_inverted) = match self.rest.strip_prefix('{') {
            Some(braced) => {
                let (name, rest) = braced.split_once('}').ok_or_else(wrong)?;
                name.strip_prefix('^').map_or((name, rest, false), |name| (name, rest, true))
            }
            None => {
                let length = self.rest.chars().next().ok_or_else(wrong)?.len_utf8();
                let (name, rest) = self.rest.split_at(length);
                (name, rest, false)
            }
        };
        if !CATEGORIES.split(' ').chain(SCRIPTS.split(' ')).any(|known| known == name) {
            return Err(wrong());
        }
        let sign = if is_negated == is_inverted { "" } else { "^" };
        // Characters that are not assigned belong to the category C only for the crate.
        let names = if name == "C" { r"\p{Cc}\p{Cf}\p{Co}".to_owned() } else { format!(r"\p{{{name}}}") };
        self.out.push_str(&format!("[{sign}{names}]"));
        self.rest = rest;
        Ok(())
    }

    /// The character that an escape stands for, after the backslash.
    fn character(&mut self) -> Outcome<char> {
        let wrong = || Stop::failed("the pattern has an escape that RE2 does not have");
        let code = match self.next().ok_or_else(wrong)? {
            'a' => 0x07,
            'f' => 0x0c,
            'n' => 0x0a,
            'r' => 0x0d,
            't' => 0x09,
            'v' => 0x0b,
            'x' => {
                let (digits, rest) = match self.rest.strip_prefix('{') {
                    Some(braced) => braced.split_once('}').ok_or_else(wrong)?,
                    None => self.rest.split_at_checked(2).ok_or_else(wrong)?,
                };
                self.rest = rest;
                let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_number);
                code.filter(|&code| code <= char::MAX.into()).ok_or_else(wrong)?
            }
            first @ '0'..='7' => {
                let is_octal = |digit: &u8| matches!(digit, b'0'..=b'7');
                let count = self.rest.bytes().take(2).take_while(is_octal).count();
                // A single digit refers to a group, which RE2 does not have.
                if first != '0' && count == 0 {
                    return Err(wrong());
                }
                let (digits, rest) = self.rest.split_at(count);
                self.rest = rest;
                u32::from_str_radix(&format!("{first}{digits}"), 8).map_err(|_| wrong())?
            }
            next if next.is_ascii() && !next.is_ascii_alphanumeric() => next.into(),
            _ => return Err(wrong()),
        };
        char::from_u32(code).ok_or_else(|| unsupported("a surrogate"))
    }

    /// Translates a class, after its bracket.
    fn class(&mut self) -> Outcome {
        self.out.push('[');
        if let Some(rest) = self.rest.strip_prefix('^') {
            self.out.push('^');
            self.rest = rest;
        }
        let mut is_first = true;
        while is_first || !self.rest.starts_with(']') {
            is_first = false;
            if self.named_class()? {
                continue;
            }
            if let Some(rest) = self.rest.strip_prefix('\\') {
                let before = std::mem::replace(&mut self.rest, rest);
                if self.set()? {
                    continue;
                }
                self.rest = before;
            }
            let low = self.class_character()?;
            self.literal(low);
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            if is_range && self.rest.len() > 1 {
                self.rest = &self.rest[1..];
                let high = self.class_character()?;
                if high < low {
                    return Err(Stop::failed("the pattern has a range that ends before it begins"));
                }
                self.out.push('-');
                self.literal(high);
            }
        }
        self.out.push(']');
        self.rest = &self.rest[1..];
        Ok(())
    }

    /// Translates `[:name:]`; `false` if none begins.
    fn named_class(&mut self) -> Outcome<bool> {
        let Some((name, rest)) = self.rest.strip_prefix("[:").and_then(|named| named.split_once(":]")) else {
            return Ok(false);
        };
        if !CLASSES.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(Stop::failed("the pattern names no class that RE2 has"));
        }
        self.out.push_str(&format!("[:{name}:]"));
        self.rest = rest;
        Ok(true)
    }

    fn class_character(&mut self) -> Outcome<char> {
        match self.next() {
            Some('\\') => self.character(),
            Some(next) => Ok(next),
            None => Err(Stop::failed("the pattern has a class without an end")),
        }
    }
}

#[cfg(test)]
mod tests {
    use regex::bytes::Regex;

    use super::*;

    fn is_match(pattern: &str, text: &str) -> bool {
        Regex::new(&format!(r"\A(?:{})\z", translate(pattern).unwrap().0)).unwrap().is_match(text.as_bytes())
    }

    /// What RE2's documentation of its syntax says about each pattern.
    #[test]
    fn patterns_mean_what_they_mean_in_re2() {
        assert!(is_match("a|ab", "ab"));
        assert!(is_match(r"\d+", "42") && !is_match(r"\d", "\u{663}"));
        assert!(is_match(r"\w", "a") && !is_match(r"\w", "ä"));
        assert!(is_match(".", "ä") && !is_match(".", "\n") && is_match("(?s).", "\n"));
        assert!(is_match(r"\s", " ") && !is_match(r"\s", "\u{b}"));
        assert!(is_match(r"[\D]", "x") && !is_match(r"[\D]", "1"));
        assert!(is_match("[[a&&b]+", "[a&b") && is_match("[]a]+", "]a") && is_match("[^]a]", "b"));
        assert!(is_match("[[:alpha:]_]+", "ab_"));
        assert!(is_match("a{,2}", "a{,2}") && is_match("a{2}", "aa") && is_match("a{", "a{"));
        assert!(is_match(r"a\b b", "a b") && is_match("(?i)Ä", "ä"));
    }

    #[test]
    fn names_and_numbers_of_characters() {
        assert!(is_match(r"\p{L}+\pN", "äa1") && is_match(r"\p{Greek}", "α") && !is_match(r"\p{Greek}", "a"));
        assert!(is_match(r"\P{Lu}", "a") && !is_match(r"\P{Lu}", "A"));
        assert!(
            is_match(r"\p{^L}\P{^L}", "1a") && is_match(r"[\p{^L}x]+", "1x") && !is_match(r"\p{^L}", "a")
        );
        // Not assigned, which is no category of RE2.
        assert!(!is_match(r"\pC", "\u{378}") && is_match(r"\PC", "\u{378}") && is_match(r"\pC", "\0"));
        assert!(is_match(r"\x{10FFFF}", "\u{10ffff}") && is_match(r"\x{1F}\x41", "\u{1f}A"));
        assert!(is_match(r"\101\12\0\400", "A\n\0\u{100}"));
        assert!(is_match(r"\<\>\ \_\-", "<> _-") && is_match(r"[\<\]]+", "<]"));
    }

    #[test]
    fn classes_have_ranges_and_literals_as_in_re2() {
        assert!(is_match("[+--]", ",") && !is_match("[+--]", "."));
        assert!(is_match("[a-c-e]+", "b-e") && !is_match("[a-c-e]", "d"));
        assert!(is_match("[[:alpha]+", "[a:") && is_match(r"[\d-z]+", "5-z") && !is_match(r"[\d-z]", "p"));
        assert!(is_match("[a-]+", "a-") && is_match(r"[\v\a]+", "\u{b}\u{7}"));
    }

    #[test]
    fn repetitions_are_those_of_re2() {
        assert!(is_match("a*?", "aa") && is_match("a{2}?", "aa") && is_match("(?:a*)+?", "aa"));
        assert!(is_match("a{01}", "a{01}") && is_match("a{1,02}", "a{1,02}"));
        assert!(is_match("((a{10}){10}){0}b", "b") && translate("((a{10}){10}){10}").is_ok());
        assert!(translate("(a{1,1000}){1,1}").is_ok() && translate("(a{1000}){0,1}").is_ok());
        assert!(is_match("(?P<n>a)(?<n>b)(?P<1>c)", "abc"));
    }

    /// onnxruntime 1.31.1 refuses all of them, or the crate has no equivalent.
    #[test]
    fn what_only_one_of_them_has_is_refused() {
        let patterns = [
            r"\Qa\E",
            r"\1",
            r"\18",
            "(?x)a",
            "[a--b]",
            "(?=a)",
            r"\C",
            "a\\",
            "a**",
            "x*+",
            "a*??",
            "a{2}{3}",
            "a{1001}",
            "a{100000000}",
            "a{2,1}",
            "(a{1000}){2}",
            "(a{2,}){501}",
            "((a{10})*){101}",
            "(a{10}|b{101}){10}",
            r"\p{l}",
            r"\p{Letter}",
            r"\p{Grek}",
            r"\p{Cn}",
            r"\p{^^L}",
            r"\p{L",
            r"\p",
            r"\x{110000}",
            r"\x{}",
            r"\x1",
            r"\xg1",
            r"\x{+1}",
            r"\x{D800}",
            r"\Z",
            "[[:foo:]]",
            r"[a-\d]",
            "[]",
            "[z-a]",
            r"[\b]",
            "(?P<a.b>a)",
            "(?P<>a)",
            r"\é",
        ];
        for pattern in patterns {
            assert!(translate(pattern).is_err(), "{pattern}");
        }
    }
}
