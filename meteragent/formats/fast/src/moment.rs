//! Times as ISO 8601 and RFC 3339 write them -> milliseconds since the epoch.

/// The milliseconds of a day.
pub const DAY: i64 = 86_400_000;

/// So many figures as a number.
pub fn figures(text: &[u8], from: usize, count: usize) -> Option<i64> {
    text.get(from..from + count)?
        .iter()
        .try_fold(0, |found, digit| {
            digit
                .is_ascii_digit()
                .then(|| found * 10 + i64::from(digit - b'0'))
        })
}

fn stands(text: &[u8], at: usize, letter: u8) -> Option<()> {
    (text.get(at) == Some(&letter)).then_some(())
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since the epoch, by the calendar of March years; nothing if there is no such day.
pub fn day_number(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_day = year > 0 && (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let of_year = (153 * month + 2) / 5 + day - 1;
    is_day.then_some(365 * year + year / 4 - year / 100 + year / 400 + of_year - 719_468)
}

/// A time, and whether it is one of a zone that it does not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Since the epoch, or since the local time that looks like it.
    pub milliseconds: i64,
    /// Whether it says no zone.
    pub is_local: bool,
}

/// A time whose seconds and zone may be missing, rounded down; nothing if it is not surely one.
pub fn iso(text: &[u8]) -> Option<Moment> {
    for (at, letter) in [(4, b'-'), (7, b'-'), (13, b':')] {
        stands(text, at, letter)?;
    }
    let day = day_number(
        figures(text, 0, 4)?,
        figures(text, 5, 2)?,
        figures(text, 8, 2)?,
    )?;
    let (hour, minute) = (figures(text, 11, 2)?, figures(text, 14, 2)?);
    let (mut at, mut second, mut thousandths) = (16, 0, 0);
    if stands(text, at, b':').is_some() {
        second = figures(text, 17, 2)?;
        at = 19;
        if stands(text, at, b'.').is_some() {
            let parts = text[at + 1..]
                .iter()
                .take_while(|letter| letter.is_ascii_digit())
                .count();
            if !(1..=9).contains(&parts) {
                return None;
            }
            let kept = parts.min(3);
            thousandths = figures(text, at + 1, kept)? * [0, 100, 10, 1][kept];
            at += 1 + parts;
        }
    }
    if !matches!(text[10], b'T' | b' ') || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let ahead = match (text.get(at), text.len() - at) {
        (None, _) => None,
        (Some(b'Z'), 1) => Some(0),
        (Some(sign @ (b'+' | b'-')), 6) => {
            let (hours, minutes) = (figures(text, at + 1, 2)?, figures(text, at + 4, 2)?);
            stands(text, at + 3, b':')?;
            if hours > 23 || minutes > 59 {
                return None;
            }
            Some((hours * 60 + minutes) * if *sign == b'-' { -1 } else { 1 })
        }
        _ => return None,
    };
    let minutes = (day * 24 + hour) * 60 + minute - ahead.unwrap_or(0);
    Some(Moment {
        milliseconds: (minutes * 60 + second) * 1000 + thousandths,
        is_local: ahead.is_none(),
    })
}

/// Milliseconds of an RFC 3339 time, rounded down; nothing if it is not surely one.
pub fn milliseconds(text: &[u8]) -> Option<i64> {
    let found = iso(text)?;
    (text.get(16) == Some(&b':') && !found.is_local).then_some(found.milliseconds)
}
