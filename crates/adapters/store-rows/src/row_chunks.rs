//! Batch sizes of multi-row statements. The text of such a statement depends on its row count, and each text is prepared separately.

/// Row counts of multi-row statements. The remainder goes into one last statement.
const SIZES: [usize; 4] = [64, 32, 16, 8];

/// Splits rows into batches of only a few sizes, so that few texts are prepared and few statements are executed.
pub fn row_chunks<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let fitting = SIZES.into_iter().find(|size| *size <= rows.len());
        let (chunk, rest) = rows.split_at(fitting.unwrap_or(rows.len()));
        rows = rest;
        (!chunk.is_empty()).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::row_chunks;

    #[test]
    fn chunks_cover_each_row_exactly_once() {
        for (rows, expected) in [
            (0, vec![]),
            (1, vec![1]),
            (7, vec![7]),
            (8, vec![8]),
            (63, vec![32, 16, 8, 7]),
            (200, vec![64, 64, 64, 8]),
        ] {
            let all: Vec<usize> = (0..rows).collect();
            let sizes: Vec<_> = row_chunks(&all).map(<[_]>::len).collect();
            assert_eq!(sizes, expected, "{rows} rows");
            assert_eq!(row_chunks(&all).collect::<Vec<_>>().concat(), all);
        }
    }
}
