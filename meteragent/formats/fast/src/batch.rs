//! The records of a batch (format 2), as Kafka stores them.

use crate::columns::{Columns, Form, Names, Standing};
use crate::text;
use crate::unpack::{Fault, unpacked};
use std::ops::Range;

/// What a batch may unpack to, and what may come of those that are read together, in bytes.
pub const MOST_UNPACKED: usize = 256 << 20;
/// Bytes of a number; nothing that is asked for here is as long.
const MOST_SEVENS: usize = 9;
/// Bytes of a record that holds nothing.
const SHORTEST: usize = 7;
const HEAD: usize = 61;
const BASE: usize = 0;
const ATTRIBUTES: usize = 21;
const FIRST_TIME: usize = 27;
const NEWEST_TIME: usize = 35;
const RECORDS: usize = 57;
const CODEC: u16 = 0x07;
const APPEND_TIME: u16 = 0x08;

/// The checksum of bytes, as batches have it.
pub fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

fn fixed<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Fault> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
    found.copied().ok_or(Fault::Corrupt)
}

/// The records of a batch at these offsets, behind those that there are.
///
/// Precondition: its checksum is right. After a fault, `columns` may hold some of it.
pub fn add<F: Form>(
    columns: &mut Columns,
    form: &mut F,
    names: &mut Names,
    batch: &[u8],
    wanted: &Range<i64>,
    most: usize,
) -> Result<(), Fault> {
    let attributes = u16::from_be_bytes(fixed(batch, ATTRIBUTES)?);
    let base = i64::from_be_bytes(fixed(batch, BASE)?);
    let first_time = i64::from_be_bytes(fixed(batch, FIRST_TIME)?);
    let newest_time = i64::from_be_bytes(fixed(batch, NEWEST_TIME)?);
    let records = i32::from_be_bytes(fixed(batch, RECORDS)?);
    let body = batch.get(HEAD..).ok_or(Fault::Corrupt)?;
    let codec = attributes & CODEC;
    if codec != 0 && body.is_empty() {
        return Err(Fault::Unsure);
    }
    let held = if codec == 0 {
        Vec::new()
    } else {
        unpacked(codec, body, most)?
    };
    let mut reader = Reader {
        bytes: if codec == 0 { body } else { &held },
        at: 0,
    };
    let records = usize::try_from(records).map_err(|_| Fault::Unsure)?;
    columns.expect(records.min(reader.bytes.len() / SHORTEST));
    let mut last = -1;
    for _ in 0..records {
        let record = reader.record().ok_or(Fault::Unsure)?;
        let offset = base.checked_add(record.offset).ok_or(Fault::Unsure)?;
        let created = first_time.checked_add(record.time).ok_or(Fault::Unsure)?;
        if offset <= last {
            return Err(Fault::Unsure);
        }
        last = offset;
        if wanted.contains(&offset) {
            let written = attributes & APPEND_TIME != 0;
            let timestamp = if written { newest_time } else { created };
            columns.add(form, names, record.value, Standing { offset, timestamp });
            if columns.bytes() > most {
                return Err(Fault::TooLarge);
            }
        }
    }
    if reader.at != reader.bytes.len() {
        Err(Fault::Unsure)
    } else {
        Ok(())
    }
}

struct Record<'a> {
    time: i64,
    offset: i64,
    value: Option<&'a [u8]>,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A number whose sign comes last.
    #[inline]
    fn number(&mut self) -> Option<i64> {
        let (found, length) = text::sevens(self.bytes.get(self.at..)?, MOST_SEVENS)?;
        self.at += length;
        Some(text::zigzag(found))
    }

    /// Bytes behind their length; none if it is negative.
    fn bytes(&mut self) -> Option<Option<&'a [u8]>> {
        let Ok(length) = usize::try_from(self.number()?) else {
            return Some(None);
        };
        let found = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(Some(found))
    }

    fn record(&mut self) -> Option<Record<'a>> {
        let length = usize::try_from(self.number()?).ok()?;
        let end = self.at.checked_add(length)?;
        self.number()?; // attributes, of which there are none: the twin reads them so
        let (time, offset) = (self.number()?, self.number()?);
        self.bytes()?; // the key
        let value = self.bytes()?;
        for _ in 0..usize::try_from(self.number()?).ok()? {
            std::str::from_utf8(self.bytes()??).ok()?;
            self.bytes()?;
        }
        (self.at == end).then_some(Record {
            time,
            offset,
            value,
        })
    }
}
