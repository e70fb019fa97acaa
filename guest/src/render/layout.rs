//! How wide the columns of an aligned table are.
//!
//! Alignment costs blanks, and a model pays for each. So all padding together, the dashes under
//! the header included, may not exceed the data, header included, by more than [`FREE`]. Where it
//! would, columns are made narrower, and the cells that no longer fit push the rest of their line
//! to the right: one very long cell costs its own line its alignment, and the others nothing.

use unicode_width::UnicodeWidthStr;

/// Padding that is granted whatever the data is, in columns of a terminal.
pub(crate) const FREE: usize = 256;

/// Dashes under a header at most; they need not show how wide a long column is.
pub(crate) const DASHES: usize = 40;

/// How wide a text is on a terminal.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// How many cells of a column have which width.
#[derive(Clone, Debug, Default)]
pub(crate) struct Widths(Vec<u32>);

impl Widths {
    /// One more cell.
    pub(crate) fn add(&mut self, width: usize) {
        if self.0.len() <= width {
            self.0.resize(width + 1, 0);
        }
        self.0[width] += 1;
    }

    /// The widths that there are, in rising order, each with how many cells have it.
    fn counts(&self) -> impl Iterator<Item = (usize, usize)> {
        let counts = self.0.iter().map(|&count| count as usize).enumerate();
        counts.filter(|(_, count)| *count > 0)
    }

    /// The width of all cells together.
    fn sum(&self) -> usize {
        self.counts().map(|(width, count)| width * count).sum()
    }
}

/// The width of each column, from the widths of its header and its cells.
///
/// `pads_last` says whether the last column is padded, because it is aligned to the right.
pub(crate) fn fit(columns: &[Widths], pads_last: bool) -> Vec<usize> {
    let data: usize = columns.iter().map(Widths::sum).sum();
    let mut choices: Vec<Choice> = columns
        .iter()
        .enumerate()
        .map(|(index, widths)| Choice::new(widths, pads_last || index + 1 < columns.len()))
        .collect();
    let mut padding: usize = choices.iter().map(Choice::padding).sum();
    while padding > data + FREE {
        // The step that saves most for each cell that will stick out.
        let Some(choice) = choices
            .iter_mut()
            .filter(|choice| choice.at > 0)
            .max_by_key(|choice| choice.saving())
        else {
            break;
        };
        padding -= choice.padding();
        choice.at -= 1;
        padding += choice.padding();
    }
    choices.iter().map(Choice::width).collect()
}

/// The widths that one column may have.
struct Choice {
    /// The distinct widths of its cells, in rising order, each with how many cells are narrower
    /// and how wide these are together.
    steps: Vec<Step>,
    /// The step that is chosen.
    at: usize,
    /// Whether its cells are padded at all.
    pads: bool,
}

struct Step {
    width: usize,
    narrower: usize,
    sum: usize,
}

impl Choice {
    fn new(widths: &Widths, pads: bool) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        let (mut narrower, mut sum) = (0, 0);
        for (width, count) in widths.counts() {
            steps.push(Step {
                width,
                narrower,
                sum,
            });
            narrower += count;
            sum += width * count;
        }
        if steps.is_empty() {
            steps.push(Step {
                width: 0,
                narrower: 0,
                sum: 0,
            });
        }
        Self {
            at: steps.len() - 1,
            steps,
            pads,
        }
    }

    fn width(&self) -> usize {
        self.steps[self.at].width
    }

    /// Blanks and dashes that the chosen width costs.
    fn padding(&self) -> usize {
        self.cost(self.at)
    }

    fn cost(&self, at: usize) -> usize {
        let step = &self.steps[at];
        if self.pads {
            // The dashes fill their cell, be it with blanks.
            step.width * step.narrower - step.sum + step.width
        } else {
            step.width.min(DASHES)
        }
    }

    /// What one step down saves for each cell that then sticks out.
    fn saving(&self) -> usize {
        let Some(below) = self.at.checked_sub(1) else {
            return 0;
        };
        let out = self.steps[self.at].narrower - self.steps[below].narrower;
        // A cell as wide as the step above sticks out too; it is counted by the rows beyond.
        (self.cost(self.at) - self.cost(below)) / out.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(columns: &[Vec<usize>], pads_last: bool) -> Vec<usize> {
        let counted = |column: &Vec<usize>| {
            let mut widths = Widths::default();
            column.iter().for_each(|width| widths.add(*width));
            widths
        };
        let columns: Vec<Widths> = columns.iter().map(counted).collect();
        super::fit(&columns, pads_last)
    }

    fn cost(columns: &[Vec<usize>], widths: &[usize]) -> (usize, usize) {
        let data = columns.iter().flatten().sum();
        let padding = columns
            .iter()
            .zip(widths)
            .map(|(column, width)| {
                width
                    + column
                        .iter()
                        .map(|cell| width.saturating_sub(*cell))
                        .sum::<usize>()
            })
            .sum();
        (padding, data)
    }

    #[test]
    fn an_ordinary_table_is_aligned_to_its_widest_cells() {
        let columns = [vec![2, 1, 2, 3], vec![4, 10, 20, 5]];
        assert_eq!(fit(&columns, true), [3, 20]);
    }

    #[test]
    fn one_very_long_cell_does_not_widen_every_row() {
        let mut column = vec![5; 500];
        column[250] = 2_000;
        let widths = fit(&[vec![3; 500], column, vec![7; 500]], false);
        assert_eq!(widths, [3, 5, 7]);
    }

    #[test]
    fn padding_never_costs_more_than_the_data() {
        // A cheap generator of many shapes, the same in every run.
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let rows = next(200) as usize + 1;
            let columns: Vec<Vec<usize>> = (0..=next(6))
                .map(|_| {
                    let usual = next(12) + 1;
                    (0..rows)
                        .map(|_| if next(20) == 0 { next(2_000) } else { next(usual) } as usize)
                        .collect()
                })
                .collect();
            let widths = fit(&columns, true);
            let (padding, data) = cost(&columns, &widths);
            assert!(padding <= data + FREE, "{padding} for {data}");
        }
    }

    #[test]
    fn no_columns_and_no_cells_have_no_width() {
        assert!(fit(&[], true).is_empty());
        assert_eq!(fit(&[vec![]], true), [0]);
    }

    #[test]
    fn a_wide_character_counts_twice_and_a_mark_not_at_all() {
        assert_eq!(width("日本"), 4);
        assert_eq!(width("e\u{301}"), 1);
    }
}
