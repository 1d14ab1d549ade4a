//! Charts, drawn by the server: the geometry of their SVG, and their numbers as text. The templates add the words.

use crate::filters::separated;

/// The width of a step in a drawing.
const STEP: usize = 10;
/// The most series of a chart. Of more, the smallest are one.
const MAX_SERIES: usize = 5;
/// The most labels below a chart, and the distances between them.
const LABELS: usize = 5;
/// The classes of the series, in their order.
const CLASSES: [&str; MAX_SERIES] = ["c1", "c2", "c3", "c4", "c5"];

/// The steps of time that the charts of a page share.
#[derive(Clone)]
pub(crate) struct Steps {
    /// What a step is: an hour, a day or a month.
    pub(crate) unit: &'static str,
    /// The name of each.
    pub(crate) names: Vec<String>,
    /// The name of each, as short as possible.
    pub(crate) short: Vec<String>,
}

impl Steps {
    /// Names for the axis, spread evenly.
    fn labels(&self) -> Vec<&str> {
        let last = self.short.len().saturating_sub(1);
        let count = LABELS.min(self.short.len());
        let gaps = count.saturating_sub(1).max(1);
        let labels = (0..count).filter_map(|label| self.short.get(label * last / gaps));
        labels.map(String::as_str).collect()
    }
}

/// A named list of values, one for each step; `None` where there is none.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) class: &'static str,
    /// The value for the whole time.
    pub(crate) whole: String,
    pub(crate) values: Vec<Option<u64>>,
}

/// How the series are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawing {
    /// Bars, one series on top of the other.
    Stacked,
    /// Lines, of which all but the first are dashed.
    Lines,
}

/// A chart over time.
pub(crate) struct Chart {
    pub(crate) id: &'static str,
    pub(crate) heading: &'static str,
    /// What it shows, in a sentence for readers who do not see it.
    pub(crate) title: String,
    /// What would be shown, if there is nothing.
    pub(crate) empty: &'static str,
    pub(crate) drawing: Drawing,
    /// Whether it is one of several beside each other.
    pub(crate) is_low: bool,
    /// What the values are counted in, with a space before it.
    pub(crate) unit: &'static str,
    pub(crate) steps: Steps,
    pub(crate) series: Vec<Series>,
}

impl Series {
    fn new(name: String, class: &'static str, counts: Vec<u64>) -> Self {
        Self {
            name,
            class,
            whole: separated(&total(&counts).to_string()),
            values: counts.into_iter().map(Some).collect(),
        }
    }

    /// A part of a drawing with one value only is a dot.
    fn line(&self, chart: &Chart) -> String {
        let (top, height) = (chart.top(), chart.height());
        let mut path = String::new();
        let mut before = None;
        for (step, value) in self.values.iter().enumerate() {
            if let Some(value) = value {
                let x = step * STEP + STEP / 2;
                let y = tenths(height * 10 - scaled(*value, top, height));
                path.push_str(&match before {
                    None => format!("M{x} {y}h0"),
                    Some(()) => format!("L{x} {y}"),
                });
            }
            before = value.map(|_| ());
        }
        path
    }
}

/// The series of named counts, the largest first. Those that are empty are left out, and the smallest of many are one.
pub(crate) fn ranked(named: impl IntoIterator<Item = (String, Vec<u64>)>) -> Vec<Series> {
    let mut named: Vec<_> = named.into_iter().collect();
    named.retain(|(_, counts)| total(counts) > 0);
    named.sort_by_key(|(_, counts)| std::cmp::Reverse(total(counts)));
    if named.len() > MAX_SERIES {
        let rest = named.split_off(MAX_SERIES - 1);
        let rest = rest.into_iter().map(|(_, counts)| counts);
        named.push(("Other".to_owned(), rest.reduce(sum).unwrap_or_default()));
    }
    let series = named.into_iter().zip(CLASSES);
    series
        .map(|((name, counts), class)| Series::new(name, class, counts))
        .collect()
}

/// Series in their own order and with their own classes. Those that are empty are left out.
pub(crate) fn fixed(
    named: impl IntoIterator<Item = (&'static str, &'static str, Vec<u64>)>,
) -> Vec<Series> {
    let named = named.into_iter();
    let named = named.filter(|(_, _, counts)| total(counts) > 0);
    named
        .map(|(name, class, counts)| Series::new(name.to_owned(), class, counts))
        .collect()
}

/// The sum of two lists, step by step.
pub(crate) fn sum(one: Vec<u64>, other: Vec<u64>) -> Vec<u64> {
    let both = one.into_iter().zip(other);
    both.map(|(one, other)| one.saturating_add(other)).collect()
}

/// The sum of a list.
pub(crate) fn total(counts: &[u64]) -> u64 {
    let counts = counts.iter();
    counts.fold(0, |total: u64, count| total.saturating_add(*count))
}

/// A number with separators.
pub(crate) fn shown(number: u64) -> String {
    separated(&number.to_string())
}

impl Chart {
    pub(crate) fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    pub(crate) fn is_stacked(&self) -> bool {
        self.drawing == Drawing::Stacked
    }

    /// The height of the drawing.
    pub(crate) fn height(&self) -> u64 {
        match self.is_low {
            true => 96,
            false => 140,
        }
    }

    /// The heights of the grid lines.
    pub(crate) fn grid(&self) -> [u64; 3] {
        [0, self.height() / 2, self.height()]
    }

    pub(crate) fn width(&self) -> usize {
        self.steps.names.len() * STEP
    }

    /// The value at the upper edge: the next that has a round half.
    fn top(&self) -> u64 {
        let steps = 0..self.steps.names.len();
        let heights = steps.map(|step| {
            let values = self.series.iter().filter_map(|series| series.value(step));
            match self.drawing {
                Drawing::Stacked => total(&values.collect::<Vec<_>>()),
                Drawing::Lines => values.max().unwrap_or_default(),
            }
        });
        let highest = heights.max().unwrap_or_default();
        let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(10));
        let rounds = powers.flat_map(|power| [2, 4, 6, 10].map(|round| power.checked_mul(round)));
        let mut rounds = rounds.flatten();
        rounds.find(|round| *round >= highest).unwrap_or(u64::MAX)
    }

    /// The labels beside the grid lines, from above.
    pub(crate) fn ticks(&self) -> [String; 3] {
        let top = self.top();
        [top, top / 2, 0].map(|value| format!("{}{}", shown(value), self.unit))
    }

    /// The labels below.
    pub(crate) fn labels(&self) -> Vec<&str> {
        self.steps.labels()
    }

    /// The path of each series, with its class.
    pub(crate) fn paths(&self) -> Vec<(&'static str, String)> {
        let series = self.series.iter();
        if self.drawing == Drawing::Lines {
            return series.map(|one| (one.class, one.line(self))).collect();
        }
        let (top, height) = (self.top(), self.height());
        let mut below = vec![0_u64; self.steps.names.len()];
        let bars = series.map(|series| {
            let mut path = String::new();
            for (step, below) in below.iter_mut().enumerate() {
                let value = series.value(step).unwrap_or_default();
                let from = scaled(*below, top, height);
                *below = below.saturating_add(value);
                let to = scaled(*below, top, height);
                if to > from {
                    path.push_str(&bar(step * STEP, height * 10 - from, to - from));
                }
            }
            (series.class, path)
        });
        bars.collect()
    }

    /// The left edge of each step, with its values in words.
    pub(crate) fn tooltips(&self) -> Vec<(usize, String)> {
        let steps = self.steps.names.iter().enumerate();
        let tooltips = steps.map(|(step, name)| {
            let values = self.series.iter().map(|series| {
                let value = series.value(step);
                format!("{} {}", series.name, self.text(value))
            });
            let values = values.collect::<Vec<_>>().join(", ");
            (step * STEP, format!("{name}: {values}"))
        });
        tooltips.collect()
    }

    /// Whether the table has a column with totals.
    pub(crate) fn has_totals(&self) -> bool {
        self.is_stacked() && self.series.len() > 1
    }

    /// The rows of the table, newest first: the step, and its values.
    pub(crate) fn rows(&self) -> Vec<(&str, Vec<String>)> {
        let steps = self.steps.names.iter().enumerate().rev();
        let rows = steps.map(|(step, name)| {
            let values = self.series.iter().map(|series| series.value(step));
            let mut cells: Vec<_> = values.map(|value| self.text(value)).collect();
            if self.has_totals() {
                let values = self.series.iter().filter_map(|series| series.value(step));
                cells.push(shown(total(&values.collect::<Vec<_>>())));
            }
            (name.as_str(), cells)
        });
        rows.collect()
    }

    fn text(&self, value: Option<u64>) -> String {
        value.map_or_else(
            || "–".to_owned(),
            |value| format!("{}{}", shown(value), self.unit),
        )
    }
}

impl Series {
    fn value(&self, step: usize) -> Option<u64> {
        self.values.get(step).copied().flatten()
    }
}

/// A value in tenths of the drawing's unit.
fn scaled(value: u64, top: u64, height: u64) -> u64 {
    let wide = u128::from(value) * u128::from(height * 10) / u128::from(top.max(1));
    u64::try_from(wide).unwrap_or_default()
}

fn tenths(number: u64) -> String {
    format!("{}.{}", number / 10, number % 10)
}

/// A bar in the middle of a step that begins at `x`. Its foot and its height are in tenths.
fn bar(x: usize, foot: u64, height: u64) -> String {
    let (x, foot, height) = (x + 1, tenths(foot), tenths(height));
    format!("M{x}.5 {foot}h7v-{height}h-7z")
}

/// What several causes have in something, as bars.
pub(crate) struct Shares {
    pub(crate) id: &'static str,
    pub(crate) heading: &'static str,
    /// What would be shown, if there is nothing.
    pub(crate) empty: &'static str,
    pub(crate) class: &'static str,
    pub(crate) rows: Vec<Share>,
}

/// A part of a whole.
pub(crate) struct Share {
    /// The sign of a chain.
    pub(crate) sign: Option<&'static str>,
    pub(crate) name: &'static str,
    pub(crate) count: u64,
    pub(crate) percent: u64,
    /// Of the largest part, in per cent.
    pub(crate) width: String,
}

impl Shares {
    /// The parts, the largest first, without those that are empty.
    pub(crate) fn ranked(
        parts: impl IntoIterator<Item = (Option<&'static str>, &'static str, u64)>,
    ) -> Vec<Share> {
        let mut parts: Vec<_> = parts.into_iter().collect();
        parts.retain(|(_, _, count)| *count > 0);
        parts.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
        let counts: Vec<_> = parts.iter().map(|(_, _, count)| *count).collect();
        let (whole, largest) = (total(&counts), counts.first().copied().unwrap_or_default());
        let parts = parts.into_iter().map(|(sign, name, count)| Share {
            sign,
            name,
            count,
            percent: percent(count, whole),
            width: tenths(scaled(count, largest, 100)),
        });
        parts.collect()
    }
}

/// A part of a whole, in per cent and rounded. Only the whole is 100 %.
pub(crate) fn percent(part: u64, whole: u64) -> u64 {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    let rounded = (part * 200 + whole) / (2 * whole);
    let most = if part < whole { 99 } else { 100 };
    u64::try_from(rounded.min(most)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use askama::Template;

    use super::*;
    use crate::filters;

    #[derive(Template)]
    #[template(path = "parts/chart.html")]
    struct Shown {
        chart: Chart,
    }

    fn chart(drawing: Drawing, series: Vec<Series>) -> Chart {
        let steps = series.first().map_or(0, |series| series.values.len());
        let names: Vec<String> = (0..steps).map(|step| format!("Step {step}")).collect();
        Chart {
            id: "one",
            heading: "Heading",
            title: "Title".to_owned(),
            empty: "Nothing.",
            drawing,
            is_low: false,
            unit: "",
            steps: Steps {
                unit: "day",
                short: names.clone(),
                names,
            },
            series,
        }
    }

    fn stacked(named: &[(&str, &[u64])]) -> Chart {
        let named = named
            .iter()
            .map(|(name, counts)| ((*name).to_owned(), counts.to_vec()));
        chart(Drawing::Stacked, ranked(named))
    }

    #[test]
    fn bars_stand_on_each_other() {
        let chart = stacked(&[("a", &[1, 4, 0]), ("b", &[1, 0, 0])]);
        assert_eq!(chart.ticks(), ["4", "2", "0"]);
        let paths = chart.paths();
        let [(first, a), (second, b)] = &*paths else {
            panic!("two series");
        };
        assert_eq!((*first, *second), ("c1", "c2"));
        assert_eq!(a, "M1.5 140.0h7v-35.0h-7zM11.5 140.0h7v-140.0h-7z");
        assert_eq!(b, "M1.5 105.0h7v-35.0h-7z");
        assert_eq!(chart.tooltips()[2], (20, "Step 2: a 0, b 0".to_owned()));
        let rows = chart.rows();
        assert_eq!(rows[0].0, "Step 2", "newest first");
        assert_eq!(
            rows[1],
            ("Step 1", ["4", "0", "4"].map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn of_many_series_the_smallest_are_one() {
        let names = ["a", "b", "c", "d", "e", "f", "none"];
        let counts = [6_u64, 5, 4, 3, 2, 1, 0].map(|count| [count]);
        let named = names.iter().zip(&counts);
        let named: Vec<(&str, &[u64])> = named.map(|(name, counts)| (*name, &counts[..])).collect();
        let chart = stacked(&named);
        let shown: Vec<_> = chart
            .series
            .iter()
            .map(|one| (&*one.name, &*one.whole))
            .collect();
        assert_eq!(
            shown,
            [
                ("a", "6"),
                ("b", "5"),
                ("c", "4"),
                ("d", "3"),
                ("Other", "3")
            ]
        );
    }

    #[test]
    fn the_scale_is_round_and_holds_any_number() {
        for (highest, top) in [
            (0, "2"),
            (1, "2"),
            (3, "4"),
            (7, "10"),
            (11, "20"),
            (600, "600"),
            (1_001, "2,000"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            let chart = stacked(&[("a", &[highest, 0])]);
            assert_eq!(chart.ticks()[0], top);
        }
        let chart = stacked(&[("a", &[u64::MAX, 1]), ("b", &[u64::MAX, 1])]);
        assert_eq!(chart.paths()[0].1, "M1.5 140.0h7v-140.0h-7z");
        assert_eq!(chart.paths()[1].1, "", "beyond the counts");
    }

    #[test]
    fn a_line_has_gaps_and_dots() {
        let series = Series {
            name: "p50".to_owned(),
            class: "c1",
            whole: String::new(),
            values: vec![Some(10), None, Some(5), Some(0)],
        };
        let chart = chart(Drawing::Lines, vec![series]);
        assert_eq!(chart.paths()[0].1, "M5 0.0h0M25 70.0h0L35 140.0");
        assert_eq!(chart.tooltips()[1].1, "Step 1: p50 –");
        assert!(!chart.has_totals());
    }

    #[test]
    fn one_step_is_a_chart() {
        let chart = stacked(&[("a", &[3])]);
        assert_eq!((chart.width(), chart.labels()), (10, vec!["Step 0"]));
        let html = Shown { chart }.render().unwrap();
        assert!(html.contains("viewBox=\"0 0 10 140\""), "{html}");
    }

    #[test]
    fn labels_are_spread() {
        let many = vec![1; 30];
        let labels = |count: usize| stacked(&[("a", &many[..count])]).labels().join(" ");
        assert_eq!(labels(30), "Step 0 Step 7 Step 14 Step 21 Step 29");
        assert_eq!(labels(2), "Step 0 Step 1");
    }

    /// CON-1, CON-5: names are escaped, and nothing is styled in place.
    #[test]
    fn a_drawing_has_no_style_and_escapes_names() {
        let chart = stacked(&[("<b>\"&'", &[1, 2])]);
        let html = Shown { chart }.render().unwrap();
        assert!(html.contains("&#60;b&#62;"), "{html}");
        assert!(!html.contains("<b>\"") && !html.contains("style"), "{html}");
        let titles = html.matches("<title").count();
        assert_eq!(titles, 3, "of the chart, and of each step");
        assert!(html.contains("View as table") && html.contains("<caption"));
    }

    #[test]
    fn without_values_a_chart_says_what_it_would_show() {
        let chart = stacked(&[("a", &[0, 0])]);
        assert!(chart.is_empty());
        let html = Shown { chart }.render().unwrap();
        assert!(
            html.contains("Nothing.") && !html.contains("viewBox"),
            "{html}"
        );
    }

    #[test]
    fn shares_are_of_the_largest_and_of_all() {
        let rows = Shares::ranked([
            (None, "few", 1),
            (None, "none", 0),
            (Some("ETH"), "many", 3),
        ]);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.name, row.count, row.percent, &*row.width))
            .collect();
        assert_eq!(shown, [("many", 3, 75, "100.0"), ("few", 1, 25, "33.3")]);
        assert_eq!(percent(1, 3), 33);
        assert_eq!(percent(2, 3), 67);
        assert_eq!(percent(999, 1000), 99);
        assert_eq!(percent(1000, 1000), 100);
        assert_eq!(percent(0, 0), 0);
    }
}
