//! Fields of JSON documents, found by their places.

use crate::cells::{Blank, Cell, Found, Lone, Mark, Place, Places, Told};
use crate::record::LONGEST_METER;
use crate::text::Cursor;

/// A document that is all of this.
///
/// Nothing: it is not surely one, or not surely plain where a field stands.
pub fn whole<'a>(places: &Places, text: &'a [u8], found: &mut Found<'a, '_>) -> Option<()> {
    let mut cursor = Cursor::new(text);
    (cursor.ahead() == Some(b'{')).then_some(())?;
    value(places, &mut cursor, 0, found)?;
    cursor.is_done().then_some(())
}

/// What documents have alike that are written by one program: all but their values.
///
/// What stands between the values says which keys there are, each of them once, and how they are
/// nested. So where that is the same, other values stand in the same places.
#[derive(Debug, Default)]
pub struct Pattern {
    values: Vec<(Box<[u8]>, Blank)>,
    end: Box<[u8]>,
    misses: u32,
}

/// Documents that do not fit, one after the other, before not each makes one.
const MOST_MISSES: u32 = 64;
/// Of how many that do not fit either one is made then.
const PATIENCE: u32 = 1024;
/// Values of a document that a pattern is made of.
const MOST_BLANKS: usize = 256;

impl Pattern {
    /// Whether a document fits, and then what it holds. Nothing: it does not surely fit.
    pub fn read<'a>(
        &mut self,
        places: &Places,
        text: &'a [u8],
        found: &mut Found<'a, '_>,
    ) -> Option<()> {
        (!self.end.is_empty()).then_some(())?;
        let mut cursor = Cursor::new(text);
        for (before, blank) in &self.values {
            cursor.follows(before)?;
            match blank {
                Blank::Text(cell) => {
                    found.set(*cell, Cell::Text(cursor.letters()));
                }
                Blank::Value(cell) => {
                    let (token, number) = cursor.token()?;
                    found.set(*cell, Cell::Token(token, number));
                }
                Blank::Series(at) => series(&mut cursor, places.all.get(*at)?, found)?,
                Blank::Unasked => cursor.passed_by()?,
            }
        }
        cursor.follows(&self.end)?;
        self.misses = 0;
        cursor.is_done().then_some(())
    }

    /// The reading that a document is, if it fits. Nothing: it does not surely, or is not plain.
    pub fn lone<'a>(&mut self, lone: &Lone, text: &'a [u8]) -> Option<Told<'a>> {
        (!self.end.is_empty()).then_some(())?;
        let (mut meter, mut time, mut value) = (None, None, None);
        let mut cursor = Cursor::new(text);
        for (before, blank) in &self.values {
            cursor.follows(before)?;
            match blank {
                Blank::Text(cell) if *cell == lone.meter => meter = Some(cursor.letters()),
                Blank::Value(cell) if *cell == lone.time => time = Some(cursor.whole()?),
                Blank::Value(cell) if *cell == lone.value => value = Some(cursor.number()?),
                Blank::Unasked => cursor.passed_by()?,
                _ => return None,
            }
        }
        cursor.follows(&self.end)?;
        self.misses = 0;
        let meter = meter.filter(|name| (1..=LONGEST_METER).contains(&name.len()))?;
        cursor.is_done().then_some(Told {
            meter,
            time: time?,
            value: value?,
        })
    }

    /// Make it anew of a document that did not fit, and where its values stand.
    pub fn make(&mut self, text: &[u8], marks: &[Mark]) {
        self.misses = self.misses.wrapping_add(1);
        let is_hopeless = self.misses > MOST_MISSES && self.misses % PATIENCE > 0;
        if is_hopeless || marks.len() > MOST_BLANKS {
            return;
        }
        let mut at = 0;
        self.values.clear();
        for mark in marks {
            self.values.push((text[at..mark.from].into(), mark.blank));
            at = mark.until;
        }
        self.end = text[at..].into();
    }
}

/// The entries of a list that was kept.
pub struct Entries<'a> {
    cursor: Cursor<'a>,
    is_first: bool,
}

impl<'a> Entries<'a> {
    /// Of this list, which is one.
    pub fn of(list: &'a [u8]) -> Self {
        let mut cursor = Cursor::new(list);
        cursor.take(b'[');
        Entries {
            cursor,
            is_first: true,
        }
    }

    /// The next one; false if there is none. Nothing: it is not surely plain.
    pub fn next(
        &mut self,
        places: &Places,
        depth: usize,
        found: &mut Found<'a, '_>,
    ) -> Option<bool> {
        let goes_on = if self.is_first {
            self.cursor.ahead() != Some(b']')
        } else {
            self.cursor.take(b',')
        };
        self.is_first = false;
        if goes_on {
            found.forget(places, depth);
            value(places, &mut self.cursor, *places.roots.get(depth)?, found)?;
        }
        Some(goes_on)
    }
}

fn value<'a>(
    places: &Places,
    cursor: &mut Cursor<'a>,
    at: usize,
    found: &mut Found<'a, '_>,
) -> Option<()> {
    let place = places.all.get(at)?;
    found.visit(at)?;
    if place.is_list {
        (cursor.ahead() == Some(b'[')).then_some(())?;
        let list = cursor.skipped()?;
        found.keep_list(place, list);
        return Some(());
    }
    match cursor.ahead()? {
        b'{' => {
            found.keep_other(place);
            object(places, cursor, place, found)
        }
        b'[' if place.is_series => {
            let from = cursor.at();
            series(cursor, place, found)?;
            found.mark(from, cursor.at(), Blank::Series(at));
            Some(())
        }
        b'[' => {
            found.keep_other(place);
            array(places, cursor, place, found)
        }
        _ => match place.cell {
            Some(which) => {
                let from = cursor.at();
                let cell = scalar(cursor)?;
                found.set(which, cell);
                match cell {
                    Cell::Text(_) => found.mark(from + 1, cursor.at() - 1, Blank::Text(which)),
                    Cell::Token(..) => found.mark(from, cursor.at(), Blank::Value(which)),
                    _ => found.mark_odd(),
                }
                Some(())
            }
            None => {
                found.mark_odd(); // another document may hold here what is asked for
                skip(cursor, found)
            }
        },
    }
}

fn skip(cursor: &mut Cursor, found: &mut Found) -> Option<()> {
    cursor.ahead();
    let from = cursor.at();
    cursor.skipped()?;
    found.mark(from, cursor.at(), Blank::Unasked);
    Some(())
}

fn object<'a>(
    places: &Places,
    cursor: &mut Cursor<'a>,
    place: &Place,
    found: &mut Found<'a, '_>,
) -> Option<()> {
    cursor.take(b'{');
    if cursor.take(b'}') {
        return Some(());
    }
    loop {
        let (key, _) = cursor.string()?;
        cursor.take(b':').then_some(())?;
        match place.steps.iter().find(|step| *step.name == *key) {
            Some(step) => value(places, cursor, step.to, found)?,
            None => skip(cursor, found)?,
        }
        if !cursor.take(b',') {
            return cursor.take(b'}').then_some(());
        }
    }
}

fn array<'a>(
    places: &Places,
    cursor: &mut Cursor<'a>,
    place: &Place,
    found: &mut Found<'a, '_>,
) -> Option<()> {
    cursor.take(b'[');
    if cursor.take(b']') {
        return Some(());
    }
    let mut index = 0;
    loop {
        match place.steps.iter().find(|step| step.index == Some(index)) {
            Some(step) => value(places, cursor, step.to, found)?,
            None => skip(cursor, found)?,
        }
        index += 1;
        if !cursor.take(b',') {
            return cursor.take(b']').then_some(());
        }
    }
}

fn series<'a>(cursor: &mut Cursor<'a>, place: &Place, found: &mut Found<'a, '_>) -> Option<()> {
    let from = found.series.len();
    cursor.numbers(found.series)?;
    found.keep_series(place, from);
    Some(())
}

fn scalar<'a>(cursor: &mut Cursor<'a>) -> Option<Cell<'a>> {
    match cursor.ahead()? {
        b'"' => cursor.string().map(|(text, _)| Cell::Text(text)),
        b'n' => cursor.word(b"null").then_some(Cell::Null),
        b't' => cursor.word(b"true").then_some(Cell::Other),
        b'f' => cursor.word(b"false").then_some(Cell::Other),
        _ => cursor
            .token()
            .map(|(token, number)| Cell::Token(token, number)),
    }
}
