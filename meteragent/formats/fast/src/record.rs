//! One record: a reading, or a block of them; `meteragent.formats.json_one` says what is one.

use crate::columns::{Columns, Form, Names, Standing};
use crate::moment;
use crate::text::{self, Cursor};

/// Of a record that is read here.
pub const MOST_BYTES: usize = 1 << 20;
/// Of a record.
pub const MOST_VALUES: usize = 100_000;
/// Characters of a meter's id.
pub const LONGEST_METER: usize = 128;
/// The last millisecond of the year 9999.
pub const LATEST: i64 = 253_402_300_799_999;

/// A good record, but for its values.
pub struct Run<'a> {
    /// Whose it is.
    pub meter: &'a [u8],
    /// When its first reading was taken.
    pub start: i64,
    /// From each to the next.
    pub interval: i64,
}

/// The canonical form.
pub struct Canonical;

impl Form for Canonical {
    fn read(
        &mut self,
        record: &[u8],
        names: &mut Names,
        columns: &mut Columns,
        at: Standing,
    ) -> Option<()> {
        let before = columns.watts.len();
        let run = plain(record, &mut columns.watts)?;
        let count = (columns.watts.len() - before) as i64;
        columns.run(names.number(run.meter), at, count, run.start, run.interval);
        Some(())
    }
}

#[derive(Default)]
struct Fields<'a> {
    meter: Option<&'a [u8]>,
    account: Option<&'a [u8]>,
    ts: Option<i64>,
    start: Option<i64>,
    interval: Option<i64>,
    is_block: Option<bool>,
    kilo: Option<bool>,
}

/// The run of a record that is surely good; its values are put behind the others.
///
/// None: it may be good or bad, and `watts` may hold some of it.
pub fn plain<'a>(record: &'a [u8], watts: &mut Vec<f64>) -> Option<Run<'a>> {
    if record.len() > MOST_BYTES {
        return None;
    }
    if let Some((run, value)) = quick(record) {
        watts.push(value);
        return Some(run);
    }
    let first = watts.len();
    let fields = fields(record, watts)?;
    let count = watts.len() - first;
    let (start, interval) = if fields.is_block? {
        (fields.start?, fields.interval?)
    } else {
        (fields.ts?, 1)
    };
    // A reading with a key of blocks, or a block with one of readings: who knows.
    if fields.ts.is_some() == fields.is_block?
        || (fields.start.or(fields.interval).is_some() && !fields.is_block?)
    {
        return None;
    }
    let span = interval.checked_mul(i64::try_from(count).ok()? - 1)?;
    if !(1..=LATEST).contains(&interval) || count > MOST_VALUES || start.checked_add(span)? > LATEST
    {
        return None;
    }
    if fields.kilo == Some(true) {
        for value in &mut watts[first..] {
            *value = (*value * 1000.0).clamp(f64::MIN, f64::MAX); // NaN stays what it is
        }
    }
    let meter = fields.meter?;
    Some(Run {
        meter: fields.account.unwrap_or(meter),
        start,
        interval,
    })
}

/// A reading in its commonest spelling; any other is read letter by letter.
fn quick(record: &[u8]) -> Option<(Run<'_>, f64)> {
    let rest = record.strip_prefix(b"{\"meter_id\":\"")?;
    let (meter, rest) = rest.split_at(text::plain_letters(rest));
    let rest = rest.strip_prefix(b"\",\"ts\":")?;
    let (start, rest) = text::whole(rest)?;
    let mut cursor = Cursor::new(rest.strip_prefix(b",\"value\":")?);
    let value = cursor.number()?;
    let good = (1..=LONGEST_METER).contains(&meter.len())
        && start <= LATEST
        && cursor.take(b'}')
        && cursor.is_done();
    good.then_some((
        Run {
            meter,
            start,
            interval: 1,
        },
        value,
    ))
}

/// Whatever stands in a record, each key once.
fn fields<'a>(record: &'a [u8], watts: &mut Vec<f64>) -> Option<Fields<'a>> {
    let mut cursor = Cursor::new(record);
    let mut fields = Fields::default();
    if !cursor.take(b'{') {
        return None;
    }
    loop {
        let (key, _) = cursor.string()?;
        if !cursor.take(b':') {
            return None;
        }
        match key {
            b"meter_id" => once(&mut fields.meter, meter(&mut cursor)?)?,
            b"account" => once(&mut fields.account, meter(&mut cursor)?)?,
            b"ts" => once(&mut fields.ts, time(&mut cursor)?)?,
            b"start" => once(&mut fields.start, time(&mut cursor)?)?,
            b"interval_ms" => once(&mut fields.interval, cursor.natural()?)?,
            b"unit" => once(&mut fields.kilo, unit(&mut cursor)?)?,
            b"value" => {
                once(&mut fields.is_block, false)?;
                watts.push(cursor.number()?);
            }
            b"values" => {
                once(&mut fields.is_block, true)?;
                cursor.numbers(watts)?;
            }
            _ => return None,
        }
        if cursor.take(b',') {
            continue;
        }
        return (cursor.take(b'}') && cursor.is_done()).then_some(fields);
    }
}

fn once<T>(field: &mut Option<T>, found: T) -> Option<()> {
    field.replace(found).is_none().then_some(())
}

fn meter<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let (found, _) = cursor.string()?;
    is_meter(found).then_some(found)
}

/// Whether it can be a meter's id.
pub fn is_meter(name: &[u8]) -> bool {
    let good = if text::plain_letters(name) == name.len() {
        name.len() <= LONGEST_METER
    } else {
        std::str::from_utf8(name).is_ok_and(|text| {
            text.chars().count() <= LONGEST_METER && !text.chars().any(char::is_control)
        })
    };
    good && !name.is_empty()
}

fn time(cursor: &mut Cursor) -> Option<i64> {
    let found = if cursor.ahead() == Some(b'"') {
        moment::milliseconds(cursor.string()?.0)?
    } else {
        cursor.natural()?
    };
    (0..=LATEST).contains(&found).then_some(found)
}

fn unit(cursor: &mut Cursor) -> Option<bool> {
    match cursor.string()?.0 {
        b"W" => Some(false),
        b"kW" => Some(true),
        _ => None,
    }
}
