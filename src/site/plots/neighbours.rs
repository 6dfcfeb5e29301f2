//! A plot of a dataset and its neighbours around it.
//!
//! Places names on an ellipse and shows direct neighbours only. Does not depend on datasets.

use std::f64::consts::TAU;

use askama::Template;

use super::Tenths;

const WIDTH: f64 = 800.0;
/// Half axes of the ellipse on which the neighbours stand: names need room at the sides.
const HALF_WIDTH: f64 = 210.0;
const HALF_HEIGHT: f64 = 100.0;
/// Room above and below.
const MARGIN: f64 = 40.0;
/// Neighbours that stand beside the middle, so that the plot is low.
const BESIDE_MAX: usize = 2;
/// Neighbours that are drawn; more of them would cover each other.
pub const DRAWN_MAX: usize = 12;
/// Characters of a name that are drawn.
const NAME_CHARACTERS_MAX: usize = 24;

/// A neighbour, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoke {
    pub name: String,
    /// How the two belong together.
    pub relation: String,
}

/// A neighbour in its place.
#[derive(Debug)]
struct Placed {
    spoke: Spoke,
    shown: String,
    x: Tenths,
    y: Tenths,
    text_y: Tenths,
    anchor: &'static str,
    text_x: Tenths,
}

/// The plot.
#[derive(Debug, Template)]
#[template(path = "plots/neighbours.html")]
pub struct Neighbours {
    title: String,
    description: String,
    center: String,
    placed: Vec<Placed>,
    middle: (Tenths, Tenths),
    /// Width and height.
    size: (Tenths, Tenths),
}

impl Neighbours {
    /// Draws the first [`DRAWN_MAX`] of `spokes` around `center`.
    pub fn new(title: String, description: String, center: &str, spokes: Vec<Spoke>) -> Self {
        let drawn = spokes.len().min(DRAWN_MAX);
        let placed = spokes.into_iter().take(DRAWN_MAX).enumerate();
        let placed = placed.map(|(number, spoke)| place(spoke, number, drawn)).collect();
        let middle = middle(drawn);
        Self {
            title,
            description,
            center: shortened(center),
            placed,
            middle: (tenths(WIDTH / 2.0), tenths(middle)),
            size: (tenths(WIDTH), tenths(2.0 * middle)),
        }
    }
}

fn place(spoke: Spoke, number: usize, of: usize) -> Placed {
    let (sine, cosine) = angle(number, of).sin_cos();
    let (x, y) = (WIDTH / 2.0 + HALF_WIDTH * cosine, middle(of) + HALF_HEIGHT * sine);
    // A name stands beyond its dot, seen from the middle.
    let (anchor, aside) = match cosine {
        right if right > 0.3 => ("start", 12.0),
        left if left < -0.3 => ("end", -12.0),
        _ => ("middle", 0.0),
    };
    let below = if aside == 0.0 { 20.0 * sine.signum() } else { 0.0 };
    Placed {
        shown: shortened(&spoke.name),
        x: tenths(x),
        y: tenths(y),
        text_x: tenths(x + aside),
        text_y: tenths(y + below + 4.0),
        anchor,
        spoke,
    }
}

/// How far below the upper edge the dataset stands.
fn middle(neighbours: usize) -> f64 {
    MARGIN + if neighbours > BESIDE_MAX { HALF_HEIGHT } else { 0.0 }
}

/// The first neighbour stands on the right, the others follow clockwise at equal angles.
fn angle(number: usize, of: usize) -> f64 {
    TAU * number as f64 / of.max(1) as f64
}

fn tenths(units: f64) -> Tenths {
    Tenths::new((units.clamp(0.0, WIDTH) * 10.0).round() as u32)
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARACTERS_MAX) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default().trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoke(name: &str) -> Spoke {
        Spoke { name: name.to_owned(), relation: "part of".to_owned() }
    }

    #[test]
    fn places_neighbours_on_ellipse_inside_plot() {
        for count in 1..=20 {
            let spokes: Vec<Spoke> = (0..count).map(|number| spoke(&format!("n{number}"))).collect();
            let plot = Neighbours::new("t".into(), "d".into(), "middle", spokes);
            assert_eq!(plot.placed.len(), count.min(DRAWN_MAX));
            let places: Vec<(u32, u32)> =
                plot.placed.iter().map(|placed| (placed.x.tenths(), placed.y.tenths())).collect();
            for (number, (x, y)) in places.iter().enumerate() {
                assert!(*x <= plot.size.0.tenths() && *y <= plot.size.1.tenths(), "{x} {y}");
                let from =
                    |place: u32, middle: Tenths| (f64::from(place) - f64::from(middle.tenths())) / 10.0;
                let (x, y) = (from(*x, plot.middle.0), from(*y, plot.middle.1));
                let on_ellipse = (x / HALF_WIDTH).powi(2) + (y / HALF_HEIGHT).powi(2);
                assert!((on_ellipse - 1.0).abs() < 0.01, "{on_ellipse}");
                assert!(!places.iter().skip(number + 1).any(|other| *other == places[number]));
            }
        }
    }

    #[test]
    fn escapes_and_shortens_names() {
        let plot =
            Neighbours::new("t".into(), "d".into(), "<m>", vec![spoke("<script>alert(1)</script>abcdefgh")]);
        let svg = plot.render().unwrap();
        assert!(!svg.contains("<script>") && !svg.contains("<m>") && !svg.contains("style="), "{svg}");
        assert_eq!(shortened(&"à".repeat(25)), format!("{}…", "à".repeat(24)));
        assert_eq!(shortened("à"), "à");
    }
}
