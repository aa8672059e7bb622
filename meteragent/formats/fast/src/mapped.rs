//! What fields mean under a mapping; `meteragent.formats.mapped_one` says it in Python.
//!
//! Values stay in the mapping's unit, and readings begin with their stamps: Python makes watts of
//! the ones, and takes what was earlier, and local time, from the others.

use crate::cells::{Cell, Found, Lone, Told};
use crate::columns::{Columns, Names, Standing};
use crate::moment::DAY;
use crate::record::{LATEST, LONGEST_METER, is_meter};
use crate::text;
use crate::times::{Stamp, Times};
use std::io::Write;

/// One value of a record, or several that are an interval apart.
#[derive(Debug)]
pub struct Channel {
    /// What is put behind the meter's id, if anything.
    pub name: Box<[u8]>,
    /// Where it stands.
    pub cell: usize,
    /// Whether it is a list.
    pub is_series: bool,
}

/// What is found where, and what it means.
#[derive(Debug)]
pub struct Meaning {
    /// Whose all records are, where they do not say it.
    pub only_meter: Option<Box<[u8]>>,
    /// Where it is said.
    pub meter: Option<usize>,
    /// Whose home it is.
    pub account: Option<usize>,
    /// The time, or date and time.
    pub time: Vec<usize>,
    /// The values.
    pub channels: Vec<Channel>,
    /// The mark of quality.
    pub quality: Option<usize>,
    /// The unit.
    pub unit: Option<usize>,
    /// How times are written.
    pub times: Times,
    /// Milliseconds from one value of a list to the next.
    pub interval: i64,
    /// Marks of values that are none.
    pub absent: Vec<Box<[u8]>>,
    /// Marks of records that are refused.
    pub rejected: Vec<Box<[u8]>>,
    /// How the unit is spelt that values are in.
    pub units: Vec<Box<[u8]>>,
    /// What stands where a value would, if there is none.
    pub nothing: Vec<Box<[u8]>>,
    /// Whether texts have a comma where others have a point.
    pub has_commas: bool,
}

/// Room for the longest whole number.
type Digits = [u8; 20];

impl Meaning {
    /// The fields of a document that is one reading, where it says no more than that.
    pub fn lone(&self) -> Option<Lone> {
        let (&[time], [channel]) = (&self.time[..], &self.channels[..]) else {
            return None;
        };
        let is_lone = channel.name.is_empty() && !channel.is_series;
        is_lone.then_some(Lone {
            meter: self.meter?,
            time,
            value: channel.cell,
        })
    }

    /// The run of a reading. Nothing: its time is not surely one.
    pub fn add_lone(
        &self,
        told: &Told,
        names: &mut Names,
        columns: &mut Columns,
        standing: Standing,
    ) -> Option<()> {
        let stamp = self.times.of_whole(told.time)?;
        columns.watts.push(told.value);
        let number = names.number(told.meter);
        columns.run(number, standing, 1, stamp.at, self.interval);
        Some(())
    }

    /// The run of a line that is one reading: its meter, its time and its value.
    ///
    /// Nothing: it is not surely good.
    pub fn add_line(
        &self,
        [meter, time, value]: [&[u8]; 3],
        names: &mut Names,
        columns: &mut Columns,
        standing: Standing,
    ) -> Option<()> {
        is_meter(meter).then_some(())?;
        let stamp = self.times.of_text(time)?;
        columns.watts.push(self.written(value.trim_ascii())?);
        self.fits(&stamp, 1)?;
        if stamp.is_local {
            columns.locals.push(columns.offsets.len() as i64);
        }
        columns.run(names.number(meter), standing, 1, stamp.at, self.interval);
        Some(())
    }

    /// The runs of a document, or of an entry in it. Nothing: it is not surely good.
    pub fn add(
        &self,
        found: &Found,
        names: &mut Names,
        columns: &mut Columns,
        standing: Standing,
    ) -> Option<()> {
        let is_absent = self.is_absent(found.optional(self.quality))?;
        self.agrees(found.optional(self.unit))?;
        let mut digits = Digits::default();
        let meter = self.meter(found, &mut digits)?;
        let stamp = self.stamp(found)?;
        let first = columns.offsets.len();
        for channel in &self.channels {
            let before = columns.watts.len();
            match (found.cell(channel.cell), channel.is_series) {
                (Cell::Missing, _) => continue,
                (Cell::Series(from, until), true) => {
                    columns.watts.extend_from_slice(found.numbers(from..until));
                }
                (_, true) => return None,
                (cell, false) => columns.watts.push(self.number(cell)?),
            }
            if is_absent {
                columns.watts[before..].fill(f64::NAN);
            }
            let count = i64::try_from(columns.watts.len() - before).ok()?;
            self.fits(&stamp, count)?;
            let number = if channel.name.is_empty() {
                names.number(meter)
            } else {
                names.number(&channelled(meter, &channel.name)?)
            };
            if stamp.is_local {
                columns.locals.push(columns.offsets.len() as i64);
            }
            columns.run(number, standing, count, stamp.at, self.interval);
        }
        (columns.offsets.len() > first).then_some(())
    }

    /// Whose it is: the account's, where there is one.
    fn meter<'a>(&'a self, found: &Found<'a, '_>, digits: &'a mut Digits) -> Option<&'a [u8]> {
        let cell = match (found.optional(self.account), &self.only_meter) {
            (Cell::Missing | Cell::Null, Some(only)) => return Some(only),
            (Cell::Missing | Cell::Null, None) => found.optional(self.meter),
            (account, _) => account,
        };
        let name = said(cell, digits)?;
        is_meter(name).then_some(name)
    }

    /// What it is stamped with.
    #[inline]
    fn stamp(&self, found: &Found) -> Option<Stamp> {
        if let [only] = self.time[..] {
            return match found.cell(only) {
                Cell::Text(text) => self.times.of_text(text),
                Cell::Token(token, number) => self.times.of_token(token, number),
                Cell::Whole(number) => self.times.of_whole(number),
                _ => None,
            };
        }
        let mut whole = Vec::with_capacity(32);
        for part in &self.time {
            whole.extend_from_slice(said(found.cell(*part), &mut Digits::default())?);
            whole.push(b' ');
        }
        self.times.of_text(&whole)
    }

    /// Whether so many values end before time does, wherever their zone is.
    fn fits(&self, stamp: &Stamp, count: i64) -> Option<()> {
        let span = self.interval.checked_mul(count - 1)?;
        let last = (stamp.at - self.times.earlier).checked_add(span)?;
        let slack = if stamp.is_local { 2 * DAY } else { 0 };
        (last <= LATEST - slack).then_some(())
    }

    /// Whether the value is marked as none. Nothing: it may be marked as one to be refused.
    fn is_absent(&self, mark: Cell) -> Option<bool> {
        if matches!(mark, Cell::Missing | Cell::Null) {
            return Some(false);
        }
        let mut digits = Digits::default();
        let mark = said(mark, &mut digits)?;
        let is_one = |some: &[Box<[u8]>]| some.iter().any(|one| **one == *mark);
        (!is_one(&self.rejected)).then(|| is_one(&self.absent))
    }

    /// Whether no other unit is said than the one that is set.
    fn agrees(&self, unit: Cell) -> Option<()> {
        match unit {
            Cell::Missing | Cell::Null => Some(()),
            Cell::Text(said) => self.units.iter().any(|one| **one == *said).then_some(()),
            _ => None,
        }
    }

    fn number(&self, cell: Cell) -> Option<f64> {
        match cell {
            Cell::Null => Some(f64::NAN),
            Cell::Token(_, number) | Cell::Float(number) => Some(number),
            Cell::Whole(number) => Some(number as f64),
            Cell::Text(text) => self.written(text.trim_ascii()),
            _ => None,
        }
    }

    /// The number that a text is; NaN where it says that there is none.
    fn written(&self, text: &[u8]) -> Option<f64> {
        let found = if self.has_commas && text.contains(&b',') {
            let is_plain = !text.contains(&b'.');
            let swapped: Vec<u8> = text
                .iter()
                .map(|letter| if *letter == b',' { b'.' } else { *letter })
                .collect();
            is_plain.then(|| text::decimal(&swapped)).flatten()
        } else if self.has_commas && text.contains(&b'.') {
            None
        } else {
            text::decimal(text)
        };
        found.or_else(|| {
            let is_nothing = self
                .nothing
                .iter()
                .any(|one| one.eq_ignore_ascii_case(text));
            is_nothing.then_some(f64::NAN)
        })
    }
}

/// What a text or a whole number says, as a text.
fn said<'a>(cell: Cell<'a>, digits: &'a mut Digits) -> Option<&'a [u8]> {
    match cell {
        Cell::Text(text) => Some(text),
        Cell::Token(token, _) => {
            let is_whole = token
                .iter()
                .all(|letter| letter.is_ascii_digit() || *letter == b'-');
            (is_whole && token != b"-0" && token.len() < digits.len()).then_some(token)
        }
        Cell::Whole(number) => {
            let mut rest = &mut digits[..];
            write!(rest, "{number}").ok()?;
            let left = rest.len();
            let length = digits.len() - left;
            Some(&digits[..length])
        }
        _ => None,
    }
}

/// The meter that a channel is. Nothing: its id is too long.
fn channelled(meter: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let whole = [meter, b":", name].concat();
    let letters = std::str::from_utf8(&whole).ok()?.chars().count();
    (letters <= LONGEST_METER).then_some(whole)
}
