//! Rows in columns, as wide as what is in them.

use super::tone::{Tone, painted};

/// A cell, and whether what it says is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::toned(text, Tone::Plain)
    }
}

/// Empty cells are dashes, so that every row has as many words as the first.
pub(crate) fn table(head: &[&str], rows: &[Vec<Cell>], colours: bool) -> String {
    let head: Vec<Cell> = head.iter().map(|&title| Cell::from(title)).collect();
    let width = |column: usize| {
        let cells = rows.iter().chain([&head]).filter_map(|row| row.get(column));
        cells.map(|cell| shown(cell).chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    [&head].into_iter().chain(rows).map(|row| line(row, &widths, colours)).collect()
}

fn line(row: &[Cell], widths: &[usize], colours: bool) -> String {
    let mut line = String::new();
    for (at, cell) in row.iter().enumerate() {
        let text = shown(cell);
        let gap = widths.get(at).map_or(0, |width| width - text.chars().count());
        line += &painted(text, cell.tone, colours);
        if at + 1 < row.len() {
            line += &" ".repeat(gap + 3);
        }
    }
    line + "\n"
}

fn shown(cell: &Cell) -> &str {
    if cell.text.is_empty() { "-" } else { &cell.text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<Cell>> {
        vec![
            vec!["box".into(), Cell::toned("yes", Tone::Good), "5m".into()],
            vec!["a-long-name".into(), Cell::toned("no", Tone::Bad), "".into()],
        ]
    }

    #[test]
    fn columns_are_aligned_and_nothing_is_a_dash() {
        insta::assert_snapshot!(table(&["NAME", "READY", "AGE"], &rows(), false), @r"
        NAME          READY   AGE
        box           yes     5m
        a-long-name   no      -
        ");
    }

    #[test]
    fn colours_do_not_count_for_the_width() {
        let plain = table(&["NAME", "READY", "AGE"], &rows(), false);
        let painted = table(&["NAME", "READY", "AGE"], &rows(), true);
        assert_ne!(plain, painted);
        assert_eq!(painted.replace("\x1b[32m", "").replace("\x1b[31m", "").replace("\x1b[0m", ""), plain);
    }
}
