//! The border to Python, for mappings, tables and schemas.

use crate::avro::Kind;
use crate::cells::{Places, Way};
use crate::form::{Mapped, Registered, Said, canonical_places};
use crate::mapped::{Channel, Meaning};
use crate::table::Table;
use crate::times::{Times, Written, Zone};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// How many lists are around a field, and the way from there; or its column, and no way.
type Where = (usize, Vec<Way>);

/// What `meteragent.formats.asked` says of a mapping.
#[derive(FromPyObject)]
pub struct Asked {
    lists: Vec<Vec<Way>>,
    only_meter: Option<String>,
    meter: Option<Where>,
    account: Option<Where>,
    time: Vec<Where>,
    channels: Vec<(String, Where, bool)>,
    quality: Option<Where>,
    unit: Option<Where>,
    meant: Meant,
}

/// How what is found is read.
#[derive(FromPyObject)]
struct Meant {
    time_format: String,
    zone: Option<bool>,
    earlier: i64,
    interval: i64,
    absent: Vec<String>,
    rejected: Vec<String>,
    units: Vec<String>,
    nothing: Vec<String>,
    has_commas: bool,
}

/// Gives fields their cells.
trait Finds {
    fn field(&mut self, at: &Where, is_series: bool) -> Option<usize>;
}

impl Finds for Places {
    fn field(&mut self, at: &Where, is_series: bool) -> Option<usize> {
        Places::field(self, at.0, &at.1, is_series)
    }
}

/// Columns of a table, and their cells.
#[derive(Default)]
struct Found(Vec<(usize, usize)>);

impl Finds for Found {
    fn field(&mut self, at: &Where, _: bool) -> Option<usize> {
        let cell = self.0.len();
        self.0.push((at.0, cell));
        (cell < crate::cells::MOST_CELLS).then_some(cell)
    }
}

impl Asked {
    /// With the cells that its fields are kept in. Nothing: something of it is not done here.
    fn meaning(self, finds: &mut impl Finds) -> Option<Meaning> {
        let mut optional = |at: &Option<Where>| match at {
            None => Some(None),
            Some(at) => finds.field(at, false).map(Some),
        };
        let (meter, account) = (optional(&self.meter)?, optional(&self.account)?);
        let (quality, unit) = (optional(&self.quality)?, optional(&self.unit)?);
        let time = self.time.iter().map(|at| finds.field(at, false));
        let time = time.collect::<Option<Vec<_>>>()?;
        let mut channels = Vec::new();
        for (name, at, is_series) in &self.channels {
            channels.push(Channel {
                name: boxed(name),
                cell: finds.field(at, *is_series)?,
                is_series: *is_series,
            });
        }
        let meant = &self.meant;
        let all = |some: &[String]| some.iter().map(boxed).collect();
        Some(Meaning {
            only_meter: self.only_meter.as_ref().map(boxed),
            meter,
            account,
            time,
            channels,
            quality,
            unit,
            times: Times {
                written: Written::named(&meant.time_format)?,
                zone: match meant.zone {
                    None => Zone::Unknown,
                    Some(true) => Zone::Utc,
                    Some(false) => Zone::Other,
                },
                earlier: meant.earlier,
            },
            interval: meant.interval,
            absent: all(&meant.absent),
            rejected: all(&meant.rejected),
            units: all(&meant.units),
            nothing: all(&meant.nothing),
            has_commas: meant.has_commas,
        })
    }

    /// JSON that is read so.
    pub fn mapped(self) -> Option<Mapped> {
        let mut places = Places::new(&self.lists)?;
        let meaning = self.meaning(&mut places)?;
        Some(Mapped::new(places, meaning))
    }

    /// Lines that are read so.
    pub fn table(self, delimiter: u8, needed: usize) -> Option<Table> {
        let mut found = Found::default();
        let meaning = self.meaning(&mut found)?;
        found.0.sort_unstable();
        Some(Table::new(delimiter, needed, found.0, meaning))
    }

    /// Messages of registered schemas that are read so.
    pub fn registered(self) -> Option<Registered> {
        let mut places = Places::new(&self.lists)?;
        let meaning = self.meaning(&mut places)?;
        Some(Registered::new(places, Said::Mapped(Box::new(meaning))))
    }
}

/// Canonical messages of registered schemas.
pub fn canonical() -> Option<Registered> {
    canonical_places().map(|places| Registered::new(places, Said::Canonical))
}

fn boxed(text: impl AsRef<str>) -> Box<[u8]> {
    text.as_ref().as_bytes().into()
}

/// What `meteragent.formats.avro_schema` says of a schema.
pub fn kind(said: &Bound<'_, PyAny>) -> PyResult<Kind> {
    let name: String = said.get_item(0)?.extract()?;
    let held = || said.get_item(1);
    let some = || -> PyResult<Vec<Bound<'_, PyAny>>> { held()?.extract() };
    Ok(match name.as_str() {
        "null" => Kind::Null,
        "boolean" => Kind::Boolean,
        "whole" => Kind::Whole,
        "float" => Kind::Float,
        "double" => Kind::Double,
        "bytes" => Kind::Bytes(false),
        "text" => Kind::Bytes(true),
        "enum" => {
            let words: Vec<String> = held()?.extract()?;
            Kind::Enum(words.iter().map(boxed).collect())
        }
        "fixed" => Kind::Fixed(held()?.extract()?),
        "union" => Kind::Union(some()?.iter().map(kind).collect::<PyResult<_>>()?),
        "list" => Kind::List(Box::new(kind(&held()?)?)),
        "map" => Kind::Map(Box::new(kind(&held()?)?)),
        "record" => {
            let mut fields = Vec::new();
            for field in some()? {
                let name: String = field.get_item(0)?.extract()?;
                fields.push((boxed(name), kind(&field.get_item(1)?)?, None));
            }
            Kind::Record(fields)
        }
        _ => return Err(PyValueError::new_err("no such kind")),
    })
}
