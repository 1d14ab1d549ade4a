//! Pages of lists.

use vestry_domain::Invalid;

/// The size of a page, 10 to 100.
#[derive(Debug, Clone, Copy)]
pub struct PageSize(i64);

impl PageSize {
    /// Checks the `limit` of a call; 50 when absent.
    ///
    /// # Errors
    /// [`Invalid`] naming `limit`.
    pub fn check(limit: Option<i64>) -> Result<Self, Invalid> {
        let limit = limit.unwrap_or(50);
        if (10..=100).contains(&limit) {
            return Ok(Self(limit));
        }
        let message = "limit must be a whole number from 10 to 100";
        Err(Invalid::value("limit", message))
    }

    /// Number of rows to read: one more than requested, to see whether there is a next page.
    pub const fn rows(self) -> i64 {
        self.0 + 1
    }

    /// Removes the row beyond the page. Returns whether there is a next page.
    pub fn cut<T>(self, rows: &mut Vec<T>) -> bool {
        let shown = usize::try_from(self.0).unwrap_or(usize::MAX);
        let has_more = rows.len() > shown;
        rows.truncate(shown);
        has_more
    }
}
