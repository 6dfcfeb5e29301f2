//! A histogram: the number of values in each bin.
//!
//! Every bin is drawn equally wide, as the store file counts them. Labels come from the caller.

use askama::Template;

use super::Tenths;

const WIDTH: u32 = 3200;
const HEIGHT: u32 = 900;
/// Room between two bars.
const GAP: u32 = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bin {
    /// Its lower bound, written out.
    pub from: String,
    /// Its upper bound, written out.
    pub to: String,
    /// Values in it.
    pub count: u64,
    /// The same, written out.
    pub count_text: String,
}

/// A bar of the plot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    x: Tenths,
    y: Tenths,
    width: Tenths,
    height: Tenths,
}

/// The plot.
#[derive(Debug, Template)]
#[template(path = "plots/histogram.html")]
pub struct Histogram {
    id: String,
    title: String,
    description: String,
    bins: Vec<Bin>,
    bars: Vec<Bar>,
}

impl Histogram {
    /// Draws the bins. `id` is unique in its page and made of letters, digits and hyphens; `title` names the counted values,
    /// `description` describes them in a sentence.
    pub fn new(id: String, title: String, description: String, bins: Vec<Bin>) -> Self {
        let counts: Vec<u64> = bins.iter().map(|bin| bin.count).collect();
        Self { id, title, description, bars: bars(&counts), bins }
    }

    /// The bins and their bars.
    fn pairs(&self) -> impl Iterator<Item = (&Bin, &Bar)> {
        self.bins.iter().zip(&self.bars)
    }

    fn first(&self) -> &str {
        self.bins.first().map_or("", |bin| &bin.from)
    }

    fn last(&self) -> &str {
        self.bins.last().map_or("", |bin| &bin.to)
    }
}

/// The highest bar has the whole height.
fn bars(counts: &[u64]) -> Vec<Bar> {
    let most = counts.iter().copied().max().unwrap_or(0);
    let bins = u32::try_from(counts.len()).unwrap_or(u32::MAX).max(1);
    let begin = |bin: u32| {
        u32::try_from(u64::from(WIDTH).saturating_mul(bin.into()) / u64::from(bins)).unwrap_or(WIDTH)
    };
    let bar = |(bin, count): (u32, &u64)| {
        let height = Tenths::share(*count, most, HEIGHT);
        let (from, to) = (begin(bin), begin(bin.saturating_add(1)));
        let gap = if bins == 1 { 0 } else { GAP };
        Bar {
            x: Tenths::new(from),
            y: Tenths::new(HEIGHT.saturating_sub(height.tenths())),
            width: Tenths::new(to.saturating_sub(from).saturating_sub(gap)),
            height,
        }
    };
    (0..).zip(counts).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The naive twin: the same lengths as doubles.
    fn naive(counts: &[u64]) -> Vec<(f64, f64, f64)> {
        let most = counts.iter().copied().max().unwrap_or(0) as f64;
        let wide = 320.0 / counts.len() as f64;
        let height = |count: u64| match count {
            0 => 0.0,
            count => (90.0 * count as f64 / most).max(1.0),
        };
        let place = |(bin, count): (usize, &u64)| (bin as f64 * wide, wide, height(*count));
        counts.iter().enumerate().map(place).collect()
    }

    proptest! {
        #[test]
        fn draws_bars_as_high_as_counts(counts in proptest::collection::vec(0_u64..1_000_000_000, 1..21)) {
            let drawn = bars(&counts);
            prop_assert_eq!(drawn.len(), counts.len());
            for (bar, (x, wide, height)) in drawn.iter().zip(naive(&counts)) {
                let units = |tenths: Tenths| f64::from(tenths.tenths()) / 10.0;
                prop_assert!((units(bar.x) - x).abs() <= 0.1, "{bar:?} begins at {x}");
                prop_assert!(units(bar.width) <= wide && units(bar.width) >= wide - 2.2, "{bar:?} of {wide}");
                prop_assert!((units(bar.height) - height).abs() <= 0.06, "{bar:?} of {height}");
                prop_assert_eq!(bar.y.tenths() + bar.height.tenths(), HEIGHT);
            }
        }
    }

    #[test]
    fn names_plot_and_escapes_its_texts() {
        let bin = |from: &str, to: &str, count: u64| Bin {
            from: from.to_owned(),
            to: to.to_owned(),
            count,
            count_text: count.to_string(),
        };
        let bins = vec![bin("<b>", "5", 3), bin("5", "10", 0)];
        let svg = Histogram::new("h-1".into(), "A & B".into(), "two bins".into(), bins).render().unwrap();
        assert!(svg.contains("role=\"img\" aria-labelledby=\"h-1-t h-1-d\""), "{svg}");
        assert!(!svg.contains("style") && !svg.contains("<b>") && !svg.contains("A & B"), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 2);
    }

    #[test]
    fn draws_no_bar_without_counts() {
        assert!(bars(&[]).is_empty());
        assert_eq!(bars(&[0, 0]).iter().map(|bar| bar.height.tenths()).sum::<u32>(), 0);
    }
}
