//! Times in the format that a mapping sets; `meteragent.formats.times` says what they mean.

use crate::moment::{self, DAY};
use crate::record::LATEST;
use crate::text;

/// Of seconds, milliseconds, microseconds and nanoseconds since the epoch, each up to its double.
const SIZES: [i64; 4] = [
    1_000_000_000,
    1_000_000_000_000,
    1_000_000_000_000_000,
    1_000_000_000_000_000_000,
];
/// Digits of a decimal that a double says again as it was written.
const SAID_AGAIN: usize = 15;

/// Below it every whole number is a double.
const EXACT: f64 = 1e15;

/// How times are written.
#[derive(Debug, PartialEq)]
pub enum Written {
    /// As ISO, or as a number of a size that says what it is.
    Auto,
    /// As ISO.
    Iso,
    /// As seconds.
    Seconds,
    /// As milliseconds.
    Milliseconds,
    /// As a pattern says.
    Pattern(Vec<Part>),
}

/// A part of a pattern.
#[derive(Debug, PartialEq)]
pub enum Part {
    /// A letter that stands for itself.
    Letter(u8),
    /// So many figures, of one of the parts of a time.
    Figures(usize, usize),
}

const DIRECTIVES: [(u8, usize); 6] = [
    (b'Y', 4),
    (b'm', 2),
    (b'd', 2),
    (b'H', 2),
    (b'M', 2),
    (b'S', 2),
];

impl Written {
    /// The format of this name; nothing if it is a pattern with parts that are read elsewhere.
    pub fn named(form: &str) -> Option<Self> {
        match form {
            "auto" => Some(Written::Auto),
            "iso" => Some(Written::Iso),
            "unix" => Some(Written::Seconds),
            "unix_ms" => Some(Written::Milliseconds),
            _ => pattern(form.as_bytes()).map(Written::Pattern),
        }
    }
}

fn pattern(form: &[u8]) -> Option<Vec<Part>> {
    let (mut parts, mut seen, mut rest) = (Vec::new(), [false; 6], form);
    while let Some((letter, after)) = rest.split_first() {
        rest = after;
        if *letter != b'%' {
            parts.push(letter.is_ascii().then_some(Part::Letter(*letter))?);
            continue;
        }
        let (directive, after) = rest.split_first()?;
        rest = after;
        let which = DIRECTIVES.iter().position(|(name, _)| name == directive)?;
        if seen[which] {
            return None;
        }
        seen[which] = true;
        parts.push(Part::Figures(which, DIRECTIVES[which].1));
    }
    (seen[..3] == [true; 3]).then_some(parts)
}

/// Of which zone times are that do not say theirs.
#[derive(Debug, PartialEq)]
pub enum Zone {
    /// Of none: there are no such times.
    Unknown,
    /// Of Greenwich.
    Utc,
    /// Of another, which Python knows.
    Other,
}

/// How times are read.
#[derive(Debug)]
pub struct Times {
    /// How they are written.
    pub written: Written,
    /// Of which zone they are.
    pub zone: Zone,
    /// By how many milliseconds a reading began before its stamp.
    pub earlier: i64,
}

/// A time that a zone is perhaps still to be taken from, and what it begins with from its stamp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stamp {
    /// As it is written.
    pub at: i64,
    /// Whether it is of the zone that Python knows.
    pub is_local: bool,
}

impl Times {
    /// What a text says; blanks around it say nothing.
    pub fn of_text(&self, text: &[u8]) -> Option<Stamp> {
        let text = text.trim_ascii();
        match &self.written {
            Written::Iso => self.moment(text),
            Written::Auto => match decimal(text) {
                Some((whole, fraction)) => self.by_size(whole, fraction),
                None => self.moment(text),
            },
            Written::Seconds | Written::Milliseconds => {
                let (whole, fraction) = decimal(text)?;
                self.counted(whole, fraction)
            }
            Written::Pattern(parts) => self.local(by_pattern(parts, text)?),
        }
    }

    /// What a number of JSON says, which is this one: digits, perhaps with a point in them.
    pub fn of_token(&self, token: &[u8], number: f64) -> Option<Stamp> {
        if number >= 1.0 && number < EXACT && number.fract() == 0.0 && token.len() <= SAID_AGAIN {
            if let Some(found) = self.of_whole(number as i64) {
                return Some(found);
            }
        }
        if token.contains(&b'.') {
            let is_said_again = token.len() <= SAID_AGAIN + 1 && token[0] != b'0';
            if !is_said_again || matches!(self.written, Written::Pattern(_)) {
                return None;
            }
        }
        self.of_text(token)
    }

    /// What a whole number says.
    pub fn of_whole(&self, number: i64) -> Option<Stamp> {
        match self.written {
            Written::Auto => self.by_size(number, 0),
            Written::Seconds | Written::Milliseconds => self.counted(number, 0),
            _ => None,
        }
    }

    fn moment(&self, text: &[u8]) -> Option<Stamp> {
        let found = moment::iso(text)?;
        if found.is_local {
            self.local(found.milliseconds)
        } else {
            self.fitting(found.milliseconds)
        }
    }

    /// A number of seconds or milliseconds, as is set; of a fraction its thousandths.
    fn counted(&self, whole: i64, fraction: i64) -> Option<Stamp> {
        match self.written {
            Written::Seconds => self.fitting(whole.checked_mul(1000)?.checked_add(fraction)?),
            _ => self.fitting(whole),
        }
    }

    fn by_size(&self, whole: i64, fraction: i64) -> Option<Stamp> {
        let which = SIZES
            .iter()
            .position(|size| (*size..2 * size).contains(&whole))?;
        self.fitting(match which {
            0 => whole * 1000 + fraction,
            1 => whole,
            2 => whole / 1000,
            _ => whole / 1_000_000,
        })
    }

    /// A time of the zone that is set, if there is one.
    fn local(&self, at: i64) -> Option<Stamp> {
        match self.zone {
            Zone::Unknown => None,
            Zone::Utc => self.fitting(at),
            // Far enough from both ends, whatever the zone.
            Zone::Other => {
                let fits = (self.earlier + 2 * DAY..=LATEST - 2 * DAY).contains(&at);
                fits.then_some(Stamp { at, is_local: true })
            }
        }
    }

    fn fitting(&self, at: i64) -> Option<Stamp> {
        let fits = (self.earlier..=LATEST).contains(&at);
        fits.then_some(Stamp {
            at,
            is_local: false,
        })
    }
}

/// Digits, and the thousandths that the digits behind a point make, if there is one.
fn decimal(text: &[u8]) -> Option<(i64, i64)> {
    if let Some((whole, [])) = text::whole(text) {
        return Some((whole, 0));
    }
    let digits = text
        .iter()
        .take_while(|digit| digit.is_ascii_digit())
        .count();
    let (whole, rest) = text.split_at(digits);
    if !(1..=19).contains(&digits) {
        return None;
    }
    let whole = whole.iter().try_fold(0i64, |found, digit| {
        found.checked_mul(10)?.checked_add(i64::from(digit - b'0'))
    })?;
    let Some((point, fraction)) = rest.split_first() else {
        return Some((whole, 0));
    };
    if *point != b'.' || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let kept = fraction.len().min(3);
    Some((
        whole,
        moment::figures(fraction, 0, kept)? * [1, 100, 10, 1][kept],
    ))
}

/// Milliseconds since the epoch of the zone that it is of; nothing if it is not surely a time.
fn by_pattern(parts: &[Part], text: &[u8]) -> Option<i64> {
    let (mut found, mut at) = ([0; 6], 0);
    for part in parts {
        match part {
            Part::Letter(letter) => {
                (text.get(at) == Some(letter)).then_some(())?;
                at += 1;
            }
            Part::Figures(which, width) => {
                found[*which] = moment::figures(text, at, *width)?;
                at += width;
            }
        }
    }
    let [year, month, day, hour, minute, second] = found;
    if at != text.len() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let day = moment::day_number(year, month, day)?;
    Some((((day * 24 + hour) * 60 + minute) * 60 + second) * 1000)
}
