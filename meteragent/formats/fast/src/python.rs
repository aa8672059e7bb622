//! The border to Python.

use crate::batch;
use crate::columns::{Columns, Form, Names, Standing};
use crate::form::{Mapped, Registered};
use crate::python_form::{self, Asked};
use crate::python_slots::array;
use crate::quantity::{self, Cut};
use crate::record::Canonical;
use crate::table::Table;
use crate::unpack::Fault;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// Columns of int64 and float64, what is odd, and the ids that are new.
type Found<'py> = (
    [Bound<'py, PyAny>; 7],
    Bound<'py, PyAny>,
    Vec<(i64, i64, Option<Bound<'py, PyBytes>>)>,
    Bound<'py, PyList>,
);

/// What records are written in.
enum Written {
    Canonical(Canonical),
    Mapped(Box<Mapped>),
    Table(Box<Table>),
    Registered(Box<Registered>),
}

impl Form for Written {
    #[inline]
    fn read(
        &mut self,
        record: &[u8],
        names: &mut Names,
        columns: &mut Columns,
        at: Standing,
    ) -> Option<()> {
        match self {
            Written::Canonical(form) => form.read(record, names, columns, at),
            Written::Mapped(form) => form.read(record, names, columns, at),
            Written::Table(form) => form.read(record, names, columns, at),
            Written::Registered(form) => form.read(record, names, columns, at),
        }
    }
}

/// Reads records, and gives ids their numbers.
#[pyclass]
struct Reader {
    form: Written,
    names: Names,
}

impl Reader {
    fn of(form: Written) -> Self {
        Reader {
            form,
            names: Names::default(),
        }
    }
}

#[pymethods]
impl Reader {
    /// Of canonical JSON.
    #[new]
    fn new() -> Self {
        Reader::of(Written::Canonical(Canonical))
    }

    /// Of JSON under a mapping; nothing, if something of it is not done here.
    #[staticmethod]
    fn mapped(asked: Asked) -> Option<Self> {
        let form = asked.mapped()?;
        Some(Reader::of(Written::Mapped(Box::new(form))))
    }

    /// Of lines whose fields are asked for by their columns; nothing, as before.
    #[staticmethod]
    fn table(asked: Asked, delimiter: u8, needed: usize) -> Option<Self> {
        let form = asked.table(delimiter, needed)?;
        Some(Reader::of(Written::Table(Box::new(form))))
    }

    /// Of Avro behind the ids of schemas, canonical or under a mapping; nothing, as before.
    #[staticmethod]
    #[pyo3(signature = (asked=None))]
    fn registered(asked: Option<Asked>) -> Option<Self> {
        let form = match asked {
            None => python_form::canonical()?,
            Some(asked) => asked.registered()?,
        };
        Some(Reader::of(Written::Registered(Box::new(form))))
    }

    /// Know a schema; false if its messages are not read here.
    fn learn(&mut self, number: u32, kind: &Bound<'_, PyAny>) -> PyResult<bool> {
        match &mut self.form {
            Written::Registered(form) => Ok(form.learn(number, python_form::kind(kind)?)),
            _ => Err(PyValueError::new_err("no schemas")),
        }
    }

    /// Know a schema no longer.
    fn forget(&mut self, number: u32) {
        if let Written::Registered(form) = &mut self.form {
            form.forget(number);
        }
    }

    /// Forget the ids that were met.
    fn forget_names(&mut self) {
        self.names = Names::default();
    }

    /// How many bytes the ids have that were met.
    #[getter]
    fn bytes_of_names(&self) -> usize {
        self.names.bytes()
    }

    /// The records of batches that stand in `raw`, from one offset on and before another.
    ///
    /// Nothing: they are not plain, and somebody else has to read them. OverflowError: one
    /// unpacks to more than `most` bytes, or that much comes of all. ValueError: one is corrupt.
    fn batches<'py>(
        &mut self,
        py: Python<'py>,
        raw: PyReadonlyArray1<'_, u8>,
        spans: Vec<(usize, usize)>,
        first: i64,
        until: i64,
        most: usize,
    ) -> PyResult<Option<Found<'py>>> {
        let (form, names) = (&mut self.form, &mut self.names);
        let raw = raw.as_slice()?;
        let found = py.detach(|| {
            let mut columns = Columns::default();
            for (at, end) in spans {
                let bytes = raw.get(at..end).ok_or(Fault::NoSpan)?;
                batch::add(&mut columns, form, names, bytes, &(first..until), most)?;
            }
            Ok(columns)
        });
        let columns = match found {
            Ok(columns) => columns,
            Err(Fault::Unsure) => return Ok(None),
            Err(Fault::TooLarge) => return Err(PyOverflowError::new_err(())),
            Err(Fault::Corrupt) => return Err(PyValueError::new_err(())),
            Err(Fault::NoSpan) => return Err(PyValueError::new_err("no such span")),
        };
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
        let (form, names) = (&mut self.form, &mut self.names);
        let after = columns.add_lines(form, names, text, first, timestamp);
        Ok((self.told(py, columns)?, after))
    }
}

impl Reader {
    fn told<'py>(&mut self, py: Python<'py>, columns: Columns) -> PyResult<Found<'py>> {
        let c = columns;
        let odd = c.odd.into_iter().map(|o| {
            (
                o.offset,
                o.timestamp,
                o.value.map(|value| PyBytes::new(py, &value)),
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
            c.locals,
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

/// The watts of values, and which of them are left; of each cut its parts and its ratio.
#[pyfunction]
fn watts<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'_, f64>,
    cuts: Vec<(f64, i64, i64)>,
) -> PyResult<[Bound<'py, PyAny>; 2]> {
    let cuts = cuts.into_iter();
    let cuts = cuts.map(|(parts, times, by)| Cut::new(parts, times, by));
    let cuts = cuts.collect::<Option<Vec<_>>>();
    let cuts = cuts.ok_or_else(|| PyValueError::new_err("no ratio"))?;
    let (watts, left) = quantity::watts(values.as_slice()?, &cuts);
    Ok([array(py, watts), array(py, left)])
}

#[pymodule]
fn meteragent_fast(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Reader>()?;
    module.add("MOST_UNPACKED", batch::MOST_UNPACKED)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(crate::python_slots::levels, module)?)?;
    module.add_function(wrap_pyfunction!(crate::python_slots::add, module)?)?;
    module.add_function(wrap_pyfunction!(crate::python_slots::admit, module)?)?;
    module.add_function(wrap_pyfunction!(crate::python_averaged::add_up, module)?)?;
    module.add_function(wrap_pyfunction!(
        crate::python_averaged::close_sums,
        module
    )?)?;
    module.add_function(wrap_pyfunction!(watts, module)?)?;
    module.add_function(wrap_pyfunction!(checksum, module)?)
}
