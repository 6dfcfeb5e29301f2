//! The words in which schemas are spelled: closed objects, bounded numbers, lists, references.
//!
//! Knows OpenAPI and no route.

use serde_json::Value;
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, ArrayBuilder, ObjectBuilder, SchemaType, Type,
};
use utoipa::openapi::{KnownFormat, Ref, RefOr, Schema, SchemaFormat};

/// A schema, or a reference to one.
pub(super) type Node = RefOr<Schema>;

/// The schema of that name among the components.
pub(super) fn named(name: &str) -> Node {
    RefOr::Ref(Ref::from_schema_name(name))
}

/// Fields of an object, in the order in which answers have them.
pub(super) struct Fields(ObjectBuilder);

impl Fields {
    /// An object that has these fields and no others.
    pub(super) fn closed(description: &str) -> Self {
        Self::open(description).others(AdditionalProperties::FreeForm(false))
    }

    /// An object that may have further fields.
    pub(super) fn open(description: &str) -> Self {
        Self(ObjectBuilder::new().schema_type(Type::Object).description(Some(description)))
    }

    /// An object whose further fields fit `schema`.
    pub(super) fn map(description: &str, schema: Node) -> Self {
        Self::open(description).others(AdditionalProperties::RefOr(schema))
    }

    fn others(self, others: AdditionalProperties<Schema>) -> Self {
        Self(self.0.additional_properties(Some(others)))
    }

    /// A field that is always there.
    pub(super) fn has(self, name: &str, schema: Node) -> Self {
        Self(self.0.property(name, schema).required(name))
    }

    /// A field that may be absent.
    pub(super) fn may(self, name: &str, schema: Node) -> Self {
        Self(self.0.property(name, schema))
    }

    /// At least so many fields.
    pub(super) fn at_least(self, count: usize) -> Self {
        Self(self.0.min_properties(Some(count)))
    }

    /// An example of the whole.
    pub(super) fn example(self, value: Value) -> Self {
        Self(self.0.examples([value]))
    }

    /// The finished schema.
    pub(super) fn node(self) -> Node {
        self.0.into()
    }
}

/// One type, or the same or null.
fn kind(first: Type, nullable: bool) -> SchemaType {
    if nullable { SchemaType::Array(vec![first, Type::Null]) } else { SchemaType::Type(first) }
}

fn plain(first: Type, nullable: bool, description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(kind(first, nullable)).description(Some(description))
}

/// A text.
pub(super) fn text(description: &str) -> Node {
    plain(Type::String, false, description).into()
}

/// A text or null.
pub(super) fn text_or_null(description: &str) -> Node {
    plain(Type::String, true, description).into()
}

/// A text of a form, with an example.
pub(super) fn text_like(description: &str, pattern: &str, example: &str) -> Node {
    plain(Type::String, false, description).pattern(Some(pattern)).examples([example]).into()
}

/// One of a few words.
pub(super) fn word(description: &str, words: &[&str]) -> Node {
    plain(Type::String, false, description).enum_values(Some(words.iter().copied())).into()
}

/// A moment in UTC.
pub(super) fn moment(description: &str) -> Node {
    let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
    plain(Type::String, false, description).format(Some(format)).examples(["2026-11-21T02:31:37.123Z"]).into()
}

/// A moment in UTC, or null.
pub(super) fn moment_or_null(description: &str) -> Node {
    let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
    plain(Type::String, true, description).format(Some(format)).into()
}

/// A day.
pub(super) fn day(description: &str) -> Node {
    let format = SchemaFormat::KnownFormat(KnownFormat::Date);
    plain(Type::String, false, description).format(Some(format)).into()
}

/// A whole number from zero.
pub(super) fn count(description: &str) -> Node {
    plain(Type::Integer, false, description).minimum(Some(0_usize)).into()
}

/// A whole number from zero, or null.
pub(super) fn count_or_null(description: &str) -> Node {
    plain(Type::Integer, true, description).minimum(Some(0_usize)).into()
}

/// A whole number from one.
pub(super) fn ordinal(description: &str) -> Node {
    plain(Type::Integer, false, description).minimum(Some(1_usize)).into()
}

/// A whole number between two bounds, with what stands for none.
pub(super) fn bounded(description: &str, minimum: usize, maximum: usize, default: usize) -> Node {
    plain(Type::Integer, false, description)
        .minimum(Some(minimum))
        .maximum(Some(maximum))
        .default(Some(Value::from(default)))
        .into()
}

/// A whole number between two bounds, or null, with what stands for none.
pub(super) fn bounded_or_null(description: &str, minimum: usize, maximum: usize, default: usize) -> Node {
    plain(Type::Integer, true, description)
        .minimum(Some(minimum))
        .maximum(Some(maximum))
        .default(Some(Value::from(default)))
        .into()
}

/// A number.
pub(super) fn number(description: &str) -> Node {
    plain(Type::Number, false, description).into()
}

/// True or false.
pub(super) fn flag(description: &str) -> Node {
    plain(Type::Boolean, false, description).into()
}

/// Exactly this value.
pub(super) fn exactly(value: bool) -> Node {
    ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([value])).into()
}

/// Always null.
pub(super) fn null(description: &str) -> Node {
    plain(Type::Null, false, description).into()
}

/// Any JSON value.
pub(super) fn anything(description: &str) -> Node {
    ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(description)).into()
}

/// A text, a number, true or false, and null where it is allowed.
pub(super) fn scalar(description: &str, nullable: bool) -> Node {
    let mut types = vec![Type::String, Type::Number, Type::Boolean];
    if nullable {
        types.push(Type::Null);
    }
    ObjectBuilder::new().schema_type(SchemaType::Array(types)).description(Some(description)).into()
}

/// A list.
pub(super) fn list(description: &str, items: Node) -> Node {
    ArrayBuilder::new().items(items).description(Some(description)).into()
}

/// A list whose length has bounds.
pub(super) fn list_of(description: &str, items: Node, minimum: usize, maximum: usize) -> Node {
    let list = ArrayBuilder::new().items(items).description(Some(description));
    list.min_items(Some(minimum)).max_items(Some(maximum)).into()
}

/// A list without repetitions, or null.
pub(super) fn set_or_null(description: &str, items: Node, maximum: usize) -> Node {
    let types = SchemaType::Array(vec![Type::Array, Type::Null]);
    let list = ArrayBuilder::new().schema_type(types).items(items).description(Some(description));
    list.unique_items(true).max_items(Some(maximum)).into()
}

/// One of several forms.
pub(super) fn any_of(description: &str, forms: Vec<Node>) -> Node {
    forms.into_iter().fold(AnyOfBuilder::new().description(Some(description)), AnyOfBuilder::item).into()
}

/// That schema, or null.
pub(super) fn or_null(description: &str, schema: Node) -> Node {
    any_of(description, vec![schema, null("Not there.")])
}
