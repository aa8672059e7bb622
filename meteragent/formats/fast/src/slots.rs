//! Readings -> levels, and into the slots of open panes: `meteragent.stream.panes` says which.
//!
//! One reading after the other. What is left to the twin is left from a meter's first such record on:
//! those of meters that are new, and where presence is private those that close anything.

use std::hint::black_box;

/// How many records are looked at together, before they are taken in one after the other.
pub(crate) const LOOK_AHEAD: usize = 32;
/// The level of a slot that holds no reading.
pub const ABSENT: i32 = -1;
/// `next` of a meter that was never heard of.
pub const UNKNOWN: i64 = -(1 << 62);
/// What stands for a pane that is not open.
pub const NOT_OPEN: i64 = i64::MAX;
/// From here on no record is needed for a pane: it is not open, or all of it is written down.
pub const CARRIED: i64 = i64::MAX - 2;

/// The kinds of numbers that hold levels.
pub trait Level: Copy + PartialEq {
    /// No reading.
    const NONE: Self;
    /// Precondition: it fits.
    fn of(level: i64) -> Self;
}

macro_rules! level {
    ($($kind:ty)*) => {
        $(impl Level for $kind {
            const NONE: Self = ABSENT as $kind;
            fn of(level: i64) -> Self {
                level as $kind
            }
        })*
    };
}
level!(i8 i16 i32 i64);

/// The grid of a meter, in whole numbers: `meteragent.privacy.domain` says what they are.
pub struct Grid {
    /// The lowest reading, in watts.
    pub low: f64,
    /// The highest one.
    pub high: f64,
    /// How many units a watt is.
    pub scale: f64,
    /// Half a step above twice the lowest one, taken off; in units.
    pub lift: i64,
    /// Twice a step, in units.
    pub divisor: u64,
    /// How many levels a step is.
    pub finer: i64,
}

impl Grid {
    /// Clipped, and rounded half up, as the twin rounds.
    pub fn level<T: Level>(&self, watts: f64) -> T {
        if watts.is_nan() {
            return T::NONE;
        }
        let within = watts.clamp(self.low, self.high) * self.scale + 0.5;
        let lifted = (within.floor() as i64) * 2 + self.lift; // clipped, so it is not negative
        T::of(quotient(lifted as u64, self.divisor) as i64 * self.finer)
    }
}

/// Small numbers are divided several times as fast.
pub fn quotient(number: u64, divisor: u64) -> u64 {
    match (u32::try_from(number), u32::try_from(divisor)) {
        (Ok(number), Ok(divisor)) => u64::from(number / divisor),
        _ => number / divisor,
    }
}

/// Records, an entry each: readings of one meter, equally far apart.
pub struct Records<'a> {
    /// Of meters.
    pub rows: &'a [i64],
    /// Where they stand.
    pub offsets: &'a [i64],
    /// The partition's clock before each.
    pub before: &'a [i64],
    /// The time of the first reading.
    pub starts: &'a [i64],
    /// From each to the next.
    pub intervals: &'a [i64],
    /// How many there are.
    pub counts: &'a [i64],
    /// Where the level of the first one stands.
    pub firsts: &'a [i64],
}

/// How panes are cut, and how long they are open; times are in milliseconds.
#[derive(Clone, Copy)]
pub struct Shape {
    /// From the start of a pane to the start of the next.
    pub size: i64,
    /// From a slot to the next.
    pub interval: i64,
    /// For how long after its end a pane takes readings of its meter's own later times.
    pub patience: i64,
    /// For how long it is open to any, by the partition's clock.
    pub wait: i64,
    /// How many slots a row has.
    pub length: i64,
    /// How many panes of a row may be open.
    pub panes: i64,
    /// Whether a pane is told of only if it holds something.
    pub public: bool,
}

/// The open panes of meters, a row each.
pub struct Slots<'a, T> {
    /// The first pane that has not closed.
    pub next: &'a mut [i64],
    /// Whether a row's records are left: nowhere, before and after.
    pub waits: &'a mut [bool],
    /// levels[row, slot]
    pub levels: &'a mut [T],
    /// opened[row, pane]: twice the record that touched it first, and one if older ones are carried.
    pub opened: &'a mut [i64],
    /// The clock before that record.
    pub clocks: &'a mut [i64],
}

/// What came of records.
#[derive(Debug, PartialEq)]
pub struct Came<T> {
    /// How many readings held a value, in time.
    pub holding: usize,
    /// How many of these found their slot empty.
    pub fresh: usize,
    /// How many readings were late.
    pub late: i64,
    /// Which records are left.
    pub left: Vec<i64>,
    /// Panes that have closed: their rows ...
    pub rows: Vec<i64>,
    /// ... their numbers ...
    pub panes: Vec<i64>,
    /// ... and all of their slots, one after the other.
    pub levels: Vec<T>,
    /// Of each record that has closed any, or passed where some might be: its row, the first open
    /// pane before and after it, and where it stands.
    pub passed: Vec<i64>,
}

impl<T> Default for Came<T> {
    fn default() -> Self {
        Came {
            holding: 0,
            fresh: 0,
            late: 0,
            left: Vec::new(),
            rows: Vec::new(),
            panes: Vec::new(),
            levels: Vec::new(),
            passed: Vec::new(),
        }
    }
}

/// What is the same for all rows that begin with this pane.
#[derive(Clone, Copy)]
struct Origin {
    pane: i64,
    start: i64,
    end: i64,
    /// Where in a row its first slot stands, and where among the opened panes it does.
    turn: usize,
    place: usize,
}

impl Shape {
    fn origin(&self, pane: i64) -> Origin {
        Origin {
            pane,
            start: pane * self.size,
            end: (pane + 1) * self.size,
            turn: (pane * self.slots()).rem_euclid(self.length) as usize,
            place: self.place(pane),
        }
    }

    fn slots(&self) -> i64 {
        self.size / self.interval
    }

    fn place(&self, pane: i64) -> usize {
        pane.rem_euclid(self.panes) as usize
    }

    fn pane(&self, time: i64) -> i64 {
        time.div_euclid(self.size)
    }

    fn is_sound(&self) -> bool {
        let some = [self.size, self.interval, self.length, self.panes];
        some.iter().all(|one| *one > 0)
    }
}

/// One record.
pub(crate) struct One {
    pub row: usize,
    pub offset: i64,
    pub before: i64,
    pub start: i64,
    pub interval: i64,
    pub count: i64,
    pub first: usize,
}

impl Records<'_> {
    pub(crate) fn one(&self, nth: usize) -> One {
        One {
            row: self.rows[nth] as usize,
            offset: self.offsets[nth],
            before: self.before[nth],
            start: self.starts[nth],
            interval: self.intervals[nth],
            count: self.counts[nth],
            first: self.firsts[nth] as usize,
        }
    }

    pub(crate) fn fit(&self) -> bool {
        let others = [
            self.offsets,
            self.before,
            self.starts,
            self.intervals,
            self.counts,
            self.firsts,
        ];
        others.iter().all(|column| column.len() == self.rows.len())
    }
}

impl<T: Level> Slots<'_, T> {
    /// Take records in. None: columns do not fit each other, and nothing was done.
    pub fn add(&mut self, records: &Records<'_>, values: &[T], shape: &Shape) -> Option<Came<T>> {
        if !records.fit() || !shape.is_sound() {
            return None;
        }
        let mut came = Came::default();
        let mut origin = shape.origin(0);
        for nth in 0..records.rows.len() {
            if nth % LOOK_AHEAD == 0 {
                black_box(self.looked_at(records, nth, shape, &origin));
            }
            let one = records.one(nth);
            let begin = self.next[one.row];
            if begin != UNKNOWN && !self.waits[one.row] {
                if origin.pane != begin {
                    origin = shape.origin(begin);
                }
                let its = &values[one.first..one.first + one.count as usize];
                if self.is_calm(&one, shape, &origin) {
                    self.put(&one, its, shape, &origin, &mut came);
                    continue;
                }
                if shape.public {
                    self.put_each(one, its, shape, &mut came);
                    continue;
                }
            }
            self.waits[one.row] = true;
            came.left.push(nth as i64);
        }
        for nth in &came.left {
            self.waits[records.rows[*nth as usize] as usize] = false;
        }
        Some(came)
    }

    /// Ask memory for what the next records need: for that of all of them at once, where each would
    /// else be waited for by itself. What is found says nothing.
    fn looked_at(&self, records: &Records<'_>, from: usize, shape: &Shape, origin: &Origin) -> i64 {
        let (length, panes) = (shape.length as usize, shape.panes as usize);
        let until = (from + LOOK_AHEAD).min(records.rows.len());
        (from..until).fold(0, |seen, nth| {
            let row = records.rows[nth] as usize;
            let into = (records.starts[nth] - origin.start).max(0) as u64;
            let slot = origin.turn + quotient(into, shape.interval as u64) as usize;
            let slot = if slot < length { slot } else { slot - length }; // about there, at least
            let level = self.levels.get(row * length + slot);
            let empty = level.is_some_and(|level| *level == T::NONE);
            seen ^ self.next[row] ^ self.opened[row * panes + origin.place] ^ i64::from(empty)
        })
    }

    /// Whether a record is in time, and closes nothing of its meter.
    fn is_calm(&self, one: &One, shape: &Shape, origin: &Origin) -> bool {
        let end = one.start + one.interval * (one.count - 1);
        let clock = one.before - shape.wait;
        one.start >= origin.start
            && end - shape.patience < origin.end
            && (clock < origin.end || shape.pane(clock) <= shape.pane(one.start))
    }

    /// Put a calm record.
    fn put(&mut self, one: &One, its: &[T], shape: &Shape, origin: &Origin, came: &mut Came<T>) {
        let end = one.start + one.interval * (one.count - 1);
        let mut touch = |place| {
            self.touch(
                one.row * shape.panes as usize + place,
                one.offset,
                one.before,
            );
        };
        if end < origin.end {
            touch(origin.place);
        } else {
            let (pane, last) = (shape.pane(one.start), shape.pane(end));
            if last - pane >= one.count {
                for each in 0..one.count {
                    touch(shape.place(shape.pane(one.start + one.interval * each)));
                }
            } else {
                (pane..=last).for_each(|pane| touch(shape.place(pane)));
            }
        }
        let length = shape.length as usize;
        let cells = &mut self.levels[one.row * length..][..length];
        let into = (one.start - origin.start) as u64;
        let slot = origin.turn + quotient(into, shape.interval as u64) as usize;
        if one.interval == shape.interval || one.count == 1 {
            fill(cells, its, came, |each| slot + each);
        } else {
            let rest = into as i64 % shape.interval;
            fill(cells, its, came, |each| {
                slot + ((rest + one.interval * each as i64) / shape.interval) as usize
            });
        }
    }

    /// Put a record's readings by turns: those that close nothing, and what closes panes by itself.
    fn put_each(&mut self, mut one: One, mut its: &[T], shape: &Shape, came: &mut Came<T>) {
        let begin = self.next[one.row];
        let open = begin.max(shape.pane(one.before - shape.wait)) * shape.size;
        let late = readings_before(&one, open);
        came.late += late;
        skip(&mut one, &mut its, late);
        while one.count > 0 {
            let origin = shape.origin(self.next[one.row]);
            let calm = readings_before(&one, origin.end + shape.patience);
            if calm > 0 {
                let part = One { count: calm, ..one };
                self.put(&part, &its[..calm as usize], shape, &origin, came);
                skip(&mut one, &mut its, calm);
            } else {
                self.close(&one, shape.pane(one.start - shape.patience), shape, came);
            }
        }
    }

    /// Close the panes of a row before this one, because of a record.
    fn close(&mut self, one: &One, until: i64, shape: &Shape, came: &mut Came<T>) {
        let (row, begin) = (one.row, self.next[one.row]);
        let (length, slots) = (shape.length as usize, shape.slots() as usize);
        for pane in begin..until.min(begin + shape.panes) {
            let cell = row * shape.panes as usize + shape.place(pane);
            if self.opened[cell] != NOT_OPEN {
                self.opened[cell] = NOT_OPEN;
                self.cut(row * length, length, shape.origin(pane).turn, slots, came);
                if came.levels.len() > came.panes.len() * slots {
                    came.rows.push(row as i64);
                    came.panes.push(pane);
                }
            }
        }
        self.next[row] = until;
        came.passed.extend([row as i64, begin, until, one.offset]);
    }

    /// Take the slots of a pane out of a row; what holds nothing is not told of.
    fn cut(&mut self, first: usize, length: usize, turn: usize, slots: usize, came: &mut Came<T>) {
        let row = &mut self.levels[first..first + length];
        let told = came.levels.len();
        let ahead = slots.min(length - turn);
        for part in [turn..turn + ahead, 0..slots - ahead] {
            came.levels.extend_from_slice(&row[part.clone()]);
            row[part].fill(T::NONE);
        }
        if came.levels[told..].iter().all(|level| *level == T::NONE) {
            came.levels.truncate(told);
        }
    }

    /// Note a record in a pane that it touches first.
    fn touch(&mut self, cell: usize, offset: i64, before: i64) {
        let opened = self.opened[cell];
        if opened >= CARRIED {
            self.opened[cell] = 2 * offset + i64::from(opened == CARRIED);
            self.clocks[cell] = before;
        }
    }
}

/// How many readings of a record come before a time.
pub(crate) fn readings_before(one: &One, time: i64) -> i64 {
    let ahead = time - one.start;
    if ahead <= 0 {
        0
    } else {
        ((ahead - 1) / one.interval + 1).min(one.count)
    }
}

/// Leave the first readings of a record out.
pub(crate) fn skip<T>(one: &mut One, its: &mut &[T], count: i64) {
    one.start += one.interval * count;
    one.count -= count;
    *its = &its[count as usize..];
}

/// Put the levels of one record into its row; the first of a slot stays.
fn fill<T: Level>(cells: &mut [T], its: &[T], came: &mut Came<T>, place: impl Fn(usize) -> usize) {
    for (each, level) in its.iter().enumerate() {
        if *level == T::NONE {
            continue;
        }
        came.holding += 1;
        let place = place(each);
        let turned = if place < cells.len() {
            place
        } else {
            place - cells.len()
        };
        if cells[turned] == T::NONE {
            cells[turned] = *level;
            came.fresh += 1;
        }
    }
}
