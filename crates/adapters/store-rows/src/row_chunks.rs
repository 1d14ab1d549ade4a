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
