//! Whose records are, and how the clock goes on with them, where nothing is out of the ordinary:
//! `meteragent.stream.residents` says what is.

/// Records, an entry each.
pub struct Runs<'a> {
    /// Whose they are: the numbers of ids.
    pub numbers: &'a [i64],
    /// When they were written.
    pub written: &'a [i64],
    /// The time of the first reading.
    pub starts: &'a [i64],
    /// From each to the next.
    pub intervals: &'a [i64],
    /// How many there are.
    pub counts: &'a [i64],
}

/// The home of each record, and the clock before each and after all of them.
///
/// None: some id has no home yet, or some record is further ahead of when it was written than
/// `skew`; or columns do not fit each other.
pub fn admit(runs: &Runs<'_>, homes: &[i64], skew: i64, mut clock: i64) -> Option<[Vec<i64>; 2]> {
    let count = runs.numbers.len();
    let columns = [runs.written, runs.starts, runs.intervals, runs.counts];
    if columns.iter().any(|column| column.len() != count) {
        return None;
    }
    let (mut found, mut clocks) = (Vec::with_capacity(count), Vec::with_capacity(count + 1));
    clocks.push(clock);
    for (nth, number) in runs.numbers.iter().enumerate() {
        let home = *homes.get(usize::try_from(*number).ok()?)?;
        let steps = runs.counts[nth].checked_sub(1)?;
        let end = runs.starts[nth].checked_add(runs.intervals[nth].checked_mul(steps)?)?;
        if home < 0 || end > runs.written[nth].saturating_add(skew) {
            return None;
        }
        clock = clock.max(end);
        found.push(home);
        clocks.push(clock);
    }
    Some([found, clocks])
}
