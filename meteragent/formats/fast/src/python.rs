//! The border to Python.

use crate::batch;
use crate::columns::{Columns, Names};
use crate::python_slots::array;
use crate::unpack::Fault;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// Columns of int64 and float64, what is odd, and the ids that are new.
type Found<'py> = (
    [Bound<'py, PyAny>; 6],
    Bound<'py, PyAny>,
    Vec<(i64, i64, Option<Bound<'py, PyBytes>>)>,
    Bound<'py, PyList>,
);

/// Reads records, and gives ids their numbers.
#[pyclass]
#[derive(Default)]
struct Reader {
    names: Names,
}

#[pymethods]
impl Reader {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// How many bytes the ids have that were met.
    #[getter]
    fn bytes_of_names(&self) -> usize {
        self.names.bytes()
    }

    /// The records of batches that stand in `raw`, from one offset on and before another.
    ///
    /// Nothing: they are not plain, and somebody else has to read them. OverflowError: one
    /// unpacks to more than `most` bytes. ValueError: one is corrupt.
    fn batches<'py>(
        &mut self,
        py: Python<'py>,
        raw: PyReadonlyArray1<'_, u8>,
        spans: Vec<(usize, usize)>,
        first: i64,
        until: i64,
        most: usize,
    ) -> PyResult<Option<Found<'py>>> {
        let mut columns = Columns::default();
        let raw = raw.as_slice()?;
        for (at, end) in spans {
            let bytes = raw
                .get(at..end)
                .ok_or_else(|| PyValueError::new_err("no such span"))?;
            match batch::add(&mut columns, &mut self.names, bytes, &(first..until), most) {
                Ok(()) => {}
                Err(Fault::Unsure) => return Ok(None),
                Err(Fault::TooLarge) => return Err(PyOverflowError::new_err(())),
                Err(Fault::Corrupt) => return Err(PyValueError::new_err(())),
            }
        }
        self.told(py, columns).map(Some)
    }

    /// The records of whole lines, of which the first has this number, all written then.
    fn lines<'py>(
        &mut self,
        py: Python<'py>,
        text: &[u8],
        first: i64,
        timestamp: i64,
    ) -> PyResult<(Found<'py>, i64)> {
        let mut columns = Columns::default();
        let after = columns.add_lines(&mut self.names, text, first, timestamp);
        Ok((self.told(py, columns)?, after))
    }
}

impl Reader {
    fn told<'py>(&mut self, py: Python<'py>, columns: Columns) -> PyResult<Found<'py>> {
        let c = columns;
        let odd = c.odd.iter().map(|o| {
            (
                o.offset,
                o.timestamp,
                o.value.as_deref().map(|value| PyBytes::new(py, value)),
            )
        });
        let odd = odd.collect();
        let integers = [
            c.numbers,
            c.offsets,
            c.timestamps,
            c.counts,
            c.starts,
            c.intervals,
        ];
        Ok((
            integers.map(|column| array(py, column)),
            array(py, c.watts),
            odd,
            PyList::new(py, self.names.new.drain(..))?,
        ))
    }
}

/// The checksum of bytes, as batches have it.
#[pyfunction]
fn checksum(raw: PyReadonlyArray1<'_, u8>, at: usize, end: usize) -> PyResult<u32> {
    let bytes = raw
        .as_slice()?
        .get(at..end)
        .ok_or_else(|| PyValueError::new_err("no such span"))?;
    Ok(batch::checksum(bytes))
}

#[pymodule]
fn meteragent_fast(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Reader>()?;
    module.add("MOST_UNPACKED", batch::MOST_UNPACKED)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(crate::python_slots::levels, module)?)?;
    module.add_function(wrap_pyfunction!(crate::python_slots::add, module)?)?;
    module.add_function(wrap_pyfunction!(crate::python_slots::admit, module)?)?;
    module.add_function(wrap_pyfunction!(checksum, module)?)
}
