//! Readings -> what open panes add up to, where their averages alone are asked and all close by the
//! partition's clock: `meteragent.stream.averaged` says which.
//!
//! A pane of a row is the sum of its levels, and a bit for each slot that holds one: the first reading
//! of a slot stays. So a row fits into a line of memory or two, however fast its meter is.

use crate::slots::{
    LOOK_AHEAD, Level, NOT_OPEN, One, Records, UNKNOWN, quotient, readings_before, skip,
};
use std::hint::black_box;

/// What is known of the record that touched a pane first: where it stands, its row, the clock before it.
const TOUCH: usize = 3;
/// How many slots a word has a bit for.
const BITS: u64 = 64;

/// How panes are cut, and how long they are open; times are in milliseconds.
#[derive(Clone, Copy)]
pub struct Shape {
    /// From the start of a pane to the start of the next.
    pub size: i64,
    /// From a slot to the next.
    pub interval: i64,
    /// How long before its first reading a meter is known.
    pub grace: i64,
    /// For how long a pane is open, by the partition's clock.
    pub wait: i64,
    /// How many panes may be open.
    pub panes: i64,
}

impl Shape {
    fn pane(&self, time: i64) -> i64 {
        time.div_euclid(self.size)
    }

    fn place(&self, pane: i64) -> usize {
        pane.rem_euclid(self.panes) as usize
    }

    /// Of a pane of a row: its sum, and the words with its bits.
    fn part(&self) -> usize {
        1 + (self.size / self.interval).unsigned_abs().div_ceil(BITS) as usize
    }

    /// Of a row.
    fn width(&self) -> usize {
        self.panes as usize * self.part()
    }

    fn is_sound(&self) -> bool {
        [self.size, self.interval, self.panes]
            .iter()
            .all(|one| *one > 0)
    }
}

/// The open panes of meters, a row each.
pub struct Sums<'a> {
    /// The first pane of each row that has not closed.
    pub next: &'a mut [i64],
    /// cells[row, pane]: the sum, and the bits of its slots.
    pub cells: &'a mut [i64],
    /// opened[pane]: the record that touched it first. Of several that stand there, that of the first row.
    pub opened: &'a mut [i64],
    /// No pane before this one holds anything.
    pub since: i64,
}

/// Where the panes that may be open are.
struct Ring {
    /// When the first of them begins.
    start: i64,
    /// How long all of them last.
    length: i64,
    /// Where the first one stands.
    turn: usize,
}

/// What has closed: rows, panes, sums, and how many slots hold a reading.
pub type Closed = [Vec<i64>; 4];

/// What came of records.
#[derive(Debug, Default, PartialEq)]
pub struct Came {
    /// How many readings held a value, in time.
    pub holding: usize,
    /// How many of these found their slot empty.
    pub fresh: usize,
    /// How many readings were late.
    pub late: i64,
    /// What their times have closed.
    pub closed: Closed,
}

impl Sums<'_> {
    /// Take records in. None: columns do not fit each other, and nothing was done.
    ///
    /// Where more panes than may be open are between a reading and what is open, the clock has come to
    /// its time: all rows' panes close that it leaves behind.
    pub fn add<T: Level + Into<i64>>(
        &mut self,
        records: &Records<'_>,
        values: &[T],
        shape: &Shape,
    ) -> Option<Came> {
        if !records.fit() || !self.fits(shape) {
            return None;
        }
        let mut came = Came::default();
        let (mut open, mut until) = (i64::MIN, i64::MIN);
        let mut ring = self.ring(shape);
        for nth in 0..records.rows.len() {
            if nth % LOOK_AHEAD == 0 {
                black_box(self.looked_at(records, nth, ring.turn, shape));
            }
            let mut one = records.one(nth);
            if one.before - shape.wait >= until {
                open = shape.pane(one.before - shape.wait);
                until = (open + 1) * shape.size;
                if self.since == UNKNOWN {
                    self.since = open;
                    ring = self.ring(shape);
                }
            }
            let mut its = &values[one.first..one.first + one.count as usize];
            let begin = self.next[one.row].max(open);
            let late = readings_before(&one, begin * shape.size);
            came.late += late;
            skip(&mut one, &mut its, late);
            if one.count > 0 {
                self.meet(&one, open, shape);
                self.put(&one, its, shape, &mut ring, &mut came);
            }
        }
        Some(came)
    }

    /// Close the panes before this one.
    pub fn close(&mut self, until: i64, shape: &Shape) -> Option<Closed> {
        if !self.fits(shape) {
            return None;
        }
        let mut closed = Closed::default();
        self.close_into(until, shape, &mut closed);
        Some(closed)
    }

    fn fits(&self, shape: &Shape) -> bool {
        shape.is_sound()
            && self.cells.len() == self.next.len() * shape.width()
            && self.opened.len() == shape.panes as usize * TOUCH
    }

    /// Start the count of a row that is new, with its first reading that is not late.
    fn meet(&mut self, one: &One, open: i64, shape: &Shape) {
        if self.next[one.row] == UNKNOWN {
            self.next[one.row] = shape.pane(one.start - shape.grace).max(open);
        }
    }

    /// Ask memory for what the next records need, as `Slots` does.
    fn looked_at(&self, records: &Records<'_>, from: usize, turn: usize, shape: &Shape) -> i64 {
        let (part, width) = (shape.part(), shape.width());
        let until = (from + LOOK_AHEAD).min(records.rows.len());
        records.rows[from..until].iter().fold(0, |seen, row| {
            let sum = *row as usize * width + turn * part;
            seen ^ self.next[*row as usize] ^ self.cells[sum] ^ self.cells[sum + part - 1]
        })
    }

    fn ring(&self, shape: &Shape) -> Ring {
        Ring {
            start: self.since.saturating_mul(shape.size),
            length: shape.panes * shape.size,
            turn: shape.place(self.since),
        }
    }

    /// Put the readings of a record that are in time.
    fn put<T: Level + Into<i64>>(
        &mut self,
        one: &One,
        its: &[T],
        shape: &Shape,
        ring: &mut Ring,
        came: &mut Came,
    ) {
        let (part, width) = (shape.part(), shape.width());
        for (each, level) in its.iter().enumerate() {
            let time = one.start + one.interval * each as i64;
            if time - ring.start >= ring.length {
                self.close_into(shape.pane(time - shape.wait), shape, &mut came.closed);
                *ring = self.ring(shape);
            }
            let into = (time - ring.start) as u64;
            let ahead = quotient(into, shape.size as u64);
            let slot = quotient(into - ahead * shape.size as u64, shape.interval as u64);
            let place = (ring.turn + ahead as usize) % shape.panes as usize;
            self.touch(place, one);
            if *level == T::NONE {
                continue;
            }
            came.holding += 1;
            let pane = &mut self.cells[one.row * width + place * part..][..part];
            let (word, bit) = (1 + (slot / BITS) as usize, 1 << (slot % BITS));
            if pane[word] & bit == 0 {
                pane[word] |= bit;
                pane[0] += (*level).into();
                came.fresh += 1;
            }
        }
    }

    /// Note a record in a pane that it touches first.
    fn touch(&mut self, place: usize, one: &One) {
        let opened = &mut self.opened[place * TOUCH..][..TOUCH];
        if one.offset < opened[0] || (one.offset == opened[0] && (one.row as i64) < opened[1]) {
            opened.copy_from_slice(&[one.offset, one.row as i64, one.before]);
        }
    }

    fn close_into(&mut self, until: i64, shape: &Shape, closed: &mut Closed) {
        let (part, width) = (shape.part(), shape.width());
        for pane in self.since..until.min(self.since + shape.panes) {
            let place = shape.place(pane);
            if self.opened[place * TOUCH] == NOT_OPEN {
                continue;
            }
            self.opened[place * TOUCH] = NOT_OPEN;
            for (row, cells) in self.cells.chunks_exact_mut(width).enumerate() {
                let its = &mut cells[place * part..][..part];
                let count: u32 = its[1..].iter().map(|word| word.count_ones()).sum();
                if count > 0 {
                    let found = [row as i64, pane, its[0], i64::from(count)];
                    closed
                        .iter_mut()
                        .zip(found)
                        .for_each(|(to, one)| to.push(one));
                    its.fill(0);
                }
            }
        }
        for next in self.next.iter_mut().filter(|next| **next != UNKNOWN) {
            *next = until.max(*next);
        }
        self.since = until;
    }
}
