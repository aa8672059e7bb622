//! Fields of JSON documents, found by their places.

use crate::cells::{Cell, Found, Place, Places};
use crate::text::Cursor;

/// A document at the beginning of this.
///
/// Nothing: it is not surely one, or not surely plain where a field stands.
pub fn whole<'a>(places: &Places, text: &'a [u8], found: &mut Found<'a, '_>) -> Option<()> {
    let mut cursor = Cursor::new(text);
    (cursor.ahead() == Some(b'{')).then_some(())?;
    value(places, &mut cursor, 0, found)?;
    cursor.is_done().then_some(())
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
    pub fn next(&mut self, places: &Places, depth: usize, found: &mut Found<'a, '_>) -> Option<bool> {
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
            found.keep(place, Cell::Other);
            object(places, cursor, place, found)
        }
        b'[' if place.is_series => series(cursor, place, found),
        b'[' => {
            found.keep(place, Cell::Other);
            array(places, cursor, place, found)
        }
        _ if place.cell.is_some() => {
            let cell = scalar(cursor)?;
            found.keep(place, cell);
            Some(())
        }
        _ => cursor.skipped().map(|_| ()),
    }
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
            None => cursor.skipped().map(|_| ())?,
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
            None => cursor.skipped().map(|_| ())?,
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
        _ => cursor.token().map(|(token, number)| Cell::Token(token, number)),
    }
}
