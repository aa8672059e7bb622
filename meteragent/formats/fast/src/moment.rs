//! Times as RFC 3339 writes them -> milliseconds since the epoch.

fn figures(text: &[u8], from: usize, count: usize) -> Option<i64> {
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

/// Days since the epoch, by the calendar of March years.
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + of_year - 719_468
}

/// Milliseconds, rounded down; nothing if it is not surely a time.
pub fn milliseconds(text: &[u8]) -> Option<i64> {
    let (year, month, day) = (
        figures(text, 0, 4)?,
        figures(text, 5, 2)?,
        figures(text, 8, 2)?,
    );
    let (hour, minute, second) = (
        figures(text, 11, 2)?,
        figures(text, 14, 2)?,
        figures(text, 17, 2)?,
    );
    for (at, letter) in [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')] {
        stands(text, at, letter)?;
    }
    if !matches!(text[10], b'T' | b' ')
        || year == 0
        || !(1..=12).contains(&month)
        || !(1..=days_of(year, month)).contains(&day)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    let mut at = 19;
    let mut thousandths = 0;
    if stands(text, at, b'.').is_some() {
        let parts = text[at + 1..]
            .iter()
            .take_while(|letter| letter.is_ascii_digit())
            .count();
        if !(1..=6).contains(&parts) {
            return None;
        }
        for place in 1..=3 {
            let digit = if place <= parts {
                i64::from(text[at + place] - b'0')
            } else {
                0
            };
            thousandths = thousandths * 10 + digit;
        }
        at += 1 + parts;
    }
    let ahead = match (text.get(at)?, text.len() - at) {
        (b'Z', 1) => 0,
        (sign @ (b'+' | b'-'), 6) => {
            let (hours, minutes) = (figures(text, at + 1, 2)?, figures(text, at + 4, 2)?);
            stands(text, at + 3, b':')?;
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 60 + minutes) * if *sign == b'-' { -1 } else { 1 }
        }
        _ => return None,
    };
    let minutes = (day_number(year, month, day) * 24 + hour) * 60 + minute - ahead;
    Some((minutes * 60 + second) * 1000 + thousandths)
}
