//! Round trips of every Arrow type that arrow-rs writes to Parquet, with random values, encodings and compressions. The
//! expected texts come from code that is independent of the converter.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::builder::{MapBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    DurationMillisecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray,
    Float16Array, GenericListArray, Int64Array, LargeBinaryArray, LargeStringArray, NullArray,
    OffsetSizeTrait, PrimitiveArray, StringArray, StringViewArray, StructArray,
};
use arrow_buffer::i256;
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use base64::Engine;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use proptest::prelude::*;

use crate::convert::{files, read_back};

/// Seconds of the years 1 to 9999, without the last day, which jiff reserves.
const SECONDS: std::ops::Range<i64> = -62_135_596_800..253_402_207_200;

/// A column to write and the JSON text of each of its values.
struct Case {
    name: &'static str,
    array: ArrayRef,
    texts: Vec<(String, Vec<Option<String>>)>,
}

/// A column under its own name.
fn case(name: &'static str, array: impl Array + 'static, texts: Vec<Option<String>>) -> Case {
    Case { name, array: Arc::new(array), texts: vec![(name.to_owned(), texts)] }
}

/// A primitive column of values made from the seeds, with their texts.
fn primitive<T: ArrowPrimitiveType>(
    name: &'static str,
    seeds: &[Option<i64>],
    value: impl Fn(i64) -> T::Native,
    text: impl Fn(T::Native) -> String,
) -> Case {
    let array: PrimitiveArray<T> = seeds.iter().map(|seed| seed.map(&value)).collect();
    case(name, array, seeds.iter().map(|seed| seed.map(|seed| text(value(seed)))).collect())
}

fn plain<V: Display>(value: V) -> String {
    value.to_string()
}

fn float(value: f64) -> String {
    if value.is_finite() { serde_json::to_string(&value).unwrap() } else { "null".into() }
}

fn single(value: f32) -> String {
    if value.is_finite() { serde_json::to_string(&value).unwrap() } else { "null".into() }
}

/// The shortest text that the crate `half` reads back unchanged.
fn shortest_half(value: half::f16) -> String {
    if !value.is_finite() {
        return "null".into();
    }
    let texts = (0..5).map(|digits| format!("{:.digits$e}", f64::from(value)));
    let mut same = texts.filter(|text| half::f16::from_f64(text.parse().unwrap()) == value);
    single(same.next().unwrap().parse().unwrap())
}

fn scaled(digits: &str, scale: usize) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

fn decimal<T: DecimalType>(
    name: &'static str,
    (precision, scale): (u8, i8),
    seeds: &[Option<i64>],
    value: impl Fn(i64) -> T::Native,
    text: impl Fn(T::Native) -> String,
) -> Case {
    let mut made = primitive::<T>(name, seeds, value, |value| scaled(&text(value), scale as usize));
    let array = made.array.as_any().downcast_ref::<PrimitiveArray<T>>().unwrap().clone();
    made.array = Arc::new(array.with_precision_and_scale(precision, scale).unwrap());
    made
}

fn within(seed: i64, range: std::ops::Range<i64>) -> i64 {
    range.start + seed.rem_euclid(range.end - range.start)
}

fn moment(units: i64, per_second: i64, format: &str) -> String {
    let (second, fraction) = (units.div_euclid(per_second), units.rem_euclid(per_second));
    let nanosecond = fraction * (1_000_000_000 / per_second);
    let moment = jiff::Timestamp::new(second, nanosecond as i32).unwrap();
    format!("\"{}\"", moment.strftime(format))
}

fn day(days: i64) -> String {
    let date = jiff::civil::date(1970, 1, 1).checked_add(jiff::Span::new().days(days)).unwrap();
    format!("\"{date}\"")
}

fn time_of_day(units: i64, per_second: i64, format: &str) -> String {
    let span = jiff::Span::new().nanoseconds(units * (1_000_000_000 / per_second));
    let time = jiff::civil::Time::midnight().checked_add(span).unwrap();
    format!("\"{}\"", time.strftime(format))
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn numbers(seeds: &[Option<i64>]) -> Vec<Case> {
    vec![
        primitive::<Int8Type>("int8", seeds, |seed| seed as i8, plain),
        primitive::<Int16Type>("int16", seeds, |seed| seed as i16, plain),
        primitive::<Int32Type>("int32", seeds, |seed| seed as i32, plain),
        primitive::<Int64Type>("int64", seeds, |seed| seed, plain),
        primitive::<UInt8Type>("uint8", seeds, |seed| seed as u8, plain),
        primitive::<UInt16Type>("uint16", seeds, |seed| seed as u16, plain),
        primitive::<UInt32Type>("uint32", seeds, |seed| seed as u32, plain),
        primitive::<UInt64Type>("uint64", seeds, |seed| seed as u64, plain),
        primitive::<Int64Type>("few values", seeds, |seed| seed % 3, plain),
        primitive::<DurationMillisecondType>("duration", seeds, |seed| seed, plain),
        primitive::<Float32Type>("float32", seeds, |seed| f32::from_bits(seed as u32), single),
        primitive::<Float64Type>("float64", seeds, |seed| f64::from_bits(seed as u64), float),
        decimal::<Decimal32Type>("decimal32", (9, 4), seeds, |seed| (seed % 1_000_000_000) as i32, plain),
        decimal::<Decimal64Type>("decimal64", (18, 0), seeds, |seed| seed % 1_000_000_000_000_000_000, plain),
        decimal::<Decimal128Type>(
            "decimal128",
            (15, 2),
            seeds,
            |seed| i128::from(seed % 1_000_000_000_000_000),
            plain,
        ),
        decimal::<Decimal128Type>("wide decimal128", (38, 10), seeds, |seed| i128::from(seed) << 60, plain),
        decimal::<Decimal256Type>(
            "decimal256",
            (76, 30),
            seeds,
            |seed| i256::from_i128(i128::from(seed) << 63),
            plain,
        ),
        half(seeds),
    ]
}

fn half(seeds: &[Option<i64>]) -> Case {
    let values: Vec<_> =
        seeds.iter().map(|seed| seed.map(|seed| half::f16::from_bits(seed as u16))).collect();
    let texts = values.iter().map(|value| value.map(shortest_half)).collect();
    case("float16", Float16Array::from(values), texts)
}

fn datetimes(seeds: &[Option<i64>]) -> Vec<Case> {
    let in_second = |per_second: i64| SECONDS.start * per_second..SECONDS.end * per_second;
    let midnight = 86_400;
    vec![
        primitive::<Date32Type>(
            "date32",
            seeds,
            |seed| within(seed, -719_162..2_932_896) as i32,
            |v| day(v.into()),
        ),
        primitive::<Date64Type>(
            "date64",
            seeds,
            |seed| within(seed, -719_162..2_932_896) * 86_400_000,
            |v| day(v / 86_400_000),
        ),
        primitive::<TimestampSecondType>(
            "seconds",
            seeds,
            |seed| within(seed, in_second(1)),
            |v| moment(v, 1, "%FT%TZ"),
        ),
        primitive::<TimestampMillisecondType>(
            "milliseconds",
            seeds,
            |seed| within(seed, in_second(1_000)),
            |v| moment(v, 1_000, "%FT%T%.3fZ"),
        ),
        primitive::<TimestampMicrosecondType>(
            "microseconds",
            seeds,
            |seed| within(seed, in_second(1_000_000)),
            |v| moment(v, 1_000_000, "%FT%T%.6fZ"),
        ),
        primitive::<TimestampNanosecondType>(
            "nanoseconds",
            seeds,
            |seed| seed,
            |v| moment(v, 1_000_000_000, "%FT%T%.9fZ"),
        ),
        primitive::<Time32SecondType>(
            "time s",
            seeds,
            |seed| within(seed, 0..midnight) as i32,
            |v| time_of_day(v.into(), 1, "%T"),
        ),
        primitive::<Time32MillisecondType>(
            "time ms",
            seeds,
            |seed| within(seed, 0..midnight * 1_000) as i32,
            |v| time_of_day(v.into(), 1_000, "%T%.3f"),
        ),
        primitive::<Time64MicrosecondType>(
            "time us",
            seeds,
            |seed| within(seed, 0..midnight * 1_000_000),
            |v| time_of_day(v, 1_000_000, "%T%.6f"),
        ),
        primitive::<Time64NanosecondType>(
            "time ns",
            seeds,
            |seed| within(seed, 0..midnight * 1_000_000_000),
            |v| time_of_day(v, 1_000_000_000, "%T%.9f"),
        ),
    ]
}

fn texts(seeds: &[Option<i64>], words: &[Option<String>]) -> Vec<Case> {
    let expected: Vec<_> = words.iter().map(|word| word.as_deref().map(quoted)).collect();
    let bytes: Vec<_> = seeds
        .iter()
        .map(|seed| seed.map(|seed| seed.to_le_bytes()[..(seed & 7) as usize].to_vec()))
        .collect();
    let base64 = |bytes: &[u8]| quoted(&base64::engine::general_purpose::STANDARD.encode(bytes));
    let encoded: Vec<_> = bytes.iter().map(|bytes| bytes.as_deref().map(base64)).collect();
    let fixed: Vec<_> = seeds.iter().map(|seed| seed.map(i64::to_be_bytes)).collect();
    let mut dictionary = StringDictionaryBuilder::<Int16Type>::new();
    dictionary.extend(words.iter().map(Option::as_deref));
    let fixed_texts = fixed.iter().map(|bytes| bytes.as_ref().map(|bytes| base64(bytes))).collect();
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed.into_iter(), 8).unwrap();
    vec![
        case("utf8", StringArray::from_iter(words), expected.clone()),
        case("large utf8", LargeStringArray::from_iter(words), expected.clone()),
        case("utf8 view", StringViewArray::from_iter(words.iter().map(Option::as_deref)), expected.clone()),
        case("dictionary", dictionary.finish(), expected),
        case("binary", BinaryArray::from_iter(bytes.iter().map(Option::as_deref)), encoded.clone()),
        case("large binary", LargeBinaryArray::from_iter(bytes.iter().map(Option::as_deref)), encoded),
        case("fixed binary", fixed, fixed_texts),
        case("nothing", NullArray::new(words.len()), vec![None; words.len()]),
        case(
            "bool",
            seeds.iter().map(|seed| seed.map(|seed| seed & 1 == 1)).collect::<BooleanArray>(),
            seeds.iter().map(|seed| seed.map(|seed| (seed & 1 == 1).to_string())).collect(),
        ),
    ]
}

/// Lists of zero to three items around each seed; a null list where the seed is null.
fn list<O: OffsetSizeTrait>(name: &'static str, seeds: &[Option<i64>]) -> Case {
    let items = |seed: i64| (0..within(seed, 0..4)).map(move |n| (n != 1).then(|| seed.wrapping_add(n)));
    let lengths = seeds.iter().map(|seed| seed.map_or(0, |seed| items(seed).count()));
    let values: Int64Array = seeds.iter().flatten().flat_map(|seed| items(*seed)).collect();
    let nulls: NullBuffer = seeds.iter().map(Option::is_some).collect();
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let array =
        GenericListArray::<O>::new(item, OffsetBuffer::from_lengths(lengths), Arc::new(values), Some(nulls));
    let text = |seed: i64| {
        let items: Vec<_> = items(seed).map(|item| item.map_or("null".into(), plain)).collect();
        quoted(&format!("[{}]", items.join(",")))
    };
    case(name, array, seeds.iter().map(|seed| seed.map(text)).collect())
}

fn nested(seeds: &[Option<i64>], words: &[Option<String>]) -> Vec<Case> {
    let pair = seeds.iter().flat_map(|seed| [*seed, seed.map(|seed| seed / 2)]).collect::<Int64Array>();
    let nulls: NullBuffer = seeds.iter().map(Option::is_some).collect();
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let fixed = FixedSizeListArray::new(item, 2, Arc::new(pair), Some(nulls.clone()));
    let pair_text = |seed: i64| quoted(&format!("[{seed},{}]", seed / 2));
    let inner: Int64Array = seeds.iter().map(|seed| Some(seed.unwrap_or(7))).collect();
    let word: StringArray = words.iter().map(Option::as_deref).collect();
    let fields = vec![
        Arc::new(Field::new("n", DataType::Int64, false)),
        Arc::new(Field::new("è.word", DataType::Utf8, true)),
    ];
    let record = StructArray::new(fields.into(), vec![Arc::new(inner), Arc::new(word)], Some(nulls));
    let numbers = seeds.iter().map(|seed| seed.map(plain)).collect();
    let shown = seeds.iter().zip(words).map(|(seed, word)| seed.and(word.as_deref().map(quoted))).collect();
    vec![
        list::<i32>("list", seeds),
        list::<i64>("large list", seeds),
        case("fixed list", fixed, seeds.iter().map(|seed| seed.map(pair_text)).collect()),
        map_of_texts(seeds, words),
        Case {
            name: "record",
            array: Arc::new(record),
            texts: vec![("record.n".into(), numbers), ("record.è.word".into(), shown)],
        },
    ]
}

fn map_of_texts(seeds: &[Option<i64>], words: &[Option<String>]) -> Case {
    let mut builder = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    let mut texts = Vec::new();
    for (seed, word) in seeds.iter().zip(words) {
        if let (Some(seed), Some(word)) = (seed, word) {
            builder.keys().append_value(word);
            builder.values().append_option((seed & 1 == 0).then_some("even \"number\""));
            let value = if seed & 1 == 0 { quoted("even \"number\"") } else { "null".into() };
            texts.push(Some(quoted(&format!("{{{}:{value}}}", quoted(word)))));
        } else {
            texts.push(seed.is_some().then(|| quoted("{}")));
        }
        builder.append(seed.is_some()).unwrap();
    }
    case("map", builder.finish(), texts)
}

fn properties() -> impl Strategy<Value = WriterProperties> {
    let compression = prop_oneof![
        Just(Compression::UNCOMPRESSED),
        Just(Compression::SNAPPY),
        Just(Compression::LZ4_RAW),
        Just(Compression::GZIP(GzipLevel::default())),
        Just(Compression::BROTLI(BrotliLevel::try_new(1).unwrap())),
        Just(Compression::ZSTD(ZstdLevel::default())),
    ];
    let version = prop_oneof![Just(WriterVersion::PARQUET_1_0), Just(WriterVersion::PARQUET_2_0)];
    (compression, version, any::<bool>(), 1..50_usize, 1..50_usize).prop_map(
        |(compression, version, dictionary, page, group)| {
            WriterProperties::builder()
                .set_compression(compression)
                .set_writer_version(version)
                .set_dictionary_enabled(dictionary)
                .set_dictionary_page_size_limit(100)
                .set_data_page_row_count_limit(page)
                .set_write_batch_size(page)
                .set_max_row_group_row_count(Some(group))
                .build()
        },
    )
}

fn seeds() -> impl Strategy<Value = Vec<(Option<i64>, Option<String>)>> {
    let number = prop_oneof![any::<i64>(), -9..9_i64, Just(i64::MAX), Just(i64::MIN + 1)];
    let word = prop_oneof![any::<String>(), "[a-c\"\\\\\n,]{0,3}"];
    proptest::collection::vec(
        (proptest::option::weighted(0.8, number), proptest::option::weighted(0.8, word)),
        0..80,
    )
}

/// Whether two JSON texts are equal, as text or as doubles.
fn same(name: &str, found: &str, expected: &str) -> bool {
    found == expected
        || (name.starts_with("float") && found.parse::<f64>().ok() == expected.parse::<f64>().ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn round_trips_every_type(rows in seeds(), properties in properties()) {
        let (seeds, words): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let mut cases = numbers(&seeds);
        cases.extend(datetimes(&seeds));
        cases.extend(texts(&seeds, &words));
        cases.extend(nested(&seeds, &words));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("types.parquet");
        files::write(&path, cases.iter().map(|case| (case.name, Arc::clone(&case.array))).collect(), properties);
        let found = read_back::converted(&path);
        prop_assert_eq!(found.len(), seeds.len());
        for (name, texts) in cases.iter().flat_map(|case| &case.texts) {
            for (row, expected) in texts.iter().enumerate() {
                let (found, expected) = (&found[row][name], expected.as_deref().unwrap_or("null"));
                prop_assert!(same(name, found, expected), "{} row {}: {} is not {}", name, row, found, expected);
            }
        }
    }
}
