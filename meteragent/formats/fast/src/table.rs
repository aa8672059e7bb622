//! Lines of a table; `meteragent.formats.csv_rows` says in Python what each means.

use crate::cells::{Cell, Found, Lone, Scratch};
use crate::columns::{Columns, Form, Names, Standing};
use crate::mapped::Meaning;
use crate::record::MOST_BYTES;
use crate::text::{Either, find};

/// Bytes of a line with quotes that is read here.
const LONGEST_QUOTED: usize = 1 << 16;

/// Lines with a field for each column.
pub struct Table {
    /// What stands between two fields.
    pub delimiter: u8,
    /// How many fields a line has at least.
    pub needed: usize,
    /// Columns and the cells that they go to, from the left to the right.
    pub cells: Vec<(usize, usize)>,
    /// What they mean.
    pub meaning: Meaning,
    lone: Option<Lone>,
    scratch: Scratch,
}

impl Table {
    /// With its columns.
    pub fn new(delimiter: u8, needed: usize, cells: Vec<(usize, usize)>, meaning: Meaning) -> Self {
        Table {
            delimiter,
            needed,
            lone: meaning.lone().and_then(|lone| columns_of(&lone, &cells)),
            cells,
            meaning,
            scratch: Scratch::default(),
        }
    }

    /// The fields of a line that is one reading, by their columns. Nothing: it has not all that
    /// are needed, or a quote.
    #[inline]
    fn lone_fields<'a>(&self, lone: &Lone, line: &'a [u8]) -> Option<[&'a [u8]; 3]> {
        let mut found = [&line[..0]; 3];
        let (mut begin, mut column) = (0, 0);
        let mut stops = Either::of(line, [self.delimiter, b'"']);
        while column < self.needed {
            let end = match stops.next() {
                Some(at) if line[at] == b'"' => return None,
                Some(at) => at,
                None if column + 1 == self.needed => line.len(),
                None => return None,
            };
            let field = &line[begin..end];
            for (which, its) in [lone.meter, lone.time, lone.value].into_iter().enumerate() {
                if its == column {
                    found[which] = field;
                }
            }
            begin = end + 1;
            column += 1;
        }
        let rest = line.get(begin..).unwrap_or_default(); // nobody asks what it says
        find(rest, b'"').is_none().then_some(found)
    }
}

/// The columns of fields that nothing is asked for beside.
fn columns_of(lone: &Lone, cells: &[(usize, usize)]) -> Option<Lone> {
    let column = |cell| {
        let its = cells.iter().find(|(_, its)| *its == cell)?;
        Some(its.0)
    };
    let is_all = cells.len() == 3;
    is_all.then_some(Lone {
        meter: column(lone.meter)?,
        time: column(lone.time)?,
        value: column(lone.value)?,
    })
}

impl Form for Table {
    fn read(
        &mut self,
        line: &[u8],
        names: &mut Names,
        columns: &mut Columns,
        at: Standing,
    ) -> Option<()> {
        (line.len() <= MOST_BYTES).then_some(())?;
        let fields = self.lone.and_then(|lone| self.lone_fields(&lone, line));
        if let Some(fields) = fields {
            return self
                .meaning
                .add_line(fields.map(trimmed), names, columns, at);
        }
        let is_quoted = find(line, b'"').is_some();
        let most = if is_quoted {
            LONGEST_QUOTED
        } else {
            MOST_BYTES
        };
        (line.len() <= most).then_some(())?;
        let mut found = Found::new(&mut self.scratch);
        let mut wanted = self.cells.iter().peekable();
        let (mut rest, mut column) = (Some(line), 0);
        while let Some(text) = rest {
            if column >= self.needed && !is_quoted {
                break; // nobody asks what comes then
            }
            let field = if is_quoted {
                let (field, after) = quoted(text, self.delimiter)?;
                rest = after;
                field
            } else {
                let end = find(text, self.delimiter);
                rest = end.map(|end| &text[end + 1..]);
                &text[..end.unwrap_or(text.len())]
            };
            while let Some((_, cell)) = wanted.next_if(|(at, _)| *at == column) {
                let text = trimmed(field);
                if !(text.is_empty() && self.meaning.account == Some(*cell)) {
                    found.set(*cell, Cell::Text(text));
                }
            }
            column += 1;
        }
        (column >= self.needed).then_some(())?;
        self.meaning.add(&found, names, columns, at)
    }
}

/// A field without its quotes, and what comes after the delimiter behind it, if there is one.
fn quoted(text: &[u8], delimiter: u8) -> Option<(&[u8], Option<&[u8]>)> {
    let is_quoted = text.first() == Some(&b'"');
    let (field, after) = if is_quoted {
        let end = text[1..].iter().position(|letter| *letter == b'"')?;
        (&text[1..=end], &text[end + 2..])
    } else {
        let end = text.iter().position(|letter| *letter == delimiter);
        text.split_at(end.unwrap_or(text.len()))
    };
    let is_odd = |letter: &u8| *letter == b'"' || *letter == b'\r' || *letter == 0;
    if field.iter().any(is_odd) {
        return None;
    }
    match after.split_first() {
        None => Some((field, None)),
        Some((letter, rest)) if *letter == delimiter => Some((field, Some(rest))),
        _ => None,
    }
}

/// Without the blanks around it.
fn trimmed(text: &[u8]) -> &[u8] {
    let is_blank = |letter: &u8| matches!(letter, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    if !text.first().is_some_and(is_blank) && !text.last().is_some_and(is_blank) {
        return text;
    }
    let from = text
        .iter()
        .position(|letter| !is_blank(letter))
        .unwrap_or(text.len());
    let until = text
        .iter()
        .rposition(|letter| !is_blank(letter))
        .map_or(from, |last| last + 1);
    &text[from..until]
}
