//! The definitions of `parquet.thrift` for footers and page headers. Unlisted fields may have any type. Does not depend
//! on bytes.

use crate::convert::thrift::ThriftType::{List, Plain, Struct};
use crate::convert::thrift::{ThriftType, WireType};

const NUMBER: ThriftType = Plain(WireType::Integer);
const TEXT: ThriftType = Plain(WireType::Binary);
const FLAG: ThriftType = Plain(WireType::Boolean);
const NOTHING: ThriftType = Struct(&[]);

/// `FileMetaData`.
pub const FOOTER: ThriftType = Struct(&[
    (1, NUMBER),
    (2, List(&SCHEMA_ELEMENT)),
    (3, NUMBER),
    (4, List(&ROW_GROUP)),
    (5, List(&KEY_VALUE)),
    (6, TEXT),
    (7, List(&COLUMN_ORDER)),
    (8, NOTHING),
    (9, TEXT),
]);

/// `PageHeader`.
pub const PAGE_HEADER: ThriftType = Struct(&[
    (1, NUMBER),
    (2, NUMBER),
    (3, NUMBER),
    (4, NUMBER),
    (5, Struct(&[(1, NUMBER), (2, NUMBER), (3, NUMBER), (4, NUMBER), (5, STATISTICS)])),
    (6, NOTHING),
    (7, Struct(&[(1, NUMBER), (2, NUMBER), (3, FLAG)])),
    (8, DATA_PAGE_V2),
]);

const DATA_PAGE_V2: ThriftType = Struct(&[
    (1, NUMBER),
    (2, NUMBER),
    (3, NUMBER),
    (4, NUMBER),
    (5, NUMBER),
    (6, NUMBER),
    (7, FLAG),
    (8, STATISTICS),
]);

const STATISTICS: ThriftType = Struct(&[
    (1, TEXT),
    (2, TEXT),
    (3, NUMBER),
    (4, NUMBER),
    (5, TEXT),
    (6, TEXT),
    (7, FLAG),
    (8, FLAG),
    (9, NUMBER),
]);

const SCHEMA_ELEMENT: ThriftType = Struct(&[
    (1, NUMBER),
    (2, NUMBER),
    (3, NUMBER),
    (4, TEXT),
    (5, NUMBER),
    (6, NUMBER),
    (7, NUMBER),
    (8, NUMBER),
    (9, NUMBER),
    (10, LOGICAL_TYPE),
]);

const LOGICAL_TYPE: ThriftType = Struct(&[
    (1, NOTHING),
    (2, NOTHING),
    (3, NOTHING),
    (4, NOTHING),
    (5, Struct(&[(1, NUMBER), (2, NUMBER)])),
    (6, NOTHING),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Plain(WireType::Byte)), (2, FLAG)])),
    (11, NOTHING),
    (12, NOTHING),
    (13, NOTHING),
    (14, NOTHING),
    (15, NOTHING),
    (16, Struct(&[(1, Plain(WireType::Byte))])),
    (17, Struct(&[(1, TEXT)])),
    (18, Struct(&[(1, TEXT), (2, NUMBER)])),
]);

const TIME: ThriftType = Struct(&[(1, FLAG), (2, Struct(&[(1, NOTHING), (2, NOTHING), (3, NOTHING)]))]);

const KEY_VALUE: ThriftType = Struct(&[(1, TEXT), (2, TEXT)]);

const COLUMN_ORDER: ThriftType = Struct(&[(1, NOTHING), (2, NOTHING)]);

const ROW_GROUP: ThriftType = Struct(&[
    (1, List(&COLUMN_CHUNK)),
    (2, NUMBER),
    (3, NUMBER),
    (4, List(&Struct(&[(1, NUMBER), (2, FLAG), (3, FLAG)]))),
    (5, NUMBER),
    (6, NUMBER),
    (7, NUMBER),
]);

const COLUMN_CHUNK: ThriftType = Struct(&[
    (1, TEXT),
    (2, NUMBER),
    (3, COLUMN_METADATA),
    (4, NUMBER),
    (5, NUMBER),
    (6, NUMBER),
    (7, NUMBER),
    (8, NOTHING),
    (9, TEXT),
]);

const COLUMN_METADATA: ThriftType = Struct(&[
    (1, NUMBER),
    (2, List(&NUMBER)),
    (3, List(&TEXT)),
    (4, NUMBER),
    (5, NUMBER),
    (6, NUMBER),
    (7, NUMBER),
    (8, List(&KEY_VALUE)),
    (9, NUMBER),
    (10, NUMBER),
    (11, NUMBER),
    (12, STATISTICS),
    (13, List(&Struct(&[(1, NUMBER), (2, NUMBER), (3, NUMBER)]))),
    (14, NUMBER),
    (15, NUMBER),
    (16, Struct(&[(1, NUMBER), (2, List(&NUMBER)), (3, List(&NUMBER))])),
    (17, Struct(&[(1, BOX), (2, List(&NUMBER))])),
]);

const BOX: ThriftType = {
    const SIDE: ThriftType = Plain(WireType::Double);
    Struct(&[(1, SIDE), (2, SIDE), (3, SIDE), (4, SIDE), (5, SIDE), (6, SIDE), (7, SIDE), (8, SIDE)])
};
