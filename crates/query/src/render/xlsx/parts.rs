//! The small parts of a workbook and the frame of its sheet, as XML. Does not depend on rows.

use mercato_format::{ColumnKind, TimeUnit};

use crate::render::Labels;
use crate::render::xlsx::cells::{Column, SCALE_MAX};
use crate::render::xlsx::sheet::Deflater;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
/// Characters of the name of a sheet.
const NAME_CHARS_MAX: usize = 31;
/// The widest column, in characters.
const WIDTH_MAX: usize = 40;
/// The first number of a format that the workbook defines itself.
const FORMAT_FIRST: u16 = 164;
/// Formats of dates and moments, in the order of their styles.
const MOMENTS: [&str; 3] = ["yyyy\\-mm\\-dd", "yyyy\\-mm\\-dd\\ hh:mm:ss", "yyyy\\-mm\\-dd\\ hh:mm:ss.000"];
/// The end of a sheet.
pub(super) const SHEET_END: &[u8] = b"</sheetData></worksheet>";

/// The parts in front of the sheet, by their names.
pub(super) fn of(labels: Labels<'_>) -> [(&'static str, String); 6] {
    [
        ("[Content_Types].xml", content_types()),
        ("_rels/.rels", relations()),
        ("docProps/core.xml", core(labels)),
        ("xl/workbook.xml", workbook(labels.dataset)),
        ("xl/_rels/workbook.xml.rels", workbook_relations()),
        ("xl/styles.xml", styles()),
    ]
}

fn content_types() -> String {
    let sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml";
    format!(
        "{HEAD}<Types xmlns=\"{PACKAGE}/content-types\">\
         <Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
         <Default Extension=\"xml\" ContentType=\"application/xml\"/>\
         <Override PartName=\"/xl/workbook.xml\" ContentType=\"{sheet}.sheet.main+xml\"/>\
         <Override PartName=\"/xl/worksheets/sheet1.xml\" ContentType=\"{sheet}.worksheet+xml\"/>\
         <Override PartName=\"/xl/styles.xml\" ContentType=\"{sheet}.styles+xml\"/>\
         <Override PartName=\"/docProps/core.xml\" \
         ContentType=\"application/vnd.openxmlformats-package.core-properties+xml\"/></Types>"
    )
}

fn relations() -> String {
    format!(
        "{HEAD}<Relationships xmlns=\"{PACKAGE}/relationships\">\
         <Relationship Id=\"rId1\" Type=\"{OFFICE}/officeDocument\" Target=\"xl/workbook.xml\"/>\
         <Relationship Id=\"rId2\" Type=\"{PACKAGE}/relationships/metadata/core-properties\" \
         Target=\"docProps/core.xml\"/></Relationships>"
    )
}

/// The name of dataset and version, and no times.
fn core(labels: Labels<'_>) -> String {
    let title = escaped(&format!("{} {}", labels.dataset, labels.version));
    format!(
        "{HEAD}<cp:coreProperties xmlns:cp=\"{PACKAGE}/metadata/core-properties\" \
         xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><dc:title>{title}</dc:title></cp:coreProperties>"
    )
}

fn workbook(dataset: &str) -> String {
    let name = escaped(&sheet_name(dataset));
    format!(
        "{HEAD}<workbook xmlns=\"{MAIN}\" xmlns:r=\"{OFFICE}\"><sheets>\
         <sheet name=\"{name}\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>"
    )
}

fn workbook_relations() -> String {
    format!(
        "{HEAD}<Relationships xmlns=\"{PACKAGE}/relationships\">\
         <Relationship Id=\"rId1\" Type=\"{OFFICE}/worksheet\" Target=\"worksheets/sheet1.xml\"/>\
         <Relationship Id=\"rId2\" Type=\"{OFFICE}/styles\" Target=\"styles.xml\"/></Relationships>"
    )
}

/// The styles by their numbers: general, header, integer, date, seconds, milliseconds, text, decimals by scale.
fn styles() -> String {
    let decimal = |scale: u8| format!("0.{}", "0".repeat(scale.into()));
    let own = MOMENTS.iter().map(|code| (*code).to_owned()).chain((1..=SCALE_MAX).map(decimal));
    let formats: Vec<(u16, String)> = (FORMAT_FIRST..).zip(own).collect();
    let listed: String = formats
        .iter()
        .map(|(number, code)| format!("<numFmt numFmtId=\"{number}\" formatCode=\"{code}\"/>"))
        .collect();
    let plain = |format: u16| {
        format!(
            "<xf numFmtId=\"{format}\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/>"
        )
    };
    let own: Vec<String> = formats.iter().map(|(number, _)| plain(*number)).collect();
    let (moments, decimals) = own.split_at_checked(MOMENTS.len()).unwrap_or_default();
    let count = own.len().saturating_add(4);
    format!(
        "{HEAD}<styleSheet xmlns=\"{MAIN}\"><numFmts count=\"{}\">{listed}</numFmts>\
         <fonts count=\"2\"><font><sz val=\"11\"/><name val=\"Calibri\"/><family val=\"2\"/></font>\
         <font><b/><sz val=\"11\"/><name val=\"Calibri\"/><family val=\"2\"/></font></fonts>\
         <fills count=\"2\"><fill><patternFill patternType=\"none\"/></fill>\
         <fill><patternFill patternType=\"gray125\"/></fill></fills>\
         <borders count=\"1\"><border><left/><right/><top/><bottom/><diagonal/></border></borders>\
         <cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/></cellStyleXfs>\
         <cellXfs count=\"{count}\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\"/>\
         <xf numFmtId=\"49\" fontId=\"1\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\" applyFont=\"1\"/>\
         {}{}{}{}</cellXfs><cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" builtinId=\"0\"/></cellStyles>\
         </styleSheet>",
        formats.len(),
        plain(1),
        moments.concat(),
        plain(49),
        decimals.concat(),
    )
}

/// The sheet up to its first row, with a header row that stays in sight.
pub(super) fn push_sheet_begin(columns: &[Column<'_>], deflater: &mut Deflater, out: &mut Vec<u8>) {
    deflater.push(HEAD.as_bytes());
    deflater.push(format!("<worksheet xmlns=\"{MAIN}\">").as_bytes());
    deflater.push(
        b"<sheetViews><sheetView tabSelected=\"1\" workbookViewId=\"0\">\
          <pane ySplit=\"1\" topLeftCell=\"A2\" activePane=\"bottomLeft\" state=\"frozen\"/>\
          </sheetView></sheetViews><cols>",
    );
    for (column, number) in columns.iter().zip(1_usize..) {
        let width = width(column);
        let text = format!("<col min=\"{number}\" max=\"{number}\" width=\"{width}\" customWidth=\"1\"/>");
        deflater.push(text.as_bytes());
        deflater.drain_if_full(out);
    }
    deflater.push(b"</cols><sheetData><row r=\"1\">");
    for column in columns {
        column.push_header(deflater.text());
        deflater.drain_if_full(out);
    }
    deflater.push(b"</row>");
}

/// The width of a column in characters, so that dates are seen whole.
fn width(column: &Column<'_>) -> usize {
    let values = match column.kind() {
        ColumnKind::Boolean => 7,
        ColumnKind::Date => 11,
        ColumnKind::Timestamp { unit: TimeUnit::Second } => 20,
        ColumnKind::Timestamp { .. } => 24,
        ColumnKind::Text => 16,
        ColumnKind::Integer | ColumnKind::Float | ColumnKind::Decimal { .. } => 12,
    };
    values.max(column.name().chars().count().saturating_add(2)).min(WIDTH_MAX)
}

/// The name of the sheet: that of the dataset, as far as Excel takes it.
fn sheet_name(dataset: &str) -> String {
    let fitting = dataset.chars().map(|c| if "[]:*?/\\'".contains(c) || c.is_control() { '_' } else { c });
    let name: String = fitting.take(NAME_CHARS_MAX).collect();
    // Excel keeps this name for itself, and has no empty one.
    match name.as_str() {
        "" => "data".to_owned(),
        _ if name.eq_ignore_ascii_case("history") => format!("{name}_"),
        _ => name,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sheets_as_excel_takes_them() {
        assert_eq!(sheet_name("air-quality"), "air-quality");
        assert_eq!(sheet_name("history"), "history_");
        assert_eq!(sheet_name(&"x".repeat(64)), "x".repeat(31));
        assert_eq!(sheet_name("a/b:c"), "a_b_c");
        assert_eq!(sheet_name(""), "data");
    }

    #[test]
    fn every_style_has_its_number() {
        let styles = styles();
        assert_eq!(styles.matches("<xf ").count(), 1 + 7 + usize::from(SCALE_MAX));
        assert!(styles.contains(&format!("<cellXfs count=\"{}\">", 7 + SCALE_MAX)));
        assert!(styles.contains("formatCode=\"0.00\""));
    }
}
