//! Batch sizes of multi-row statements.

use vestry_store_rows::row_chunks::row_chunks;

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
