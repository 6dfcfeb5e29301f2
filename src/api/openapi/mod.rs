//! The OpenAPI 3.1 document of the public API: `openapi.json`, with the address of this server filled in.
//!
//! To change the document, edit the file; it is valid OpenAPI as it stands. Tests report missing and wrong parts. `tests`
//! beside this file compares it with the tables of routes and errors. `tests/api/openapi` compares it with the parameters,
//! fields and headers that handlers read, with the limits, and with every answer that a test of the API receives.

#[cfg(test)]
mod tests;

/// The document of a server at `/`.
const SOURCE: &str = include_str!("openapi.json");
/// The address in the document, once the white space is gone.
const AT_ROOT: &str = r#""servers":[{"url":"/"}]"#;

/// The document without white space. `public_url` is the address of this server, without a slash at the end.
pub fn document(public_url: Option<&str>) -> String {
    let text = compact(SOURCE);
    match public_url.map(serde_json::Value::from) {
        Some(url) => text.replacen(AT_ROOT, &format!(r#""servers":[{{"url":{url}}}]"#), 1),
        None => text,
    }
}

/// The same JSON without white space between its tokens.
pub fn compact(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let is_kept = |character: &char| {
        if in_string {
            (in_string, escaped) = (escaped || *character != '"', !escaped && *character == '\\');
            return true;
        }
        in_string = *character == '"';
        !character.is_ascii_whitespace()
    };
    json.chars().filter(is_kept).collect()
}
