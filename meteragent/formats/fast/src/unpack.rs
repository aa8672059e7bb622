//! What senders have compressed, up to a limit.

use std::io::Read;

const XERIAL: &[u8] = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01";

/// Why a batch is not read.
#[derive(Debug, PartialEq)]
pub enum Fault {
    /// It unpacks to more than it may.
    TooLarge,
    /// It is not what its sender has packed, or of a kind that there is not.
    Corrupt,
    /// Nothing is wrong for sure, but it is not plain: somebody else has to read it.
    Unsure,
    /// It stands nowhere in what was handed in.
    NoSpan,
}

/// The records of a batch, as it says that they are packed.
///
/// Precondition: `codec` is not 0.
pub fn unpacked(codec: u16, packed: &[u8], most: usize) -> Result<Vec<u8>, Fault> {
    match codec {
        1 => read(flate2::read::MultiGzDecoder::new(packed), Vec::new(), most),
        2 => snappy(packed, most),
        3 => lz4(packed, most),
        4 => read(
            zstd::Decoder::with_buffer(packed).map_err(|_| Fault::Corrupt)?,
            Vec::new(),
            most,
        ),
        _ => Err(Fault::Corrupt),
    }
}

/// All that a reader gives, behind what there is.
fn read(reader: impl Read, mut found: Vec<u8>, most: usize) -> Result<Vec<u8>, Fault> {
    let room = (most - found.len()) as u64;
    reader
        .take(room + 1)
        .read_to_end(&mut found)
        .map_err(|_| Fault::Corrupt)?;
    if found.len() > most {
        Err(Fault::TooLarge)
    } else {
        Ok(found)
    }
}

fn snappy(packed: &[u8], most: usize) -> Result<Vec<u8>, Fault> {
    let Some(mut rest) = packed.strip_prefix(XERIAL).filter(|rest| !rest.is_empty()) else {
        return block(packed, most);
    };
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk::<4>().ok_or(Fault::Corrupt)?;
        let length = u32::from_be_bytes(*length) as usize;
        let (packed, after) = after.split_at_checked(length).ok_or(Fault::Corrupt)?;
        found.append(&mut block(packed, most - found.len())?);
        rest = after;
    }
    Ok(found)
}

fn block(packed: &[u8], most: usize) -> Result<Vec<u8>, Fault> {
    let length = snap::raw::decompress_len(packed).map_err(|_| Fault::Corrupt)?;
    if length > most {
        return Err(Fault::TooLarge);
    }
    snap::raw::Decoder::new()
        .decompress_vec(packed)
        .map_err(|_| Fault::Corrupt)
}

fn lz4(packed: &[u8], most: usize) -> Result<Vec<u8>, Fault> {
    let (mut rest, mut found) = (packed, Vec::new());
    while !rest.is_empty() {
        let (frame, after) = lz4_frame(rest).ok_or(Fault::Corrupt)?;
        found = read(lz4_flex::frame::FrameDecoder::new(frame), found, most)?;
        rest = after;
    }
    Ok(found)
}

/// The first frame, up to its end mark, and what comes after it: the library does without one.
fn lz4_frame(packed: &[u8]) -> Option<(&[u8], &[u8])> {
    let flags = *packed.get(4)?;
    let has = |bit: u8| usize::from(flags >> bit & 1);
    let mut at = 7 + 8 * has(3) + 4 * has(0); // its size, and a dictionary
    loop {
        let size = u32::from_le_bytes(*packed.get(at..)?.first_chunk::<4>()?);
        at += 4;
        if size == 0 {
            return packed.split_at_checked(at + 4 * has(2)); // a checksum
        }
        at += (size & 0x7fff_ffff) as usize + 4 * has(4); // another one, of each block
    }
}
