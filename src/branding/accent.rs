//! The colour of the site, in a shade for light pages and one for dark pages, both readable.
//!
//! Computes contrast like WCAG 2.2. Does not depend on pages.

use xxhash_rust::xxh3::xxh3_64;

/// Contrast that text needs: level AA.
const CONTRAST_MIN: f64 = 4.5;
/// The darkest ground of light pages on which the colour stands.
const LIGHT: Rgb = Rgb([0xf6, 0xf8, 0xfa]);
/// The lightest ground of dark pages on which the colour stands.
const DARK: Rgb = Rgb([0x1d, 0x21, 0x27]);
/// Steps from the colour to white, among which the shade for dark pages is searched.
const STEPS: u16 = 32;

/// A colour in both shades.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accent {
    light: Rgb,
    dark: Rgb,
    file: String,
    css: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rgb([u8; 3]);

impl Accent {
    /// Reads `#rrggbb`. A colour that is hard to read on light pages is refused.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let found: String = text.chars().take(32).collect();
        let light = Rgb::parse(text).ok_or_else(|| {
            format!(
                "expected a colour such as `#0b5c8a`, found `{found}`; write # and six hexadecimal digits"
            )
        })?;
        let contrast = light.contrast(LIGHT);
        if contrast < CONTRAST_MIN {
            return Err(format!(
                "expected a contrast to light pages of at least {CONTRAST_MIN}, found {contrast:.1} for `{found}`; take a darker colour"
            ));
        }
        let shades = (0..=STEPS).map(|step| light.towards_white(step));
        let dark = shades
            .into_iter()
            .find(|shade| shade.contrast(DARK) >= CONTRAST_MIN)
            .unwrap_or(Rgb([u8::MAX; 3]));
        let css = format!(
            ":root{{--accent:{}}}@media(prefers-color-scheme:dark){{:root{{--accent:{}}}}}\n",
            light.hex(),
            dark.hex()
        );
        Ok(Self { light, dark, file: format!("accent.{:016x}.css", xxh3_64(css.as_bytes())), css })
    }

    /// Name of its style sheet, which contains a hash of the content.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Its style sheet.
    pub fn css(&self) -> &str {
        &self.css
    }
}

impl Rgb {
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        let number =
            u32::from_str_radix(digits, 16).ok().filter(|_| digits.bytes().all(|d| d.is_ascii_hexdigit()))?;
        let [_, red, green, blue] = number.to_be_bytes();
        Some(Self([red, green, blue]))
    }

    fn hex(self) -> String {
        let Self([red, green, blue]) = self;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    fn towards_white(self, step: u16) -> Self {
        let mixed = |channel: u8| {
            let missing = u16::from(u8::MAX - channel).saturating_mul(step) / STEPS;
            channel.saturating_add(u8::try_from(missing).unwrap_or(u8::MAX))
        };
        Self(self.0.map(mixed))
    }

    /// From 1, the same, to 21, black on white.
    fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    fn luminance(self) -> f64 {
        let Self(channels) = self;
        let linear = channels.map(|channel| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        });
        let weights = [0.2126, 0.7152, 0.0722];
        linear.iter().zip(weights).map(|(channel, weight)| channel * weight).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derives_readable_colours_for_light_and_dark_pages() {
        for text in ["#0b5c8a", "#000000", "#AA0000", "#707070", "#0000ff"] {
            let accent = Accent::parse(text).unwrap();
            assert!(accent.light.contrast(LIGHT) >= CONTRAST_MIN, "{text}");
            assert!(accent.dark.contrast(DARK) >= CONTRAST_MIN, "{text}: {}", accent.css());
            assert!(accent.css().contains(&text.to_ascii_lowercase()));
        }
        assert_ne!(Accent::parse("#0b5c8a").unwrap().file(), Accent::parse("#0b5c8b").unwrap().file());
    }

    #[test]
    fn refuses_malformed_and_pale_colours_with_remedy() {
        for text in ["blue", "#fff", "#12345", "#1234567", "#12345g", "0b5c8a", "#+12345", "", "#ab;}x{"] {
            let message = Accent::parse(text).unwrap_err();
            assert!(message.contains("six hexadecimal digits"), "{text}: {message}");
        }
        let pale = Accent::parse("#ffee00").unwrap_err();
        assert!(pale.contains("found 1.1 for `#ffee00`; take a darker colour"), "{pale}");
    }

    #[test]
    fn computes_contrast_like_wcag() {
        let (black, white) = (Rgb([0; 3]), Rgb([u8::MAX; 3]));
        assert!((black.contrast(white) - 21.0).abs() < 1e-9);
        assert!((white.contrast(white) - 1.0).abs() < 1e-9);
        assert!((Rgb([0x76; 3]).contrast(white) - 4.54).abs() < 0.01);
    }
}
