//! The border to Python, for slots: numpy's arrays are looked at, and changed, where they are.

use crate::admit::Runs;
use crate::slots::{Grid, Level, Records, Shape, Slots};
use numpy::{Element, PyArray1, PyReadonlyArray1, PyReadwriteArray1, PyReadwriteArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

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

/// What is changed of a store: the first open panes, which rows wait, what opened their panes, and
/// the clock before that.
type State<'py> = (
    PyReadwriteArray1<'py, i64>,
    PyReadwriteArrayDyn<'py, bool>,
    PyReadwriteArrayDyn<'py, i64>,
    PyReadwriteArrayDyn<'py, i64>,
);

/// How many readings held a value, how many of these found an empty slot, how many were late; which
/// records are left; what has closed: rows, panes, levels; and which records have closed it.
type Found<'py> = (
    (usize, usize, i64),
    Array<'py>,
    (Array<'py>, Array<'py>, Array<'py>),
    Array<'py>,
);

/// Take records in, one after the other.
#[pyfunction]
pub fn add<'py>(
    py: Python<'py>,
    columns: [PyReadonlyArray1<'py, i64>; 7],
    values: &Array<'py>,
    mut state: State<'py>,
    into: &Array<'py>,
    shape: ([i64; 6], bool),
) -> PyResult<Found<'py>> {
    let records = records_of(&columns)?;
    if let Ok(into) = into.extract() {
        add_to::<i8>(py, &records, values, &mut state, into, shape)
    } else if let Ok(into) = into.extract() {
        add_to::<i16>(py, &records, values, &mut state, into, shape)
    } else if let Ok(into) = into.extract() {
        add_to::<i32>(py, &records, values, &mut state, into, shape)
    } else {
        add_to::<i64>(py, &records, values, &mut state, into.extract()?, shape)
    }
}

fn add_to<'py, T: Level + Element>(
    py: Python<'py>,
    records: &Records<'_>,
    values: &Array<'py>,
    (next, waits, opened, clocks): &mut State<'py>,
    mut into: PyReadwriteArrayDyn<'py, T>,
    ([size, interval, patience, wait, length, panes], public): ([i64; 6], bool),
) -> PyResult<Found<'py>> {
    let values: PyReadonlyArray1<'_, T> = values.extract()?;
    let shape = Shape {
        size,
        interval,
        patience,
        wait,
        length,
        panes,
        public,
    };
    let mut slots = Slots {
        next: next.as_slice_mut()?,
        waits: waits.as_slice_mut()?,
        levels: into.as_slice_mut()?,
        opened: opened.as_slice_mut()?,
        clocks: clocks.as_slice_mut()?,
    };
    let came = slots.add(records, values.as_slice()?, &shape);
    let came = came.ok_or_else(crooked)?;
    Ok((
        (came.holding, came.fresh, came.late),
        array(py, came.left),
        (
            array(py, came.rows),
            array(py, came.panes),
            array(py, came.levels),
        ),
        array(py, came.passed),
    ))
}

/// Records by their columns.
pub fn records_of<'a>(columns: &'a [PyReadonlyArray1<'_, i64>; 7]) -> PyResult<Records<'a>> {
    let [rows, offsets, before, starts, intervals, counts, firsts] = columns;
    Ok(Records {
        rows: rows.as_slice()?,
        offsets: offsets.as_slice()?,
        before: before.as_slice()?,
        starts: starts.as_slice()?,
        intervals: intervals.as_slice()?,
        counts: counts.as_slice()?,
        firsts: firsts.as_slice()?,
    })
}

/// Whose records are, and the clock before each and after all; nothing if some are out of the ordinary.
#[pyfunction]
pub fn admit<'py>(
    py: Python<'py>,
    columns: [PyReadonlyArray1<'py, i64>; 5],
    homes: PyReadonlyArray1<'py, i64>,
    skew: i64,
    clock: i64,
) -> PyResult<Option<[Array<'py>; 2]>> {
    let [numbers, written, starts, intervals, counts] = &columns;
    let runs = Runs {
        numbers: numbers.as_slice()?,
        written: written.as_slice()?,
        starts: starts.as_slice()?,
        intervals: intervals.as_slice()?,
        counts: counts.as_slice()?,
    };
    let found = crate::admit::admit(&runs, homes.as_slice()?, skew, clock);
    Ok(found.map(|columns| columns.map(|column| array(py, column))))
}

/// A column, as it is.
pub fn array<T: Element>(py: Python<'_>, column: Vec<T>) -> Array<'_> {
    PyArray1::from_vec(py, column).into_any()
}

/// Columns are not as they have to be.
pub fn crooked() -> PyErr {
    PyValueError::new_err("arrays do not fit each other")
}
