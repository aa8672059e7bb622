//! The border to Python, for what panes add up to.

use crate::averaged::{Shape, Sums};
use crate::python_slots::{array, crooked, records_of};
use crate::slots::Level;
use numpy::{Element, PyReadonlyArray1, PyReadwriteArray1, PyReadwriteArrayDyn};
use pyo3::prelude::*;

type Array<'py> = Bound<'py, PyAny>;

/// The first open panes, what is held of open panes, and what touched them first.
type State<'py> = (
    PyReadwriteArray1<'py, i64>,
    PyReadwriteArrayDyn<'py, i64>,
    PyReadwriteArrayDyn<'py, i64>,
);

/// How many readings held a value, how many of these found an empty slot, how many were late; which is
/// the first pane that may hold anything now; what has closed: rows, panes, sums, how many slots.
type Found<'py> = ((usize, usize, i64), i64, [Array<'py>; 4]);

/// Take records in, one after the other.
#[pyfunction]
pub fn add_up<'py>(
    py: Python<'py>,
    columns: [PyReadonlyArray1<'py, i64>; 7],
    values: &Array<'py>,
    state: State<'py>,
    since: i64,
    shape: [i64; 5],
) -> PyResult<Found<'py>> {
    if let Ok(values) = values.extract() {
        added_up::<i8>(py, &columns, values, state, since, shape)
    } else if let Ok(values) = values.extract() {
        added_up::<i16>(py, &columns, values, state, since, shape)
    } else {
        added_up::<i32>(py, &columns, values.extract()?, state, since, shape)
    }
}

fn added_up<'py, T: Level + Element + Into<i64>>(
    py: Python<'py>,
    columns: &[PyReadonlyArray1<'py, i64>; 7],
    values: PyReadonlyArray1<'py, T>,
    mut state: State<'py>,
    since: i64,
    shape: [i64; 5],
) -> PyResult<Found<'py>> {
    let mut sums = sums_of(&mut state, since)?;
    let came = sums.add(&records_of(columns)?, values.as_slice()?, &shape_of(shape));
    let came = came.ok_or_else(crooked)?;
    Ok((
        (came.holding, came.fresh, came.late),
        sums.since,
        came.closed.map(|column| array(py, column)),
    ))
}

/// Close the panes before `until`: rows, panes, sums, how many slots.
#[pyfunction]
pub fn close_sums<'py>(
    py: Python<'py>,
    mut state: State<'py>,
    since: i64,
    until: i64,
    shape: [i64; 5],
) -> PyResult<[Array<'py>; 4]> {
    let closed = sums_of(&mut state, since)?.close(until, &shape_of(shape));
    Ok(closed.ok_or_else(crooked)?.map(|column| array(py, column)))
}

fn sums_of<'a>((next, cells, opened): &'a mut State<'_>, since: i64) -> PyResult<Sums<'a>> {
    Ok(Sums {
        next: next.as_slice_mut()?,
        cells: cells.as_slice_mut()?,
        opened: opened.as_slice_mut()?,
        since,
    })
}

fn shape_of([size, interval, grace, wait, panes]: [i64; 5]) -> Shape {
    Shape {
        size,
        interval,
        grace,
        wait,
        panes,
    }
}
