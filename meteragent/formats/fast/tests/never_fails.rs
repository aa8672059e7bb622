//! Whatever bytes come: no panic, no more memory than is said, and columns that fit each other.
use meteragent_fast::columns::{Columns, Names};
use meteragent_fast::{batch, moment, record, text, unpack};
use proptest::prelude::*;

const HEAD: usize = 61;
const MOST: usize = 1 << 16;

fn fits(columns: &Columns) {
    let runs = columns.offsets.len();
    for column in [
        &columns.numbers,
        &columns.timestamps,
        &columns.starts,
        &columns.intervals,
    ] {
        assert_eq!(column.len(), runs);
    }
    assert_eq!(
        columns.counts.iter().sum::<i64>(),
        columns.watts.len() as i64
    );
    assert!(
        columns
            .watts
            .iter()
            .all(|value| value.is_nan() || value.is_finite())
    );
}

fn headed(codec: u8, records: u32, body: &[u8]) -> Vec<u8> {
    let mut found = vec![0; HEAD];
    found[22] = codec;
    found[57..61].copy_from_slice(&records.to_be_bytes());
    found.extend_from_slice(body);
    found
}

/// Something like a record: pieces of JSON in any order, and any letters.
fn like_json() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "[{}\\[\\],:\"]{1,3}",
        "\"(meter_id|ts|value|values|start|interval_ms|unit|account)\":",
        "-?[0-9]{1,20}(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?",
        "\"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,12}(Z|[+-][0-9]{2}:[0-9]{2})\"",
        "\\PC{0,9}",
        Just("{\"meter_id\":\"m\",\"ts\":1,\"value\":2}".to_owned()),
    ];
    let bytes = prop::collection::vec(piece, 0..12).prop_map(|some| some.concat().into_bytes());
    prop_oneof![bytes, prop::collection::vec(any::<u8>(), 0..200)]
}

/// Digits, and what stands beside them in ASCII, above all.
fn like_digits() -> impl Strategy<Value = Vec<u8>> {
    let letter = prop_oneof![8 => b'0'..=b'9', 1 => b'+'..=b'?', 1 => any::<u8>()];
    prop::collection::vec(letter, 0..20)
}

proptest! {
    #[test]
    fn whole_numbers_are_read_as_letter_by_letter(text in like_digits()) {
        let digits = text.iter().take_while(|letter| letter.is_ascii_digit()).count();
        let good = (1..=16).contains(&digits) && (digits == 1 || text[0] != b'0');
        let number = std::str::from_utf8(&text[..digits]).unwrap().parse().unwrap_or(0);
        let expected = good.then_some((number, &text[digits..]));
        prop_assert_eq!(text::whole(&text), expected);
    }

    #[test]
    fn letters_are_plain_up_to_the_first_that_is_not(
        ahead in "[ -~]{0,20}",
        after in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        let whole = [ahead.as_bytes(), &after].concat();
        let is_plain = |letter: &&u8| {
            (0x20..0x7f).contains(*letter) && **letter != b'"' && **letter != b'\\'
        };
        let expected = whole.iter().take_while(is_plain).count();
        prop_assert_eq!(text::plain_letters(&whole), expected);
    }

    #[test]
    fn a_reading_is_read_alike_however_it_is_spelt(
        meter in "[a-zA-Z0-9/ -]{0,140}",
        time in like_digits(),
        value in "-?[0-9]{1,17}(\\.[0-9]{1,17})?([eE][0-9]{1,3})?",
        tail in prop_oneof![9 => Just(""), 1 => Just(" "), 1 => Just("}")],
    ) {
        let spelt = |space: &str| {
            let head = format!("{{{space}\"meter_id\":\"{meter}\",\"ts\":").into_bytes();
            let rest = format!(",\"value\":{value}}}{tail}").into_bytes();
            [head, time.clone(), rest].concat()
        };
        let read = |text: &[u8]| {
            let mut watts = Vec::new();
            record::plain(text, &mut watts)
                .map(|run| (run.meter.to_vec(), run.start, run.interval, watts[0].to_bits()))
        };
        prop_assert_eq!(read(&spelt("")), read(&spelt(" ")));
    }

    #[test]
    fn records_are_taken_or_not(text in like_json()) {
        let mut watts = Vec::new();
        if let Some(run) = record::plain(&text, &mut watts) {
            prop_assert!(std::str::from_utf8(run.meter).is_ok());
            prop_assert!((0..=record::LATEST).contains(&run.start));
            prop_assert!(run.interval > 0);
            prop_assert!(!watts.is_empty());
        }
    }

    #[test]
    fn times_are_read_or_not(text in prop::collection::vec(any::<u8>(), 0..40)) {
        moment::milliseconds(&text);
    }

    #[test]
    fn lines_fit(text in like_json(), first in 0i64..1000) {
        let (mut columns, mut names) = (Columns::default(), Names::default());
        let after = columns.add_lines(&mut names, &text, first, record::LATEST);
        let ends = text.iter().filter(|letter| **letter == b'\n').count();
        prop_assert_eq!(after, first + ends as i64);
        fits(&columns);
    }

    #[test]
    fn batches_fit(
        codec in 0u8..8,
        records in prop_oneof![0u32..20, any::<u32>()],
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let (mut columns, mut names) = (Columns::default(), Names::default());
        let raw = headed(codec, records, &body);
        if batch::add(&mut columns, &mut names, &raw, &(0..i64::MAX), MOST).is_ok() {
            fits(&columns);
        }
        let _ = batch::add(&mut columns, &mut names, &raw[..raw.len().min(60)], &(0..9), MOST);
    }

    #[test]
    fn nothing_unpacks_to_more_than_it_may(
        codec in 1u16..6,
        packed in prop::collection::vec(any::<u8>(), 0..300),
        length in 0usize..(2 * MOST),
    ) {
        if let Ok(found) = unpack::unpacked(codec, &packed, MOST) {
            prop_assert!(found.len() <= MOST);
        }
        let bomb = snap::raw::Encoder::new().compress_vec(&vec![b'0'; length]).unwrap();
        prop_assert_eq!(unpack::unpacked(2, &bomb, MOST).is_ok(), length <= MOST);
        let bomb = zstd::encode_all(&vec![b'0'; length][..], 1).unwrap();
        prop_assert_eq!(unpack::unpacked(4, &bomb, MOST).is_ok(), length <= MOST);
    }
}
