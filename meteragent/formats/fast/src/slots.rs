//! Readings -> levels, and into the slots of open panes: `meteragent.stream.panes` says which.
//!
//! Only what is *calm* is put: in time, and closing nothing. From the first other record of a meter
//! on all of its records are left to the twin, in their order.

/// The level of a slot that holds no reading.
pub const ABSENT: i32 = -1;
/// `next` of a meter that was never heard of.
pub const UNKNOWN: i64 = -(1 << 62);
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
level!(i8 i16 i32);

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
fn quotient(number: u64, divisor: u64) -> u64 {
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

/// How panes are cut, and how long they are open; in milliseconds, but for the last two.
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
}

/// The open panes of meters, a row each.
pub struct Slots<'a, T> {
    /// The first pane that has not closed.
    pub next: &'a [i64],
    /// Whether a row moves: nowhere, before and after.
    pub moves: &'a mut [bool],
    /// levels[row, slot]
    pub levels: &'a mut [T],
    /// opened[row, pane]: twice the record that touched it first, and one if older ones are carried.
    pub opened: &'a mut [i64],
    /// The clock before that record.
    pub clocks: &'a mut [i64],
}

/// What came of records.
#[derive(Debug, Default, PartialEq)]
pub struct Put {
    /// How many readings held a value.
    pub holding: usize,
    /// How many of these found their slot empty.
    pub fresh: usize,
    /// Which records were not put.
    pub left: Vec<i64>,
}

/// What is the same for all records that find this pane the first open one.
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
        let slots = self.size / self.interval;
        Origin {
            pane,
            start: pane * self.size,
            end: (pane + 1) * self.size,
            turn: (pane * slots).rem_euclid(self.length) as usize,
            place: self.place(pane),
        }
    }

    fn place(&self, pane: i64) -> usize {
        pane.rem_euclid(self.panes) as usize
    }

    fn pane(&self, time: i64) -> i64 {
        time.div_euclid(self.size)
    }

    /// Whether a record is in time, and closes nothing of its meter.
    fn is_calm(&self, start: i64, end: i64, before: i64, origin: &Origin) -> bool {
        let clock = before - self.wait;
        start >= origin.start
            && end - self.patience < origin.end
            && (clock < origin.end || self.pane(clock) <= self.pane(start))
    }
}

impl<T: Level> Slots<'_, T> {
    /// Put what is calm. None: columns do not fit each other, and nothing was done.
    pub fn put(&mut self, records: &Records<'_>, values: &[T], shape: &Shape) -> Option<Put> {
        let count = records.rows.len();
        let fits = [
            records.offsets,
            records.before,
            records.starts,
            records.intervals,
            records.counts,
            records.firsts,
        ];
        let Shape {
            size,
            interval,
            length,
            panes,
            ..
        } = *shape;
        if fits.iter().any(|column| column.len() != count)
            || [size, interval, length, panes].iter().any(|some| *some < 1)
        {
            return None;
        }
        let mut put = Put::default();
        let mut origin = shape.origin(0);
        for nth in 0..count {
            let row = records.rows[nth] as usize;
            let begin = self.next[row];
            if !self.moves[row] && begin != UNKNOWN {
                if origin.pane != begin {
                    origin = shape.origin(begin);
                }
                if self.put_one(records, nth, values, shape, &origin, &mut put) {
                    continue;
                }
            }
            self.moves[row] = true;
            put.left.push(nth as i64);
        }
        for nth in &put.left {
            self.moves[records.rows[*nth as usize] as usize] = false;
        }
        Some(put)
    }

    /// Put one, or do nothing because it is not calm.
    fn put_one(
        &mut self,
        records: &Records<'_>,
        nth: usize,
        values: &[T],
        shape: &Shape,
        origin: &Origin,
        put: &mut Put,
    ) -> bool {
        let (start, interval) = (records.starts[nth], records.intervals[nth]);
        let (count, before) = (records.counts[nth], records.before[nth]);
        let end = start + interval * (count - 1);
        if !shape.is_calm(start, end, before, origin) {
            return false;
        }
        let (row, offset) = (records.rows[nth] as usize, records.offsets[nth]);
        let mut touch = |place| self.touch(row * shape.panes as usize + place, offset, before);
        let (pane, last) = (shape.pane(start), shape.pane(end));
        if end < origin.end {
            touch(origin.place);
        } else if last - pane >= count {
            (0..count).for_each(|each| touch(shape.place(shape.pane(start + interval * each))));
        } else {
            (pane..=last).for_each(|pane| touch(shape.place(pane)));
        }
        let first = records.firsts[nth] as usize;
        let its = &values[first..first + count as usize];
        let length = shape.length as usize;
        let cells = &mut self.levels[row * length..][..length];
        let into = (start - origin.start) as u64;
        let slot = origin.turn + quotient(into, shape.interval as u64) as usize;
        if interval == shape.interval || count == 1 {
            fill(cells, its, put, |each| slot + each);
        } else {
            let rest = into as i64 % shape.interval;
            fill(cells, its, put, |each| {
                slot + ((rest + interval * each as i64) / shape.interval) as usize
            });
        }
        true
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

/// Put the levels of one record into its row; the first of a slot stays.
fn fill<T: Level>(cells: &mut [T], its: &[T], put: &mut Put, place: impl Fn(usize) -> usize) {
    for (each, level) in its.iter().enumerate() {
        if *level == T::NONE {
            continue;
        }
        put.holding += 1;
        let place = place(each);
        let turned = if place < cells.len() {
            place
        } else {
            place - cells.len()
        };
        if cells[turned] == T::NONE {
            cells[turned] = *level;
            put.fresh += 1;
        }
    }
}
