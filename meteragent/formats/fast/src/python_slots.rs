//! The border to Python, for slots: numpy's arrays are looked at, and changed, where they are.

use crate::slots::{Grid, Level, Put, Records, Shape, Slots};
use numpy::{Element, PyReadonlyArray1, PyReadwriteArray1, PyReadwriteArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

type Array<'py> = Bound<'py, PyAny>;

/// Levels of readings, as the grid says, into an array of as many.
#[pyfunction]
pub fn levels(
    watts: PyReadonlyArray1<'_, f64>,
    into: &Array<'_>,
    bounds: (f64, f64, f64),
    steps: (i64, u64, i64),
) -> PyResult<()> {
    let grid = Grid {
        low: bounds.0,
        high: bounds.1,
        scale: bounds.2,
        lift: steps.0,
        divisor: steps.1.max(1),
        finer: steps.2,
    };
    let watts = watts.as_slice()?;
    if let Ok(into) = into.extract() {
        quantised::<i8>(watts, into, &grid)
    } else if let Ok(into) = into.extract() {
        quantised::<i16>(watts, into, &grid)
    } else {
        quantised::<i32>(watts, into.extract()?, &grid)
    }
}

fn quantised<T: Level + Element>(
    watts: &[f64],
    mut into: PyReadwriteArray1<'_, T>,
    grid: &Grid,
) -> PyResult<()> {
    let into = into.as_slice_mut()?;
    if watts.len() != into.len() {
        return Err(crooked());
    }
    for (from, to) in watts.iter().zip(into) {
        *to = grid.level(*from);
    }
    Ok(())
}

/// What is changed of a store: which rows move, what opened their panes, and the clock before that.
type State<'py> = (
    PyReadwriteArrayDyn<'py, bool>,
    PyReadwriteArrayDyn<'py, i64>,
    PyReadwriteArrayDyn<'py, i64>,
);

/// Put calm records into their slots: how many readings held a value, how many of them found an
/// empty slot, and which records are left.
#[pyfunction]
pub fn put<'py>(
    py: Python<'py>,
    columns: [PyReadonlyArray1<'py, i64>; 7],
    values: &Array<'py>,
    next: PyReadonlyArray1<'py, i64>,
    mut state: State<'py>,
    into: &Array<'py>,
    shape: [i64; 6],
) -> PyResult<(usize, usize, Bound<'py, PyBytes>)> {
    let [rows, offsets, before, starts, intervals, counts, firsts] = &columns;
    let records = Records {
        rows: rows.as_slice()?,
        offsets: offsets.as_slice()?,
        before: before.as_slice()?,
        starts: starts.as_slice()?,
        intervals: intervals.as_slice()?,
        counts: counts.as_slice()?,
        firsts: firsts.as_slice()?,
    };
    let next = next.as_slice()?;
    let put = if let Ok(into) = into.extract() {
        put_into::<i8>(&records, values, next, &mut state, into, shape)
    } else if let Ok(into) = into.extract() {
        put_into::<i16>(&records, values, next, &mut state, into, shape)
    } else {
        put_into::<i32>(&records, values, next, &mut state, into.extract()?, shape)
    }?;
    let left = crate::python::packed(py, &put.left, |number| number.to_ne_bytes())?;
    Ok((put.holding, put.fresh, left))
}

fn put_into<T: Level + Element>(
    records: &Records<'_>,
    values: &Array<'_>,
    next: &[i64],
    (moves, opened, clocks): &mut State<'_>,
    mut into: PyReadwriteArrayDyn<'_, T>,
    [size, interval, patience, wait, length, panes]: [i64; 6],
) -> PyResult<Put> {
    let values: PyReadonlyArray1<'_, T> = values.extract()?;
    let shape = Shape {
        size,
        interval,
        patience,
        wait,
        length,
        panes,
    };
    let mut slots = Slots {
        next,
        moves: moves.as_slice_mut()?,
        levels: into.as_slice_mut()?,
        opened: opened.as_slice_mut()?,
        clocks: clocks.as_slice_mut()?,
    };
    let put = slots.put(records, values.as_slice()?, &shape);
    put.ok_or_else(crooked)
}

fn crooked() -> PyErr {
    PyValueError::new_err("arrays do not fit each other")
}
