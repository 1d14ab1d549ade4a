//! Rows of one statement: its text depends on how many they are, and each text is prepared by itself.

/// How many rows statements of many have. What is left over goes into one more.
const SIZES: [usize; 4] = [64, 32, 16, 8];

/// Splits rows into portions of few sizes, so that few texts are prepared and few statements are run.
pub fn portions<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let fitting = SIZES.into_iter().find(|size| *size <= rows.len());
        let (portion, rest) = rows.split_at(fitting.unwrap_or(rows.len()));
        rows = rest;
        (!portion.is_empty()).then_some(portion)
    })
}

#[cfg(test)]
mod tests {
    use super::portions;

    #[test]
    fn everything_is_in_one_portion() {
        for (rows, expected) in [
            (0, vec![]),
            (1, vec![1]),
            (7, vec![7]),
            (8, vec![8]),
            (63, vec![32, 16, 8, 7]),
            (200, vec![64, 64, 64, 8]),
        ] {
            let all: Vec<usize> = (0..rows).collect();
            let sizes: Vec<_> = portions(&all).map(<[_]>::len).collect();
            assert_eq!(sizes, expected, "{rows} rows");
            assert_eq!(portions(&all).collect::<Vec<_>>().concat(), all);
        }
    }
}
