//! A line over time: one value at each moment.
//!
//! The highest value has the whole height, and zero is the axis. The highest value is written above the line. Labels come from
//! the caller.

use askama::Template;

use super::Tenths;

const WIDTH: u32 = 3200;
const HEIGHT: u32 = 900;

/// A value at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Milliseconds since some moment, which is the same for all points.
    pub millis: u64,
    pub value: u64,
}

/// The texts at the plot.
#[derive(Debug, Clone, Default)]
pub struct Labels {
    /// The name of the counter.
    pub title: String,
    /// The same in a sentence.
    pub description: String,
    /// The first moment.
    pub first: String,
    /// The last moment.
    pub last: String,
    /// The highest value.
    pub most: String,
}

/// The plot.
#[derive(Debug, Template)]
#[template(path = "plots/line.html")]
pub struct Line {
    id: String,
    labels: Labels,
    places: Vec<(Tenths, Tenths)>,
}

impl Line {
    /// Draws the points, which are in order. `id` is unique in its page and made of letters, digits and hyphens.
    pub fn new(id: String, labels: Labels, points: &[Point]) -> Self {
        Self { id, labels, places: places(points) }
    }

    pub fn title(&self) -> &str {
        &self.labels.title
    }
}

fn places(points: &[Point]) -> Vec<(Tenths, Tenths)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let span = last.millis.saturating_sub(first.millis);
    let most = points.iter().map(|point| point.value).max().unwrap_or(0);
    let place = |point: &Point| {
        let height = Tenths::share(point.value, most, HEIGHT).tenths();
        let along = Tenths::share(point.millis.saturating_sub(first.millis), span, WIDTH);
        (along, Tenths::new(HEIGHT.saturating_sub(height)))
    };
    points.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn draws_points_where_naive_plot_has_them(
            steps in proptest::collection::vec((1_u64..100_000, 0_u64..1_000_000), 1..400),
        ) {
            let mut millis = 0;
            let points: Vec<Point> =
                steps.iter().map(|(step, value)| { millis += step; Point { millis, value: *value } }).collect();
            let drawn = places(&points);
            prop_assert_eq!(drawn.len(), points.len());
            let first = points[0].millis;
            let span = (millis - first) as f64;
            let most = points.iter().map(|point| point.value).max().unwrap() as f64;
            for (point, (x, y)) in points.iter().zip(drawn) {
                let share = |part: u64, whole: f64| if whole == 0.0 { 0.0 } else { part as f64 / whole };
                let units = |tenths: Tenths| f64::from(tenths.tenths()) / 10.0;
                // A value other than zero is drawn at least one unit away from the axis.
                prop_assert!((units(x) - 320.0 * share(point.millis - first, span)).abs() <= 1.0);
                prop_assert!((units(y) - (90.0 - 90.0 * share(point.value, most))).abs() <= 1.0);
            }
        }
    }

    #[test]
    fn draws_nothing_without_points_and_escapes_texts() {
        assert!(places(&[]).is_empty());
        let flat = places(&[Point { millis: 5, value: 0 }, Point { millis: 5, value: 0 }]);
        assert!(flat.iter().all(|(x, y)| (x.tenths(), y.tenths()) == (0, HEIGHT)));
        let labels = Labels { title: "<b>".into(), description: "A & B".into(), ..Labels::default() };
        let svg = Line::new("x".into(), labels, &[Point { millis: 0, value: 1 }]).render().unwrap();
        assert!(
            svg.contains("role=\"img\" aria-labelledby=\"x-t x-d\"") && svg.contains("points=\"0,0\""),
            "{svg}"
        );
        assert!(!svg.contains("<b>") && !svg.contains("A & B") && !svg.contains("style"), "{svg}");
    }
}
