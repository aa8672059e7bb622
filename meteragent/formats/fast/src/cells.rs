//! What a mapping asks of a document: places to look at, and what was found there.

use std::ops::Range;

/// Fields that a mapping may ask for.
pub const MOST_CELLS: usize = 16;
/// Places that lead to them.
pub const MOST_PLACES: usize = 64;
/// Lists within lists.
pub const MOST_LISTS: usize = 4;

/// What stands at a place, as far as it is plain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Cell<'a> {
    /// There is no such place.
    #[default]
    Missing,
    /// It says that it is nothing.
    Null,
    /// A text that is UTF-8.
    Text(&'a [u8]),
    /// A number as JSON writes it, and what it is.
    Token(&'a [u8], f64),
    /// A whole number.
    Whole(i64),
    /// A number that is finite.
    Float(f64),
    /// Numbers, of which these are in the series.
    Series(usize, usize),
    /// Anything else.
    Other,
}

/// A step on the way to a field: a key, or the place in a list.
#[derive(Debug)]
pub struct Step {
    /// As it is written.
    pub name: Box<[u8]>,
    /// In a list.
    pub index: Option<usize>,
    /// Where it leads.
    pub to: usize,
}

/// A place in documents.
#[derive(Debug, Default)]
pub struct Place {
    /// Where one can go from here.
    pub steps: Vec<Step>,
    /// Which field stands here.
    pub cell: Option<usize>,
    /// Whether that is a list of numbers.
    pub is_series: bool,
    /// Whether the entries of a list are gone through.
    pub is_list: bool,
    /// How many lists are around it.
    depth: usize,
}

/// All places; those around a list come before those in its entries.
#[derive(Debug, Default)]
pub struct Places {
    /// By their numbers.
    pub all: Vec<Place>,
    /// Where each entry begins, from the outermost document on.
    pub roots: Vec<usize>,
    /// Fields and places, as bits, of each depth and those below.
    below: Vec<(u32, u64)>,
    lists: Vec<usize>,
    cells: usize,
}

impl Places {
    /// None but the document, and the entries of lists that are gone through on these ways.
    ///
    /// Nothing: there is no way to keep that many.
    pub fn new(lists: &[Vec<Way>]) -> Option<Self> {
        let mut found = Places::default();
        found.root(0)?;
        for (depth, way) in lists.iter().enumerate() {
            let at = found.place(depth, way)?;
            (!way.is_empty()).then_some(())?;
            found.all[at].is_list = true;
            found.lists.push(at);
            found.root(depth + 1)?;
        }
        Some(found)
    }

    fn root(&mut self, depth: usize) -> Option<()> {
        (depth <= MOST_LISTS).then_some(())?;
        let root = self.add(depth)?;
        self.roots.push(root);
        self.below.push((0, 0));
        self.mark(depth, 0, 1 << root);
        Some(())
    }

    fn add(&mut self, depth: usize) -> Option<usize> {
        let at = self.all.len();
        (at < MOST_PLACES).then_some(())?;
        self.all.push(Place {
            depth,
            ..Place::default()
        });
        Some(at)
    }

    fn mark(&mut self, depth: usize, cell: u32, place: u64) {
        for (cells, places) in &mut self.below[..=depth] {
            *cells |= cell;
            *places |= place;
        }
    }

    fn place(&mut self, depth: usize, way: &[Way]) -> Option<usize> {
        let mut at = *self.roots.get(depth)?;
        for (name, index) in way {
            let here = &self.all[at];
            (here.cell.is_none() && !here.is_list).then_some(())?;
            let known = here
                .steps
                .iter()
                .find(|step| *step.name == *name.as_bytes());
            let is_alike = index.is_some() && here.steps.iter().any(|step| step.index == *index);
            (known.is_some() || !is_alike).then_some(())?;
            at = match known {
                Some(step) => step.to,
                None => {
                    let to = self.add(depth)?;
                    self.mark(depth, 0, 1 << to);
                    self.all[at].steps.push(Step {
                        name: name.as_bytes().into(),
                        index: *index,
                        to,
                    });
                    to
                }
            };
        }
        Some(at)
    }

    /// Ask for a field; answers its number, or nothing where something else is asked for there.
    pub fn field(&mut self, depth: usize, way: &[Way], is_series: bool) -> Option<usize> {
        let at = self.place(depth, way)?;
        let here = &mut self.all[at];
        let is_free = here.cell.is_none() && !here.is_list && here.steps.is_empty();
        (is_free && self.cells < MOST_CELLS).then_some(())?;
        here.cell = Some(self.cells);
        here.is_series = is_series;
        self.mark(depth, 1 << self.cells, 0);
        self.cells += 1;
        Some(self.cells - 1)
    }

    /// How many lists are gone through, one in the other.
    pub fn lists(&self) -> usize {
        self.lists.len()
    }
}

/// The fields of documents that are one reading of a meter, where nothing stands beside them that
/// is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Lone {
    /// Whose it is.
    pub meter: usize,
    /// When it was taken.
    pub time: usize,
    /// What it says.
    pub value: usize,
}

/// What they hold, where that is plain: an id of printable ASCII, and numbers.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// Whose it is; neither empty nor too long.
    pub meter: &'a [u8],
    /// As it is written.
    pub time: i64,
    /// NaN is nothing.
    pub value: f64,
}

/// A step by its name, and what that is in a list.
pub type Way = (String, Option<usize>);

/// What stands where a value is.
#[derive(Clone, Copy, Debug)]
pub enum Blank {
    /// This field, whose text stands between quotes.
    Text(usize),
    /// This field, which is a number.
    Value(usize),
    /// A field that is one, at this place.
    Series(usize),
    /// Something that nobody asks for.
    Unasked,
}

/// Where a value stands in a document.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub until: usize,
    /// What it is.
    pub blank: Blank,
}

/// What is used again for each document.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Numbers of lists.
    pub series: Vec<f64>,
    /// Where values stand, from the first to the last.
    pub marks: Vec<Mark>,
}

/// What was found in a document so far.
pub struct Found<'a, 's> {
    cells: [Cell<'a>; MOST_CELLS],
    held: u32,
    visited: u64,
    lists: [&'a [u8]; MOST_LISTS],
    /// Numbers of lists.
    pub series: &'s mut Vec<f64>,
    marks: &'s mut Vec<Mark>,
    is_odd: bool,
}

impl<'a, 's> Found<'a, 's> {
    /// Nothing yet.
    pub fn new(scratch: &'s mut Scratch) -> Self {
        scratch.series.clear();
        scratch.marks.clear();
        Found {
            cells: [Cell::Missing; MOST_CELLS],
            held: 0,
            visited: 0,
            lists: [&[]; MOST_LISTS],
            series: &mut scratch.series,
            marks: &mut scratch.marks,
            is_odd: false,
        }
    }

    /// Note where a value stands.
    pub fn mark(&mut self, from: usize, until: usize, blank: Blank) {
        self.marks.push(Mark { from, until, blank });
    }

    /// Where values stand. Nothing: fields hold what no pattern says.
    pub fn marks(&self) -> Option<&[Mark]> {
        (!self.is_odd).then_some(self.marks)
    }

    /// Keep that a field holds fields or a list.
    pub fn keep_other(&mut self, place: &Place) {
        self.is_odd |= place.cell.is_some();
        self.keep(place, Cell::Other);
    }

    /// Note that a field holds what no pattern says.
    pub fn mark_odd(&mut self) {
        self.is_odd = true;
    }

    /// Forget all that was found in an entry of the lists up to here, and in those below.
    pub fn forget(&mut self, places: &Places, depth: usize) {
        let (cells, visited) = places.below[depth];
        self.held &= !cells;
        self.visited &= !visited;
    }

    /// Come to a place; nothing: for the second time.
    pub fn visit(&mut self, place: usize) -> Option<()> {
        let is_new = self.visited >> place & 1 == 0;
        self.visited |= 1 << place;
        is_new.then_some(())
    }

    /// Keep what stands there, if it is asked for.
    pub fn keep(&mut self, place: &Place, cell: Cell<'a>) {
        if let Some(which) = place.cell {
            self.set(which, cell);
        }
    }

    /// Keep numbers that were put behind the others of the series.
    pub fn keep_series(&mut self, place: &Place, from: usize) {
        self.keep(place, Cell::Series(from, self.series.len()));
    }

    /// Keep a list that is to be gone through.
    pub fn keep_list(&mut self, place: &Place, list: &'a [u8]) {
        self.lists[place.depth] = list;
    }

    /// The list at this depth. Nothing: there is none.
    pub fn list(&self, places: &Places, depth: usize) -> Option<&'a [u8]> {
        let at = *places.lists.get(depth)?;
        (self.visited >> at & 1 == 1).then_some(self.lists[depth])
    }

    /// Put something into a cell.
    #[inline]
    pub fn set(&mut self, which: usize, cell: Cell<'a>) {
        self.cells[which] = cell;
        self.held |= 1 << which;
    }

    /// What a field holds.
    pub fn cell(&self, which: usize) -> Cell<'a> {
        if self.held >> which & 1 == 1 {
            self.cells[which]
        } else {
            Cell::Missing
        }
    }

    /// What a field holds, if it is asked for.
    pub fn optional(&self, which: Option<usize>) -> Cell<'a> {
        which.map_or(Cell::Missing, |which| self.cell(which))
    }

    /// Numbers of the series.
    pub fn numbers(&self, range: Range<usize>) -> &[f64] {
        self.series.get(range).unwrap_or(&[])
    }
}
