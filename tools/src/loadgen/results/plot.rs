//! Plots latency by percentile and by depth, as SVG. Does not depend on files or requests.

use std::error::Error;
use std::ops::Range;

use hdrhistogram::Histogram;
use plotters::chart::MeshStyle;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::loadgen::requests::prepared_work::PreparedWork;
use crate::loadgen::results::tally::{Percentiles, Tally, milliseconds};

/// Width and height of a plot, in pixels.
const SIZE: (u32, u32) = (1_000, 600);
/// Points of a line for each nine.
const POINTS_PER_NINE: u32 = 50;
/// Most nines of the axis: 99.9999 %.
const NINES_MAX: u32 = 6;
const CAPTION_FONT: (&str, u32) = ("sans-serif", 22);
const LABEL_FONT: (&str, u32) = ("sans-serif", 18);
const MARGIN: u32 = 16;
const LABEL_AREA: u32 = 56;

/// Why a plot failed.
pub type PlotError = Box<dyn Error + Send + Sync>;

/// One curve of a plot.
#[derive(Debug, Clone, PartialEq)]
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Plots latency by percentile, one curve a work. The axis has equal distances between nines.
pub fn by_percentile(title: &str, works: &[PreparedWork], tallies: &[Tally]) -> Result<String, PlotError> {
    let curves: Vec<Curve> = works
        .iter()
        .zip(tallies)
        .map(|(work, tally)| Curve { name: work.name.clone(), points: percentile_points(&tally.latency) })
        .collect();
    let most = curves.iter().flat_map(|curve| &curve.points).fold(1.0_f64, |most, point| most.max(point.0));
    let (low, high) = range(&curves).ok_or("no request was answered, so there is nothing to draw")?;
    drawn(|area| {
        let up = (low * 0.8..high * 1.25).log_scale();
        draw_lines(area, title, 0.0..most.ceil(), up, &curves, 0, |mesh| {
            mesh.x_labels(2 * NINES_MAX as usize)
                .x_max_light_lines(1)
                .x_label_formatter(&|nines| percent(*nines))
                .y_label_formatter(&|time| format!("{time}"))
                .x_desc("percentile");
        })
    })
}

/// Plots median and 99th percentile by depth, two curves for each work with depths.
pub fn by_depth(title: &str, works: &[PreparedWork], tallies: &[Tally]) -> Result<String, PlotError> {
    let curves = depth_curves(works, tallies);
    let (_, high) =
        range(&curves).ok_or("no request of a work with depths was answered, so there is nothing to draw")?;
    let deepest =
        curves.iter().flat_map(|curve| &curve.points).fold(1.0_f64, |most, point| most.max(point.0));
    drawn(|area| {
        draw_lines(area, title, 0.0..deepest * 1.02, 0.0..high * 1.15, &curves, 4, |mesh| {
            mesh.max_light_lines(1)
                .x_label_formatter(&|depth| format!("{depth}"))
                .x_desc("rows before the page");
        })
    })
}

/// Draws a chart of latencies. `marks` is the size of the points, `dress` formats the axes.
fn draw_lines<'a, Y>(
    area: &Area<'a>,
    title: &str,
    across: Range<f64>,
    up: Y,
    curves: &[Curve],
    marks: u32,
    dress: impl FnOnce(&mut MeshStyle<'_, '_, RangedCoordf64, Y::CoordDescType, SVGBackend<'a>>),
) -> Result<(), Box<dyn Error>>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .caption(title, CAPTION_FONT)
        .margin(MARGIN)
        .x_label_area_size(LABEL_AREA)
        .y_label_area_size(LABEL_AREA + LABEL_AREA / 2)
        .build_cartesian_2d(across, up)?;
    let mut mesh = chart.configure_mesh();
    mesh.label_style(LABEL_FONT).axis_desc_style(LABEL_FONT).y_desc("latency, ms");
    dress(&mut mesh);
    mesh.draw()?;
    for (number, curve) in curves.iter().enumerate() {
        let style = ShapeStyle::from(&Palette99::pick(number)).stroke_width(2);
        let line = LineSeries::new(curve.points.iter().copied(), style).point_size(marks);
        chart.draw_series(line)?.label(&curve.name).legend(move |at| sign(at, style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font(LABEL_FONT)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn drawn(draw: impl FnOnce(&Area<'_>) -> Result<(), Box<dyn Error>>) -> Result<String, PlotError> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    let result = area.fill(&WHITE).map_err(Into::into).and_then(|()| draw(&area));
    result.map_err(|error| error.to_string())?;
    area.present().map_err(|error| error.to_string())?;
    drop(area);
    Ok(svg)
}

fn sign(at: (i32, i32), style: ShapeStyle) -> PathElement<(i32, i32)> {
    PathElement::new(vec![at, (at.0 + 20, at.1)], style)
}

fn percentile_points(times: &Histogram<u64>) -> Vec<(f64, f64)> {
    if times.is_empty() {
        return Vec::new();
    }
    // Beyond one in all requests there is no percentile, only the maximum again.
    let nines = (times.len() as f64).log10().min(f64::from(NINES_MAX));
    let steps = (0..=NINES_MAX * POINTS_PER_NINE).map(|step| f64::from(step) / f64::from(POINTS_PER_NINE));
    let inside = steps.take_while(|step| *step < nines).chain(std::iter::once(nines));
    let time =
        |nines: f64| times.value_at_quantile(1.0 - 10_f64.powf(-nines)).clamp(times.min(), times.max());
    inside.map(|nines| (nines, milliseconds(time(nines)))).collect()
}

fn depth_curves(works: &[PreparedWork], tallies: &[Tally]) -> Vec<Curve> {
    let mut points: Vec<(&str, f64, Percentiles)> = works
        .iter()
        .zip(tallies)
        .filter_map(|(work, tally)| {
            Some((work.work.as_str(), work.depth? as f64, Percentiles::of(&tally.latency)?))
        })
        .collect();
    points.sort_by(|one, other| one.0.cmp(other.0).then(one.1.total_cmp(&other.1)));
    let curve = |group: &[(&str, f64, Percentiles)], label: &str, pick: fn(&Percentiles) -> f64| Curve {
        name: format!("{} {label}", group.first().map_or("", |point| point.0)),
        points: group.iter().map(|(_, depth, times)| (*depth, pick(times))).collect(),
    };
    let of_one_work = |group: &[(&str, f64, Percentiles)]| {
        [curve(group, "p50", |times| times.p50), curve(group, "p99", |times| times.p99)]
    };
    points.chunk_by(|one, other| one.0 == other.0).flat_map(of_one_work).collect()
}

/// The smallest and the largest time.
fn range(curves: &[Curve]) -> Option<(f64, f64)> {
    let times = curves.iter().flat_map(|curve| &curve.points).map(|point| point.1);
    times.fold(None, |range, time| {
        let (low, high) = range.unwrap_or((time, time));
        Some((low.min(time), high.max(time)))
    })
}

/// A number of nines in percent: 0, 90, 99, 99.9.
fn percent(nines: f64) -> String {
    let percent = 100.0 * (1.0 - 10_f64.powf(-nines));
    let whole = nines.round();
    let digits = if (nines - whole).abs() > 0.01 {
        1
    } else {
        (1..=NINES_MAX).filter(|&step| f64::from(step) <= whole).count().saturating_sub(2)
    };
    format!("{percent:.digits$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_counts_nines() {
        let labels = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.5].map(percent);
        assert_eq!(labels, ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %", "68.4 %"]);
    }

    #[test]
    fn curve_rises_from_smallest_to_largest_time() {
        let mut tally = Tally::new().unwrap();
        assert_eq!(percentile_points(&tally.latency), []);
        for micros in 1..=1_000_u64 {
            let nanos = micros * 1_000;
            tally.succeed(
                1,
                crate::loadgen::results::tally::Times { latency: nanos, service: nanos, first_byte: nanos },
            );
        }
        let points = percentile_points(&tally.latency);
        let (first, last) = (points[0], points[points.len() - 1]);
        assert!((first.0, last.0) == (0.0, 3.0) && points.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
        assert!((first.1 - 0.001).abs() < 1e-5 && (0.998..=1.0).contains(&last.1), "{first:?} {last:?}");
    }
}
