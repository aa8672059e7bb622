//! JSON's strings, numbers and white space, as far as they are plain.

/// Digits that are exact in a double, whatever they are.
const EXACT: usize = 15;
/// What is longer is left to Python.
const LONGEST_NUMBER: usize = 64;
/// Lists and objects within each other; what is deeper is left to Python.
const DEEPEST: usize = 64;
const TENS: [f64; 16] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
];

const ONES: u64 = u64::MAX / 255;
const HIGH: u64 = ONES << 7;

/// Eight letters at once: the lowest high bit that is set is that of the first that is this one.
fn is_one(letters: u64, letter: u8) -> u64 {
    let zero = letters ^ (ONES * u64::from(letter));
    zero.wrapping_sub(ONES) & !zero & HIGH
}

/// The same, of every one: no carry goes from one letter to the next.
fn every(letters: u64, letter: u8) -> u64 {
    let others = letters ^ (ONES * u64::from(letter));
    let lower = (others & !HIGH) + (ONES * 0x7f);
    !(lower | others) & HIGH
}

/// The first eight bytes, or all that there are; never through memory, which would wait for them.
#[inline]
pub fn word(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_le_bytes(*eight);
    }
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            u64::from(first) | u64::from(last) << (8 * (bytes.len() - 4))
        }
        _ => bytes
            .iter()
            .rfold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// Where a letter stands first.
#[inline]
pub fn find(text: &[u8], letter: u8) -> Option<usize> {
    let mut at = 0;
    while let Some(eight) = text[at..].first_chunk::<8>() {
        let found = is_one(u64::from_le_bytes(*eight), letter);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = text[at..].iter().position(|one| *one == letter);
    rest.map(|rest| at + rest)
}

/// Where either of two letters stands, from the left to the right.
pub struct Either<'a> {
    text: &'a [u8],
    letters: [u8; 2],
    /// Where the next eight begin, and which of the last ones are either.
    at: usize,
    found: u64,
}

impl<'a> Either<'a> {
    /// In this text.
    #[inline]
    pub fn of(text: &'a [u8], letters: [u8; 2]) -> Self {
        Either {
            text,
            letters,
            at: 0,
            found: 0,
        }
    }
}

impl Iterator for Either<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let [one, other] = self.letters;
        while self.found == 0 {
            let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
            let (letters, beyond) = match rest.first_chunk::<8>() {
                Some(eight) => (u64::from_le_bytes(*eight), 0),
                None => (word(rest), u64::MAX << (8 * rest.len())),
            };
            self.found = (every(letters, one) | every(letters, other)) & !beyond;
            self.at += 8;
        }
        let nth = self.found.trailing_zeros() as usize / 8;
        self.found &= self.found - 1;
        Some(self.at - 8 + nth)
    }
}

/// How many letters come before a quote, a backslash, or what is not printable ASCII.
pub fn plain_letters(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(eight) = text[at..].first_chunk::<8>() {
        let letters = u64::from_le_bytes(*eight);
        let low = letters.wrapping_sub(ONES * 0x20) & !letters & HIGH;
        let stops = is_one(letters, b'"') | is_one(letters, b'\\') | is_one(letters, 0x7f);
        let found = stops | low | letters & HIGH;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let is_plain = |letter: &&u8| matches!(letter, 0x20..0x7f) && !matches!(letter, b'"' | b'\\');
    at + text[at..].iter().take_while(is_plain).count()
}

/// Whether texts of the same length are the same; sooner than by a call, if they are short.
#[inline]
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let words = |text: &[u8]| Some((text.first_chunk().map(word)?, text.last_chunk().map(word)?));
    let half = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
    let halves = |text: &[u8]| Some((text.first_chunk().map(half)?, text.last_chunk().map(half)?));
    match one.len() {
        0..4 => one.iter().eq(other),
        4..8 => halves(one) == halves(other),
        8..=16 => words(one) == words(other),
        _ => one == other,
    }
}

/// Bytes of seven bits each, the last of which has no eighth -> a number, and how many they are.
///
/// Nothing: there are more than `most` of them, or not as many as it says.
#[inline]
pub fn sevens(bytes: &[u8], most: usize) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    match bytes.get(1) {
        Some(second @ ..0x80) if most > 1 => {
            Some((u64::from(first & 0x7f) | u64::from(*second) << 7, 2))
        }
        _ => longer_sevens(bytes, most),
    }
}

fn longer_sevens(bytes: &[u8], most: usize) -> Option<(u64, usize)> {
    if let Some(eight) = bytes.first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight);
        let ends = !word & HIGH;
        if ends != 0 {
            let length = ends.trailing_zeros() / 8 + 1;
            let kept = word & (u64::MAX >> (64 - 8 * length)) & !HIGH;
            let pairs = kept & 0x007f_007f_007f_007f | (kept & 0x7f00_7f00_7f00_7f00) >> 1;
            let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
            let found = fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4;
            return (length as usize <= most).then_some((found, length as usize));
        }
    }
    let mut found = 0;
    for (nth, byte) in bytes.iter().take(most).enumerate() {
        found |= u64::from(byte & 0x7f) << (7 * nth);
        if *byte < 0x80 {
            return Some((found, nth + 1));
        }
    }
    None
}

/// A number whose sign comes last.
#[inline]
pub fn zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Eight digits at once, if they are.
fn eight_digits(text: &[u8]) -> Option<u64> {
    let letters = u64::from_le_bytes(*text.first_chunk::<8>()?);
    let are_threes = |letters: u64| letters & (ONES * 0xf0) == ONES * 0x30;
    if !are_threes(letters) || !are_threes(letters.wrapping_add(ONES * 6)) {
        return None;
    }
    let digits = letters & (ONES * 0x0f);
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

/// A whole number of at most 16 digits that is not negative, and what comes after it.
pub fn whole(text: &[u8]) -> Option<(i64, &[u8])> {
    let (mut found, mut digits) = (0, 0);
    if let Some(eight) = eight_digits(text) {
        (found, digits) = (eight as i64, 8);
    }
    while let Some(digit @ b'0'..=b'9') = text.get(digits) {
        found = found * 10 + i64::from(digit - b'0');
        digits += 1;
        if digits > 16 {
            return None;
        }
    }
    let led_by_zero = digits > 1 && text[0] == b'0';
    (digits > 0 && !led_by_zero).then_some((found, &text[digits..]))
}

/// A finite number, rounded as correctly as Python does it.
fn parsed(text: &[u8]) -> Option<f64> {
    let found: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    found.is_finite().then_some(found)
}

/// A finite number as people and tables write it: `+7`, `.5`, `7.`, `1e3`; nothing else for sure.
pub fn decimal(text: &[u8]) -> Option<f64> {
    let unsigned = text
        .strip_prefix(b"-")
        .or_else(|| text.strip_prefix(b"+"))
        .unwrap_or(text);
    let (mut mantissa, mut digits, mut parts, mut has_point) = (0u64, 0, 0, false);
    for letter in unsigned {
        match letter {
            b'0'..=b'9' => {
                mantissa = mantissa
                    .wrapping_mul(10)
                    .wrapping_add(u64::from(letter - b'0'));
                digits += 1;
                parts += usize::from(has_point);
            }
            b'.' if !has_point => has_point = true,
            b'e' | b'E' if digits > 0 && text.len() <= LONGEST_NUMBER => return powered(text),
            _ => return None,
        }
    }
    if digits == 0 || text.len() > LONGEST_NUMBER {
        return None;
    }
    if digits > EXACT {
        return parsed(text);
    }
    let found = mantissa as f64 / TENS[parts];
    Some(if text[0] == b'-' { -found } else { found })
}

/// The same with a power of ten.
fn powered(text: &[u8]) -> Option<f64> {
    let at = text
        .iter()
        .position(|letter| matches!(letter, b'e' | b'E'))?;
    let power = &text[at + 1..];
    let digits = power
        .strip_prefix(b"-")
        .or_else(|| power.strip_prefix(b"+"))
        .unwrap_or(power);
    let good = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    good.then(|| parsed(text)).flatten()
}

/// A place in a record.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// Where that is.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Go on behind these letters. Nothing: others come next.
    #[inline]
    pub fn follows(&mut self, letters: &[u8]) -> Option<()> {
        let next = self.bytes.get(self.at..self.at + letters.len())?;
        is_same(next, letters).then(|| self.at += letters.len())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The next letter that is no space; it is not taken.
    pub fn ahead(&mut self) -> Option<u8> {
        self.skip_space();
        self.peek()
    }

    /// Go on behind the letters that are plain, and answer with them.
    #[inline]
    pub fn letters(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        let length = plain_letters(rest);
        self.at += length;
        &rest[..length]
    }

    /// Go on behind a whole number of at most 16 digits that is not negative.
    #[inline]
    pub fn whole(&mut self) -> Option<i64> {
        let (found, rest) = whole(&self.bytes[self.at..])?;
        self.at = self.bytes.len() - rest.len();
        Some(found)
    }

    /// Go on behind a value of any kind; sooner, if it is a plain text.
    #[inline]
    pub fn passed_by(&mut self) -> Option<()> {
        if self.peek() == Some(b'"') {
            let after = self.at + 1 + plain_letters(&self.bytes[self.at + 1..]);
            if self.bytes.get(after) == Some(&b'"') {
                self.at = after + 1;
                return Some(());
            }
        }
        self.skipped().map(|_| ())
    }

    /// Take a letter, if it is the next one.
    pub fn take(&mut self, letter: u8) -> bool {
        let found = self.ahead() == Some(letter);
        self.at += usize::from(found);
        found
    }

    /// Take a word, if it is next.
    pub fn word(&mut self, word: &[u8]) -> bool {
        self.skip_space();
        let found = self.bytes[self.at..].starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    /// Whether nothing but spaces is left.
    pub fn is_done(&mut self) -> bool {
        self.ahead().is_none()
    }

    /// A string without escapes: its bytes, and whether they are all ASCII.
    pub fn string(&mut self) -> Option<(&'a [u8], bool)> {
        if !self.take(b'"') {
            return None;
        }
        let (rest, mut all) = (&self.bytes[self.at..], 0);
        let plain = plain_letters(rest);
        let length = plain
            + rest[plain..].iter().position(|letter| {
                all |= letter;
                matches!(letter, b'"' | b'\\' | 0..0x20)
            })?;
        if rest[length] != b'"' {
            return None;
        }
        self.at += length + 1;
        let (found, ascii) = (&rest[..length], all < 0x80);
        (ascii || std::str::from_utf8(found).is_ok()).then_some((found, ascii))
    }

    /// Go on behind a value of any kind, and answer with it. Nothing: it is not surely JSON.
    pub fn skipped(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let from = self.at;
        self.skip(DEEPEST)?;
        Some(&self.bytes[from..self.at])
    }

    fn skip(&mut self, deeper: usize) -> Option<()> {
        match self.ahead()? {
            b'"' => self.skip_string(),
            opening @ (b'{' | b'[') => self.skip_nested(opening, deeper.checked_sub(1)?),
            b't' => self.word(b"true").then_some(()),
            b'f' => self.word(b"false").then_some(()),
            b'n' => self.word(b"null").then_some(()),
            _ => self.token().map(|_| ()),
        }
    }

    fn skip_nested(&mut self, opening: u8, deeper: usize) -> Option<()> {
        let closing = opening + 2;
        self.at += 1;
        if self.take(closing) {
            return Some(());
        }
        loop {
            if opening == b'{' {
                (self.ahead() == Some(b'"')).then_some(())?;
                self.skip_string()?;
                self.take(b':').then_some(())?;
            }
            self.skip(deeper)?;
            if !self.take(b',') {
                return self.take(closing).then_some(());
            }
        }
    }

    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        let from = self.at;
        let mut all = 0;
        loop {
            self.at += plain_letters(self.bytes.get(self.at..)?);
            let letter = self.peek()?;
            self.at += 1;
            all |= letter;
            match letter {
                b'"' => break,
                b'\\' => self.skip_escape()?,
                0..0x20 => return None,
                _ => {}
            }
        }
        let text = &self.bytes[from..self.at];
        (all < 0x80 || std::str::from_utf8(text).is_ok()).then_some(())
    }

    fn skip_escape(&mut self) -> Option<()> {
        let letter = self.peek()?;
        self.at += 1;
        if letter == b'u' {
            let four = self.bytes.get(self.at..self.at + 4)?;
            self.at += 4;
            let is_half = matches!(four[0], b'd' | b'D'); // of a pair, perhaps
            return (four.iter().all(u8::is_ascii_hexdigit) && !is_half).then_some(());
        }
        matches!(
            letter,
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't'
        )
        .then_some(())
    }

    /// A list of numbers and nulls, one at least, behind those that there are.
    pub fn numbers(&mut self, watts: &mut Vec<f64>) -> Option<()> {
        if !self.take(b'[') {
            return None;
        }
        loop {
            let found = if self.ahead() == Some(b'n') {
                self.word(b"null").then_some(f64::NAN)?
            } else {
                self.number()?
            };
            watts.push(found);
            if !self.take(b',') {
                return self.take(b']').then_some(());
            }
        }
    }

    /// A whole number that is not negative.
    pub fn natural(&mut self) -> Option<i64> {
        self.skip_space();
        let from = self.at;
        let mut found = 0i64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            found = found
                .checked_mul(10)?
                .checked_add(i64::from(digit - b'0'))?;
            self.at += 1;
        }
        let digits = self.at - from;
        let led_by_zero = digits > 1 && self.bytes[from] == b'0';
        let goes_on = matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        (digits > 0 && !led_by_zero && !goes_on).then_some(found)
    }

    fn digits(&mut self, number: &mut u64) -> usize {
        let from = self.at;
        if let Some(eight) = eight_digits(&self.bytes[from..]) {
            *number = number.wrapping_mul(100_000_000).wrapping_add(eight);
            self.at += 8;
        }
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            *number = number
                .wrapping_mul(10)
                .wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        self.at - from
    }

    /// A finite number.
    ///
    /// Few digits are a whole number and a power of ten that doubles hold exactly, so that one
    /// division rounds once. The library rounds all others as correctly.
    pub fn number(&mut self) -> Option<f64> {
        self.token().map(|(_, number)| number)
    }

    /// The same, behind how it is written.
    #[inline(always)]
    pub fn token(&mut self) -> Option<(&'a [u8], f64)> {
        self.skip_space();
        let from = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let (first, mut mantissa) = (self.at, 0u64);
        let whole = self.digits(&mut mantissa);
        if whole == 0 || (whole > 1 && self.bytes[first] == b'0') {
            return None;
        }
        let mut parts = 0;
        let has_point = self.peek() == Some(b'.');
        if has_point {
            self.at += 1;
            parts = self.digits(&mut mantissa);
            if parts == 0 {
                return None;
            }
        }
        let has_power = matches!(self.peek(), Some(b'e' | b'E'));
        if has_power {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            if self.digits(&mut 0) == 0 {
                return None;
            }
        }
        let text = &self.bytes[from..self.at];
        if !has_power && whole + parts <= EXACT {
            let found = mantissa as f64 / TENS[parts];
            let no_zero = has_point || mantissa != 0; // a whole number has no negative zero
            return Some((text, if negative && no_zero { -found } else { found }));
        }
        if !(has_point || has_power) || text.len() > LONGEST_NUMBER {
            return None; // a large whole number is rounded by Python
        }
        parsed(text).map(|found| (text, found))
    }
}
