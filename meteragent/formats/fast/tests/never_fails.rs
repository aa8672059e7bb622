//! Whatever bytes come: no panic, no more memory than is said, and columns that fit each other.
use meteragent_fast::avro::Kind;
use meteragent_fast::cells::{Places, Way};
use meteragent_fast::columns::{Columns, Form, Names};
use meteragent_fast::form::{Mapped, Registered, Said};
use meteragent_fast::mapped::{Channel, Meaning};
use meteragent_fast::record::Canonical;
use meteragent_fast::table::Table;
use meteragent_fast::times::{Times, Written, Zone};
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

fn way(path: &str) -> Vec<Way> {
    path.split('.')
        .map(|step| (step.to_owned(), step.parse().ok()))
        .collect()
}

fn meaning(time: usize, value: usize, is_series: bool, form: &str) -> Meaning {
    Meaning {
        only_meter: Some((*b"m").into()),
        meter: None,
        account: None,
        time: vec![time],
        channels: vec![Channel {
            name: (*b"").into(),
            cell: value,
            is_series,
        }],
        quality: None,
        unit: None,
        times: Times {
            written: Written::named(form).unwrap(),
            zone: Zone::Utc,
            earlier: 0,
        },
        interval: 1,
        absent: Vec::new(),
        rejected: Vec::new(),
        units: Vec::new(),
        nothing: vec![(*b"").into()],
        has_commas: form.len() % 2 == 0,
    }
}

/// Of lists in lists, where the innermost ones are of numbers.
fn mapped(form: &str) -> (Places, Meaning) {
    let mut places = Places::new(&[way("r")]).unwrap();
    let time = places.field(1, &way("t"), false).unwrap();
    let value = places.field(1, &way("v"), true).unwrap();
    (places, meaning(time, value, true, form))
}

/// Of fields alone.
fn flat(form: &str) -> (Places, Meaning) {
    let mut places = Places::new(&[]).unwrap();
    let time = places.field(0, &way("ts"), false).unwrap();
    let value = places.field(0, &way("values.0"), false).unwrap();
    (places, meaning(time, value, false, form))
}

fn every_form(form: &str) -> Vec<Box<dyn FnMut(&[u8]) -> Columns>> {
    fn reader(mut form: impl Form + 'static) -> Box<dyn FnMut(&[u8]) -> Columns> {
        Box::new(move |text| {
            let (mut columns, mut names) = (Columns::default(), Names::default());
            columns.add_lines(&mut form, &mut names, text, 0, 5);
            columns
        })
    }
    let (deep, also_deep) = (mapped(form), mapped(form));
    let mut registered = Registered::new(also_deep.0, Said::Mapped(Box::new(also_deep.1)));
    let entry = Kind::Record(vec![
        (
            (*b"t").into(),
            Kind::Union(vec![Kind::Whole, Kind::Bytes(true)]),
            None,
        ),
        ((*b"v").into(), Kind::List(Box::new(Kind::Double)), None),
    ]);
    let whole = vec![
        ((*b"x").into(), Kind::Map(Box::new(Kind::Fixed(2))), None),
        ((*b"r").into(), Kind::List(Box::new(entry)), None),
    ];
    assert!(registered.learn(7, Kind::Record(whole)));
    let (plain, columns) = (flat(form), meaning(0, 1, false, form));
    let of_meters = Meaning {
        only_meter: None,
        meter: Some(2),
        ..meaning(0, 1, false, form)
    };
    vec![
        reader(Canonical),
        reader(Mapped::new(deep.0, deep.1)),
        reader(Mapped::new(plain.0, plain.1)),
        reader(Table::new(b',', 2, vec![(0, 0), (1, 1)], columns)),
        reader(Table::new(b',', 3, vec![(0, 0), (1, 1), (2, 2)], of_meters)),
        reader(registered),
    ]
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
        "\"(meter_id|ts|value|values|start|interval_ms|unit|account|r|t|v)\":",
        "-?[0-9]{1,20}(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?",
        "\"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,12}(Z|[+-][0-9]{2}:[0-9]{2})\"",
        "\\PC{0,9}",
        Just("{\"meter_id\":\"m\",\"ts\":1,\"value\":2}".to_owned()),
        Just("{\"r\":[{\"t\":1763424000,\"v\":[1,2]}]}".to_owned()),
        Just("{\"ts\":1763424000000,\"values\":[5,{}]}\n".to_owned()),
        Just("2025-11-18T00:00:00Z,1.5\n".to_owned()),
        Just("2025-11-18T00:00:00Z,1.5,m\n".to_owned()),
        Just("\0\0\0\0\u{7}".to_owned()),
        Just("\n".to_owned()),
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
        let after = columns.add_lines(&mut Canonical, &mut names, &text, first, record::LATEST);
        let ends = text.iter().filter(|letter| **letter == b'\n').count();
        prop_assert_eq!(after, first + ends as i64);
        fits(&columns);
    }

    #[test]
    fn every_form_fits(
        texts in prop::collection::vec(like_json(), 1..4),
        form in prop_oneof![Just("auto"), Just("iso"), Just("unix_ms"), Just("%d/%m/%Y %H")],
    ) {
        for mut read in every_form(form) {
            texts.iter().for_each(|text| fits(&read(text)));
        }
    }

    #[test]
    fn numbers_of_seven_bits_are_read_as_bit_by_bit(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x80u8..], 0..14),
        most in 1usize..11,
    ) {
        let length = bytes.iter().take(most).position(|byte| *byte < 0x80);
        let expected = length.map(|last| {
            let sum = |found: u64, (nth, byte): (usize, &u8)| {
                found | u64::from(byte & 0x7f).checked_shl(7 * nth as u32).unwrap_or(0)
            };
            (bytes[..=last].iter().enumerate().fold(0, sum), last + 1)
        });
        prop_assert_eq!(text::sevens(&bytes, most), expected);
    }

    #[test]
    fn letters_are_found_where_they_stand_first(text in like_json(), letter in any::<u8>()) {
        let expected = text.iter().position(|one| *one == letter);
        prop_assert_eq!(text::find(&text, letter), expected);
    }

    #[test]
    fn either_of_two_letters_is_found_wherever_it_stands(
        text in prop::collection::vec(prop_oneof![Just(b','), Just(b'"'), b'!'..b'/', any::<u8>()], 0..40),
        letters in prop_oneof![Just([b',', b'"']), any::<[u8; 2]>()],
    ) {
        let is_either = |at: &usize| letters.contains(&text[*at]);
        let expected: Vec<_> = (0..text.len()).filter(is_either).collect();
        let found: Vec<_> = text::Either::of(&text, letters).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn batches_fit(
        codec in 0u8..8,
        records in prop_oneof![0u32..20, any::<u32>()],
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let (mut columns, mut names) = (Columns::default(), Names::default());
        let raw = headed(codec, records, &body);
        if batch::add(&mut columns, &mut Canonical, &mut names, &raw, &(0..i64::MAX), MOST).is_ok() {
            fits(&columns);
        }
        let _ = batch::add(&mut columns, &mut Canonical, &mut names, &raw[..raw.len().min(60)], &(0..9), MOST);
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
