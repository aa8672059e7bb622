//! Records that are written as a mapping or a schema says.

use crate::avro::Schema;
use crate::cells::{Cell, Found, Lone, Places, Scratch, Told};
use crate::columns::{Columns, Form, Names, Standing};
use crate::json;
use crate::mapped::Meaning;
use crate::moment;
use crate::record::{LATEST, MOST_BYTES, MOST_VALUES, is_meter};

/// JSON under a mapping.
pub struct Mapped {
    /// Where fields stand.
    pub places: Places,
    /// What they mean.
    pub meaning: Meaning,
    lone: Option<Lone>,
    pattern: json::Pattern,
    scratch: Scratch,
}

impl Mapped {
    /// With its places.
    pub fn new(places: Places, meaning: Meaning) -> Self {
        Mapped {
            lone: meaning.lone().filter(|_| places.lists() == 0),
            places,
            meaning,
            pattern: json::Pattern::default(),
            scratch: Scratch::default(),
        }
    }
}

impl Form for Mapped {
    fn read(
        &mut self,
        record: &[u8],
        names: &mut Names,
        columns: &mut Columns,
        at: Standing,
    ) -> Option<()> {
        let (runs, values) = (columns.offsets.len(), columns.watts.len());
        (record.len() <= MOST_BYTES).then_some(())?;
        let told = self
            .lone
            .and_then(|lone| self.pattern.lone(&lone, record))
            .and_then(|told| self.meaning.add_lone(&told, names, columns, at));
        if told.is_some() {
            return told;
        }
        let mut found = Found::new(&mut self.scratch);
        if self
            .pattern
            .read(&self.places, record, &mut found)
            .is_none()
        {
            found = Found::new(&mut self.scratch);
            json::whole(&self.places, record, &mut found)?;
            if let (0, Some(marks)) = (self.places.lists(), found.marks()) {
                self.pattern.make(record, marks);
            }
        }
        let mut taking = Taking {
            places: &self.places,
            meaning: &self.meaning,
            names,
            columns,
            at,
        };
        taking.of_json(0, &mut found)?;
        is_good(columns, runs, values)
    }
}

/// Whether a record holds something, and not too much.
fn is_good(columns: &Columns, runs: usize, values: usize) -> Option<()> {
    let fits = columns.watts.len() - values <= MOST_VALUES;
    (columns.offsets.len() > runs && fits).then_some(())
}

/// A document's runs, on their way into columns.
struct Taking<'m> {
    places: &'m Places,
    meaning: &'m Meaning,
    names: &'m mut Names,
    columns: &'m mut Columns,
    at: Standing,
}

impl Taking<'_> {
    fn of_json(&mut self, depth: usize, found: &mut Found) -> Option<()> {
        if depth == self.places.lists() {
            return self.here(found);
        }
        let mut entries = json::Entries::of(found.list(self.places, depth)?);
        while entries.next(self.places, depth + 1, found)? {
            self.of_json(depth + 1, found)?;
        }
        Some(())
    }

    fn of_avro<'a>(
        &mut self,
        schema: &'a Schema,
        depth: usize,
        found: &mut Found<'a, '_>,
    ) -> Option<()> {
        if depth == self.places.lists() {
            return self.here(found);
        }
        let mut entries = schema.entries(found.list(self.places, depth)?, depth)?;
        while entries.next(self.places, depth + 1, found)? {
            self.of_avro(schema, depth + 1, found)?;
        }
        Some(())
    }

    fn here(&mut self, found: &Found) -> Option<()> {
        self.meaning.add(found, self.names, self.columns, self.at)
    }
}

/// What messages mean whose schemas are in a registry.
pub enum Said {
    /// Canonical readings and blocks.
    Canonical,
    /// What a mapping says.
    Mapped(Box<Meaning>),
}

impl Said {
    /// The fields of a message that is one reading, where it says no more than that.
    fn lone(&self) -> Option<Lone> {
        match self {
            Said::Canonical => Some(Lone {
                meter: CANONICAL.iter().position(|name| *name == "meter_id")?,
                time: CANONICAL.iter().position(|name| *name == "ts")?,
                value: CANONICAL.iter().position(|name| *name == "value")?,
            }),
            Said::Mapped(meaning) => meaning.lone(),
        }
    }

    /// The run of a reading. Nothing: it is not surely good.
    fn add_lone(
        &self,
        told: &Told,
        names: &mut Names,
        columns: &mut Columns,
        at: Standing,
    ) -> Option<()> {
        match self {
            Said::Canonical => {
                let is_good = (0..=LATEST).contains(&told.time) && !told.value.is_nan();
                is_good.then_some(())?;
                columns.watts.push(told.value);
                columns.run(names.number(told.meter), at, 1, told.time, 1);
                Some(())
            }
            Said::Mapped(meaning) => meaning.add_lone(told, names, columns, at),
        }
    }
}

/// Avro behind the ids of schemas.
pub struct Registered {
    places: Places,
    said: Said,
    lone: Option<Lone>,
    schemas: Vec<(u32, Schema)>,
    newest: usize,
    scratch: Scratch,
}

const MAGIC: u8 = 0;

impl Registered {
    /// That knows no schema yet. Precondition: canonical places are those of `canonical_places`.
    pub fn new(places: Places, said: Said) -> Self {
        Registered {
            lone: said.lone().filter(|_| places.lists() == 0),
            places,
            said,
            schemas: Vec::new(),
            newest: 0,
            scratch: Scratch::default(),
        }
    }

    /// Know a schema; false if its messages are not read here.
    pub fn learn(&mut self, number: u32, kind: crate::avro::Kind) -> bool {
        let schema = Schema::new(kind, &self.places, self.lone.as_ref());
        let is_read = schema.is_some();
        self.forget(number);
        self.schemas.extend(schema.map(|schema| (number, schema)));
        is_read
    }

    /// Know it no longer.
    pub fn forget(&mut self, number: u32) {
        self.schemas.retain(|(known, _)| *known != number);
    }

    /// Which of them is this one; mostly it is that of the message before.
    fn known(&mut self, number: u32) -> Option<usize> {
        let is_it = |one: &(u32, Schema)| one.0 == number;
        if !self.schemas.get(self.newest).is_some_and(is_it) {
            self.newest = self.schemas.iter().position(is_it)?;
        }
        Some(self.newest)
    }
}

impl Form for Registered {
    fn read(
        &mut self,
        record: &[u8],
        names: &mut Names,
        columns: &mut Columns,
        at: Standing,
    ) -> Option<()> {
        let (runs, values) = (columns.offsets.len(), columns.watts.len());
        let (head, body) = record.split_first_chunk::<5>()?;
        let [MAGIC, number @ ..] = *head else {
            return None;
        };
        let known = self.known(u32::from_be_bytes(number))?;
        let (_, schema) = &self.schemas[known];
        (body.len() <= MOST_BYTES).then_some(())?;
        let told = schema.lone(body);
        let told = told.and_then(|told| self.said.add_lone(&told, names, columns, at));
        if told.is_some() {
            return told;
        }
        let mut found = Found::new(&mut self.scratch);
        schema.whole(&self.places, body, &mut found)?;
        match &self.said {
            Said::Canonical => canonical(&found, names, columns, at)?,
            Said::Mapped(meaning) => Taking {
                places: &self.places,
                meaning,
                names,
                columns,
                at,
            }
            .of_avro(schema, 0, &mut found)?,
        }
        is_good(columns, runs, values)
    }
}

const CANONICAL: [&str; 8] = [
    "meter_id",
    "account",
    "ts",
    "value",
    "start",
    "interval_ms",
    "unit",
    "values",
];

/// Where the fields of canonical records stand.
pub fn canonical_places() -> Option<Places> {
    let mut places = Places::new(&[])?;
    for name in CANONICAL {
        places.field(0, &[(name.to_owned(), None)], name == "values")?;
    }
    Some(places)
}

/// A reading or a block; `DocumentDecoder` says in Python what is one.
fn canonical(found: &Found, names: &mut Names, columns: &mut Columns, at: Standing) -> Option<()> {
    let [meter, account, ts, value, start, interval, unit, values] =
        std::array::from_fn(|which| found.cell(which));
    let meter = match (account, meter) {
        (Cell::Missing | Cell::Null, Cell::Text(meter)) => meter,
        (Cell::Text(account), Cell::Text(meter)) if is_meter(meter) => account,
        _ => return None,
    };
    let in_watts = matches!(unit, Cell::Missing | Cell::Null | Cell::Text(b"W"));
    (in_watts && is_meter(meter)).then_some(())?;
    let lacks = |cell: Cell| matches!(cell, Cell::Missing | Cell::Null);
    let number = match value {
        Cell::Float(number) => Some(number),
        Cell::Whole(number) => Some(number as f64),
        cell => lacks(cell).then_some(None)?,
    };
    if let Some(number) = number {
        let is_reading = lacks(start) && lacks(interval) && lacks(values);
        let begin = is_reading.then(|| time(ts)).flatten()?;
        columns.watts.push(number);
        columns.run(names.number(meter), at, 1, begin, 1);
        return Some(());
    }
    let (Cell::Whole(interval), Cell::Series(from, until), true) = (interval, values, lacks(ts))
    else {
        return None;
    };
    let (begin, count) = (time(start)?, i64::try_from(until - from).ok()?);
    let last = begin.checked_add(interval.checked_mul(count - 1)?)?;
    (interval >= 1 && interval <= LATEST && last <= LATEST).then_some(())?;
    columns.watts.extend_from_slice(found.numbers(from..until));
    columns.run(names.number(meter), at, count, begin, interval);
    Some(())
}

fn time(cell: Cell) -> Option<i64> {
    let found = match cell {
        Cell::Whole(number) => number,
        Cell::Text(text) => moment::milliseconds(text)?,
        _ => return None,
    };
    (0..=LATEST).contains(&found).then_some(found)
}
