//! Fields of Avro messages, found by their places.

use crate::cells::{Cell, Found, Lone, Place, Places, Told};
use crate::record::LONGEST_METER;
use crate::text;

/// Bytes of seven bits, in the longest numbers that are read here.
const MOST_SEVENS: usize = 9;

/// What a value is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Nothing.
    Null,
    /// A bit, in a byte.
    Boolean,
    /// A whole number.
    Whole,
    /// A number of four bytes.
    Float,
    /// A number of eight bytes.
    Double,
    /// Bytes, or a text where that is said.
    Bytes(bool),
    /// One of these words.
    Enum(Vec<Box<[u8]>>),
    /// So many bytes.
    Fixed(usize),
    /// One of these.
    Union(Vec<Kind>),
    /// Many of these.
    List(Box<Kind>),
    /// Many of these, each with its key.
    Map(Box<Kind>),
    /// Each of these: its name, what it is, and the place where it stands.
    Record(Vec<(Box<[u8]>, Kind, Option<usize>)>),
}

impl Kind {
    /// Whether it is a number, or nothing.
    fn is_number(&self) -> bool {
        match self {
            Kind::Null | Kind::Whole | Kind::Float | Kind::Double => true,
            Kind::Union(kinds) => kinds.iter().all(Kind::is_number),
            _ => false,
        }
    }

    /// Find the places of all that it holds, from its own. Nothing: that is not done here.
    fn bind(&mut self, places: &Places, at: usize, items: &mut Vec<Kind>) -> Option<()> {
        let place = places.all.get(at)?;
        match self {
            Kind::Union(kinds) => kinds
                .iter_mut()
                .try_for_each(|kind| kind.bind(places, at, items)),
            Kind::Record(fields) => {
                for (name, kind, to) in fields {
                    let step = place.steps.iter().find(|step| step.name == *name);
                    *to = step.map(|step| step.to);
                    if let Some(to) = *to {
                        kind.bind(places, to, items)?;
                    }
                }
                Some(())
            }
            Kind::List(item) if place.is_list => {
                let mut item = (**item).clone();
                let depth = items.len() + 1;
                items.push(Kind::Null);
                item.bind(places, *places.roots.get(depth)?, items)?;
                items[depth - 1] = item;
                Some(())
            }
            Kind::List(_) | Kind::Map(_) => place.steps.is_empty().then_some(()),
            _ => Some(()),
        }
    }
}

/// A field of the outermost record, or of a record in it.
#[derive(Debug)]
enum Step {
    /// A whole number, which is kept.
    Whole(usize),
    /// A number of eight bytes, which is kept.
    Double(usize),
    /// A text, which is kept.
    Text(usize),
    /// Something at this place.
    Asked(Kind, usize),
    /// Something that nobody asks for.
    Unasked(Kind),
}

/// How messages of a schema are read.
#[derive(Debug)]
pub struct Schema {
    steps: Vec<Step>,
    items: Vec<Kind>,
    is_lone: bool,
}

fn flat(kind: Kind, places: &Places, at: Option<usize>, steps: &mut Vec<Step>) {
    let cell = at
        .and_then(|at| places.all.get(at))
        .and_then(|place| place.cell);
    steps.push(match (kind, at, cell) {
        (Kind::Record(fields), _, None) => {
            for (_, kind, to) in fields {
                flat(kind, places, to, steps);
            }
            return;
        }
        (Kind::Whole, _, Some(cell)) => Step::Whole(cell),
        (Kind::Double, _, Some(cell)) => Step::Double(cell),
        (Kind::Bytes(true), _, Some(cell)) => Step::Text(cell),
        (kind, Some(at), _) => Step::Asked(kind, at),
        (kind, None, _) => Step::Unasked(kind),
    });
}

/// Whether these are one text, one whole number, and one number or none, of these fields.
fn is_lone(steps: &[Step], places: &Places, lone: &Lone) -> bool {
    let (mut texts, mut times, mut values) = (0, 0, 0);
    for step in steps {
        match step {
            Step::Text(cell) if *cell == lone.meter => texts += 1,
            Step::Whole(cell) if *cell == lone.time => times += 1,
            Step::Double(cell) if *cell == lone.value => values += 1,
            Step::Asked(kind, at) => {
                let cell = places.all.get(*at).and_then(|place| place.cell);
                if cell != Some(lone.value) || !kind.is_number() {
                    return false;
                }
                values += 1;
            }
            Step::Unasked(_) => {}
            _ => return false,
        }
    }
    [texts, times, values] == [1, 1, 1]
}

impl Schema {
    /// Of a record. Nothing: some of these places are not found here.
    pub fn new(mut whole: Kind, places: &Places, lone: Option<&Lone>) -> Option<Self> {
        let mut items = Vec::new();
        whole.bind(places, 0, &mut items)?;
        matches!(whole, Kind::Record(_)).then_some(())?;
        let mut steps = Vec::new();
        flat(whole, places, Some(0), &mut steps);
        let is_lone = lone.is_some_and(|lone| is_lone(&steps, places, lone));
        Some(Schema {
            steps,
            items,
            is_lone,
        })
    }

    /// The reading that a message is. Nothing: it is not surely one, or not plain.
    pub fn lone<'a>(&'a self, message: &'a [u8]) -> Option<Told<'a>> {
        self.is_lone.then_some(())?;
        let mut reader = Reader {
            bytes: message,
            at: 0,
        };
        let (mut meter, mut time, mut value) = (&message[..0], 0, f64::NAN);
        for step in &self.steps {
            match step {
                Step::Text(_) => meter = reader.sized()?,
                Step::Whole(_) => time = reader.number()?,
                Step::Double(_) => {
                    value = f64::from_le_bytes(reader.fixed()?);
                    value.is_finite().then_some(())?;
                }
                Step::Asked(kind, _) => value = reader.entry(kind)?,
                Step::Unasked(kind) => reader.skip(kind)?,
            }
        }
        let is_plain = (1..=LONGEST_METER).contains(&meter.len())
            && text::plain_letters(meter) == meter.len()
            && reader.at == message.len();
        is_plain.then_some(Told { meter, time, value })
    }

    /// What a message holds. Nothing: it is not surely what its schema says.
    pub fn whole<'a>(
        &'a self,
        places: &Places,
        message: &'a [u8],
        found: &mut Found<'a, '_>,
    ) -> Option<()> {
        let mut reader = Reader {
            bytes: message,
            at: 0,
        };
        for step in &self.steps {
            match step {
                Step::Whole(cell) => found.set(*cell, Cell::Whole(reader.number()?)),
                Step::Double(cell) => {
                    let number = f64::from_le_bytes(reader.fixed()?);
                    found.set(*cell, finite(number)?);
                }
                Step::Text(cell) => found.set(*cell, Cell::Text(reader.text()?)),
                Step::Asked(kind, at) => reader.value(kind, places, *at, found)?,
                Step::Unasked(kind) => reader.skip(kind)?,
            }
        }
        (reader.at == message.len()).then_some(())
    }

    /// The entries of a list that was kept, at this depth. Nothing: it is not in one piece.
    pub fn entries<'a>(&'a self, list: &'a [u8], depth: usize) -> Option<Entries<'a>> {
        let mut reader = Reader { bytes: list, at: 0 };
        let left = usize::try_from(reader.number()?).ok()?;
        Some(Entries {
            kind: self.items.get(depth)?,
            reader,
            left,
        })
    }
}

/// Entries of a list, one after the other.
pub struct Entries<'a> {
    kind: &'a Kind,
    reader: Reader<'a>,
    left: usize,
}

impl<'a> Entries<'a> {
    /// The next one; false if there is none. Nothing: it is not surely plain.
    pub fn next(
        &mut self,
        places: &Places,
        depth: usize,
        found: &mut Found<'a, '_>,
    ) -> Option<bool> {
        let Some(left) = self.left.checked_sub(1) else {
            let is_end = self.reader.at == self.reader.bytes.len() || self.reader.number()? == 0;
            return is_end.then_some(false); // else there is another piece
        };
        self.left = left;
        found.forget(places, depth);
        let root = *places.roots.get(depth)?;
        self.reader.value(self.kind, places, root, found)?;
        Some(true)
    }
}

/// A place in a message.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    #[inline]
    fn number(&mut self) -> Option<i64> {
        let (found, length) = text::sevens(self.bytes.get(self.at..)?, MOST_SEVENS)?;
        self.at += length;
        Some(text::zigzag(found))
    }

    #[inline]
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let found = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(found)
    }

    #[inline]
    fn sized(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    #[inline]
    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk::<N>().copied()
    }

    fn one_of<'k>(&mut self, kinds: &'k [Kind]) -> Option<&'k Kind> {
        kinds.get(usize::try_from(self.number()?).ok()?)
    }

    /// How many entries come next; nothing where their number is not plain, or cannot be.
    fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.bytes.len() - self.at).then_some(count)
    }

    fn value(
        &mut self,
        kind: &'a Kind,
        places: &Places,
        at: usize,
        found: &mut Found<'a, '_>,
    ) -> Option<()> {
        let place = places.all.get(at)?;
        match kind {
            Kind::Union(kinds) => {
                let kind = self.one_of(kinds)?;
                self.value(kind, places, at, found)
            }
            Kind::Record(fields) => {
                found.keep(place, Cell::Other);
                for (_, kind, to) in fields {
                    match to {
                        Some(to) => self.value(kind, places, *to, found)?,
                        None => self.skip(kind)?,
                    }
                }
                Some(())
            }
            Kind::List(_) if place.is_list => {
                let from = self.at;
                self.skip(kind)?;
                found.visit(at)?;
                found.keep_list(place, &self.bytes[from..self.at]);
                Some(())
            }
            _ if place.is_list => None,
            Kind::List(item) if place.is_series => self.series(item, place, found),
            _ => {
                let cell = self.scalar(kind)?;
                found.keep(place, cell);
                Some(())
            }
        }
    }

    fn scalar(&mut self, kind: &'a Kind) -> Option<Cell<'a>> {
        Some(match kind {
            Kind::Null => Cell::Null,
            Kind::Whole => Cell::Whole(self.number()?),
            Kind::Float => finite(f64::from(f32::from_le_bytes(self.fixed()?)))?,
            Kind::Double => finite(f64::from_le_bytes(self.fixed()?))?,
            Kind::Bytes(true) => Cell::Text(self.text()?),
            Kind::Enum(words) => Cell::Text(words.get(usize::try_from(self.number()?).ok()?)?),
            other => {
                self.skip(other)?;
                Cell::Other
            }
        })
    }

    #[inline]
    fn text(&mut self) -> Option<&'a [u8]> {
        let text = self.sized()?;
        (text.is_ascii() || std::str::from_utf8(text).is_ok()).then_some(text)
    }

    fn series(&mut self, item: &'a Kind, place: &Place, found: &mut Found<'a, '_>) -> Option<()> {
        let from = found.series.len();
        loop {
            let count = self.count()?;
            if count == 0 {
                break;
            }
            found.series.reserve(count);
            for _ in 0..count {
                let number = self.entry(item)?;
                found.series.push(number);
            }
        }
        (found.series.len() > from).then_some(())?;
        found.keep_series(place, from);
        Some(())
    }

    fn entry(&mut self, kind: &'a Kind) -> Option<f64> {
        let kind = match kind {
            Kind::Union(kinds) => self.one_of(kinds)?,
            kind => kind,
        };
        match self.scalar(kind)? {
            Cell::Null => Some(f64::NAN),
            Cell::Whole(number) => Some(number as f64),
            Cell::Float(number) => Some(number),
            _ => None,
        }
    }

    fn skip(&mut self, kind: &Kind) -> Option<()> {
        match kind {
            Kind::Null => {}
            Kind::Boolean => drop(self.take(1)?),
            Kind::Whole => drop(self.number()?),
            Kind::Float => drop(self.take(4)?),
            Kind::Double => drop(self.take(8)?),
            Kind::Bytes(false) => drop(self.sized()?),
            Kind::Bytes(true) => drop(self.text()?),
            Kind::Enum(words) => drop(words.get(usize::try_from(self.number()?).ok()?)?),
            Kind::Fixed(size) => drop(self.take(*size)?),
            Kind::Union(kinds) => {
                let kind = self.one_of(kinds)?;
                self.skip(kind)?;
            }
            Kind::Record(fields) => {
                for (_, kind, _) in fields {
                    self.skip(kind)?;
                }
            }
            Kind::List(item) => self.skip_many(item, false)?,
            Kind::Map(item) => self.skip_many(item, true)?,
        }
        Some(())
    }

    fn skip_many(&mut self, item: &Kind, has_keys: bool) -> Option<()> {
        loop {
            let count = self.count()?;
            if count == 0 {
                return Some(());
            }
            for _ in 0..count {
                if has_keys {
                    self.text()?;
                }
                self.skip(item)?;
            }
        }
    }
}

fn finite<'a>(number: f64) -> Option<Cell<'a>> {
    number.is_finite().then_some(Cell::Float(number))
}
