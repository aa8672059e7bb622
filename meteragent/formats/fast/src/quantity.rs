//! Energy that an interval took to its average power: the twin of `meteragent.formats.quantity`.

use crate::slots::quotient;

/// Below it no two whole numbers of parts are one float.
const WHOLE: f64 = (1u64 << 52) as f64;
const MILLI: f64 = 1000.0;

/// Numbers that are whole multiples of a part of their unit: how many milliwatts so many parts are.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    parts: f64,
    times: i64,
    by: i64,
    most: f64,
}

impl Cut {
    /// So many parts of a unit, each of which is a ratio of milliwatts. Nothing: that is no ratio.
    pub fn new(parts: f64, times: i64, by: i64) -> Option<Self> {
        (times > 0 && by > 0).then(|| Cut {
            parts,
            times,
            by,
            most: WHOLE.min((i64::MAX / times) as f64),
        })
    }

    /// The watts of a value, cut to whole milliwatts. Nothing: it is no such multiple.
    #[inline]
    fn watts(&self, value: f64) -> Option<f64> {
        let whole = (value * self.parts).round_ties_even();
        if whole.abs() >= self.most || whole / self.parts != value {
            return None;
        }
        let product = whole as i64 * self.times;
        let milliwatts = match u64::try_from(product) {
            Ok(product) => quotient(product, self.by as u64) as i64,
            Err(_) => product.div_euclid(self.by),
        };
        Some(milliwatts as f64 / MILLI)
    }
}

/// What values are in watts, and which of them are not said here. NaN stays what it is.
pub fn watts(values: &[f64], cuts: &[Cut]) -> (Vec<f64>, Vec<i64>) {
    let mut left = Vec::new();
    let told = values.iter().enumerate().map(|(at, value)| {
        let found = cuts.iter().find_map(|cut| cut.watts(*value));
        if found.is_none() && !value.is_nan() {
            left.push(at as i64);
        }
        found.unwrap_or(*value)
    });
    (told.collect(), left)
}
