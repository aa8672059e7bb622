//! What is found in records, and the numbers of ids.

use crate::text::{find, word};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

const SHORT: usize = 23;

/// A short id and its length: to compare it, nobody has to go and fetch it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Short([u64; 3]);

impl Short {
    fn of(name: &[u8]) -> Option<Self> {
        (name.len() <= SHORT).then_some(())?;
        let nth = |at: usize| name.get(at..).map_or(0, word);
        let length = (name.len() as u64) << 56;
        Some(Short([nth(0), nth(8), nth(16) | length]))
    }
}

impl Hash for Short {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.iter().for_each(|word| hasher.write_u64(*word));
    }
}

/// Ids and their numbers, in the order in which they were first met.
#[derive(Default)]
pub struct Names {
    short: HashMap<Short, i64, foldhash::quality::RandomState>,
    long: HashMap<Box<[u8]>, i64, foldhash::quality::RandomState>,
    /// Those that nobody was told of yet.
    pub new: Vec<String>,
    bytes: usize,
}

impl Names {
    /// The number of an id that is UTF-8.
    pub fn number(&mut self, name: &[u8]) -> i64 {
        let short = Short::of(name);
        let known = match &short {
            Some(short) => self.short.get(short),
            None => self.long.get(name),
        };
        if let Some(number) = known {
            return *number;
        }
        let number = (self.short.len() + self.long.len()) as i64;
        match short {
            Some(short) => self.short.insert(short, number),
            None => self.long.insert(name.into(), number),
        };
        self.new.push(String::from_utf8_lossy(name).into_owned());
        self.bytes += name.len();
        number
    }

    /// How many bytes all ids have.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Where a record stands.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// In its partition or file.
    pub offset: i64,
    /// When it was written.
    pub timestamp: i64,
}

/// A record that somebody else has to judge.
#[derive(Clone, Debug, PartialEq)]
pub struct Odd {
    /// Where it stands.
    pub offset: i64,
    /// When it was written.
    pub timestamp: i64,
    /// What it is; a tombstone is nothing.
    pub value: Option<Vec<u8>>,
}

/// Good records, a run each; `watts` has an entry for each reading of these.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// Of ids.
    pub numbers: Vec<i64>,
    /// Where records stand.
    pub offsets: Vec<i64>,
    /// When they were written.
    pub timestamps: Vec<i64>,
    /// How many readings each has.
    pub counts: Vec<i64>,
    /// The time of the first one.
    pub starts: Vec<i64>,
    /// From each to the next.
    pub intervals: Vec<i64>,
    /// What they say; NaN is nothing.
    pub watts: Vec<f64>,
    /// Which runs begin at a local time of a zone that Python knows.
    pub locals: Vec<i64>,
    /// The others.
    pub odd: Vec<Odd>,
    of_odd: usize,
}

const OF_A_RUN: usize = 6 * size_of::<i64>();
const OF_A_VALUE: usize = size_of::<f64>();
/// With its tuple in Python; its bytes are there twice for a moment.
const OF_AN_ODD: usize = 256;

/// Lines that come together, of which room is made for the columns, and what each has at least.
const LINES: usize = 1 << 12;
const SHORTEST_LINE: usize = 16;

/// What records are written in.
pub trait Form {
    /// Put the runs of a record behind the others. Nothing: it is not surely good, and `columns`
    /// may hold some of it.
    fn read(
        &mut self,
        record: &[u8],
        names: &mut Names,
        columns: &mut Columns,
        at: Standing,
    ) -> Option<()>;
}

impl Columns {
    /// Make room for so many more records.
    pub fn expect(&mut self, records: usize) {
        self.numbers.reserve(records);
        self.offsets.reserve(records);
        self.timestamps.reserve(records);
        self.counts.reserve(records);
        self.starts.reserve(records);
        self.intervals.reserve(records);
        self.watts.reserve(records);
    }

    /// How many bytes all of it takes, here and where it is handed over.
    pub fn bytes(&self) -> usize {
        OF_A_RUN * self.offsets.len() + OF_A_VALUE * self.watts.len() + self.of_odd
    }

    /// Put a run behind the others; its values are there.
    pub fn run(&mut self, number: i64, at: Standing, count: i64, start: i64, interval: i64) {
        self.numbers.push(number);
        self.offsets.push(at.offset);
        self.timestamps.push(at.timestamp);
        self.counts.push(count);
        self.starts.push(start);
        self.intervals.push(interval);
    }

    /// Take a record in.
    pub fn add<F: Form>(
        &mut self,
        form: &mut F,
        names: &mut Names,
        value: Option<&[u8]>,
        at: Standing,
    ) {
        let (runs, values) = (self.offsets.len(), self.watts.len());
        let read = value.and_then(|bytes| form.read(bytes, names, self, at));
        if read.is_none() {
            self.cut(runs, values);
            self.of_odd += OF_AN_ODD + 2 * value.map_or(0, <[u8]>::len);
            self.odd.push(Odd {
                offset: at.offset,
                timestamp: at.timestamp,
                value: value.map(<[u8]>::to_vec),
            });
        }
    }

    /// Forget what stands behind so many runs, and values.
    fn cut(&mut self, runs: usize, values: usize) {
        let integers = [
            &mut self.numbers,
            &mut self.offsets,
            &mut self.timestamps,
            &mut self.counts,
            &mut self.starts,
            &mut self.intervals,
        ];
        for column in integers {
            column.truncate(runs);
        }
        while self.locals.last().is_some_and(|run| *run >= runs as i64) {
            self.locals.pop();
        }
        self.watts.truncate(values);
    }

    /// Take lines in, of which the first has this number; empty ones hold nothing.
    ///
    /// What comes after the last line's end is no line.
    pub fn add_lines<F: Form>(
        &mut self,
        form: &mut F,
        names: &mut Names,
        text: &[u8],
        first: i64,
        timestamp: i64,
    ) -> i64 {
        self.expect((text.len() / SHORTEST_LINE).min(LINES));
        let (mut offset, mut rest) = (first, text);
        while let Some(length) = find(rest, b'\n') {
            let line = &rest[..length];
            if !line.is_empty() {
                self.add(form, names, Some(line), Standing { offset, timestamp });
            }
            offset += 1;
            rest = &rest[length + 1..];
        }
        offset
    }
}
