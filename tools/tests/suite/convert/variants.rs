//! VARIANT columns as JSON text: binary, shredded into typed columns, in parts, and damaged.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet_variant::{Variant, VariantBuilder, VariantDecimal4};

use crate::cli::{json, refused};
use crate::convert::read_back::{converted, refusal};

/// The values of a leaf, its definition levels and its repetition levels.
enum Leaf<'a> {
    Bytes(Vec<&'a [u8]>, Vec<i16>, Option<Vec<i16>>),
    Longs(Vec<i64>, Vec<i16>, Option<Vec<i16>>),
}

fn write(path: &Path, fields: &str, leaves: Vec<Leaf<'_>>) {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {fields} }}")).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(fs::File::create(path).unwrap(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for leaf in leaves {
        let mut column = group.next_column().unwrap().unwrap();
        match leaf {
            Leaf::Bytes(values, defined, repeated) => {
                let values: Vec<ByteArray> = values.into_iter().map(|bytes| bytes.to_vec().into()).collect();
                let typed = column.typed::<ByteArrayType>();
                typed.write_batch(&values, Some(&defined), repeated.as_deref()).unwrap()
            }
            Leaf::Longs(values, defined, repeated) => {
                let typed = column.typed::<Int64Type>();
                typed.write_batch(&values, Some(&defined), repeated.as_deref()).unwrap()
            }
        };
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

fn texts(path: &Path, column: &str) -> Vec<Option<String>> {
    converted(path).iter().map(|row| serde_json::from_str(&row[column]).unwrap()).collect()
}

fn binary<'v>(value: impl Into<Variant<'v, 'v>>) -> (Vec<u8>, Vec<u8>) {
    let mut builder = VariantBuilder::new();
    builder.append_value(value);
    builder.finish()
}

/// `{"name": "è", "list": [true, null, 300], "price": 12.30, "ratio": 0.1, "bytes": …}`
fn object() -> (Vec<u8>, Vec<u8>) {
    let mut builder = VariantBuilder::new();
    let mut object = builder.new_object();
    object.insert("name", "è \"quoted\"");
    object.insert("price", VariantDecimal4::try_new(1_230, 2).unwrap());
    object.insert("ratio", 0.1_f32);
    object.insert("bytes", &b"bare"[..]);
    let mut list = object.new_list("list");
    list.append_value(true);
    list.append_value(Variant::Null);
    list.append_value(300_i16);
    list.finish();
    object.finish();
    builder.finish()
}

const PLAIN: &str = "optional group v (VARIANT) { required binary metadata; required binary value; }";

#[test]
fn reads_variant_as_json_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    let pairs = [object(), binary(Variant::Null), binary(f64::NAN), binary("text"), binary(i64::MIN)];
    let defined = vec![1, 0, 1, 1, 1, 1];
    let metadata = pairs.iter().map(|(metadata, _)| metadata.as_slice()).collect();
    let values = pairs.iter().map(|(_, value)| value.as_slice()).collect();
    write(
        &path,
        PLAIN,
        vec![Leaf::Bytes(metadata, defined.clone(), None), Leaf::Bytes(values, defined, None)],
    );
    let found = texts(&path, "v");
    let object =
        r#"{"bytes":"YmFyZQ==","list":[true,null,300],"name":"è \"quoted\"","price":12.30,"ratio":0.1}"#;
    let wanted =
        [Some(object), None, Some("null"), Some("null"), Some("\"text\""), Some("-9223372036854775808")];
    assert_eq!(found.iter().map(Option::as_deref).collect::<Vec<_>>(), wanted);
    let report = json(folder.path(), &["convert", "in.parquet", "--json", "-o", "again.mcol"]);
    assert_eq!(report["columns"][0]["sourceType"], "VARIANT");
}

/// Numbers stand in the typed column, all else in binary form.
#[test]
fn reads_variant_that_is_partly_typed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    let (empty, text) = binary("seven");
    let fields = "required group outer { optional group v (VARIANT) {
        required binary metadata; optional binary value; optional int64 typed_value; } }";
    let leaves = vec![
        Leaf::Bytes(vec![&empty; 3], vec![1, 1, 0, 1], None),
        Leaf::Bytes(vec![&text], vec![1, 2, 0, 1], None),
        Leaf::Longs(vec![7], vec![2, 1, 0, 1], None),
    ];
    write(&path, fields, leaves);
    let wanted = [Some("7"), Some("\"seven\""), None, Some("null")];
    assert_eq!(texts(&path, "outer.v").iter().map(Option::as_deref).collect::<Vec<_>>(), wanted);
}

/// Field `a` is typed; others stand in the binary form of the object.
#[test]
fn joins_parts_of_shredded_object() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    let mut builder = VariantBuilder::new().with_field_names(["a", "b"]);
    builder.new_object().with_field("b", "rest").finish();
    let (metadata, rest) = builder.finish();
    let (_, text) = binary("a text");
    let fields = "optional group v (VARIANT) { required binary metadata; optional binary value;
        optional group typed_value {
            required group a { optional binary value; optional int64 typed_value; }
        } }";
    // Rows: typed and rest; a as text; without a; no object.
    let leaves = vec![
        Leaf::Bytes(vec![&metadata; 4], vec![1; 4], None),
        Leaf::Bytes(vec![&rest, &text], vec![2, 1, 1, 2], None),
        Leaf::Bytes(vec![&text], vec![2, 3, 2, 1], None),
        Leaf::Longs(vec![5], vec![3, 2, 2, 1], None),
    ];
    write(&path, fields, leaves);
    let wanted = [r#"{"a":5,"b":"rest"}"#, r#"{"a":"a text"}"#, "{}", "\"a text\""];
    assert_eq!(texts(&path, "v"), wanted.map(|text| Some(text.to_owned())));
}

#[test]
fn reads_shredded_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    let (empty, text) = binary("x");
    let fields = "optional group v (VARIANT) { required binary metadata; optional binary value;
        optional group typed_value (LIST) { repeated group list {
            required group element { optional binary value; optional int64 typed_value; }
        } } }";
    // Rows: [1, "x", null]; [].
    let repeated = || Some(vec![0, 1, 1, 0]);
    let leaves = vec![
        Leaf::Bytes(vec![&empty; 2], vec![1; 2], None),
        Leaf::Bytes(vec![], vec![1; 2], None),
        Leaf::Bytes(vec![&text], vec![3, 4, 3, 2], repeated()),
        Leaf::Longs(vec![1], vec![4, 3, 3, 2], repeated()),
    ];
    write(&path, fields, leaves);
    assert_eq!(texts(&path, "v"), [r#"[1,"x",null]"#, "[]"].map(|text| Some(text.to_owned())));
}

#[test]
fn rejects_damaged_variant_with_row() {
    let (metadata, text) = binary("a long enough text");
    let (cut, one) = (&text[..text.len() - 1], binary(1_i8));
    for (metadata, value) in [(&metadata[..], cut), (&metadata[..], &[]), (&[0xff, 0xff], &text[..])] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.parquet");
        let leaves = vec![
            Leaf::Bytes(vec![&one.0, metadata], vec![1; 2], None),
            Leaf::Bytes(vec![&one.1, value], vec![1; 2], None),
        ];
        write(&path, PLAIN, leaves);
        let reason = refusal(&path);
        assert!(reason.contains("column `v`, row 1") && reason.contains("damaged VARIANT"), "{reason}");
    }
}

#[test]
fn rejects_variant_in_list_unless_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    let (metadata, value) = binary(1_i8);
    let item = PLAIN.replace("optional group v", "optional group element");
    let fields = format!("required int64 n; optional group l (LIST) {{ repeated group list {{ {item} }} }}");
    let leaves = vec![
        Leaf::Longs(vec![4], vec![0], None),
        Leaf::Bytes(vec![&metadata], vec![3], Some(vec![0])),
        Leaf::Bytes(vec![&value], vec![3], Some(vec![0])),
    ];
    write(&path, &fields, leaves);
    let words = ["column `l`", "VARIANT in a list", "--drop l"];
    refused(folder.path(), &["convert", "in.parquet"], 1, &words);
    assert_eq!(json(folder.path(), &["convert", "in.parquet", "--json", "--drop", "l"])["rows"], 1);
}
