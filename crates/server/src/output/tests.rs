use super::*;

#[test]
fn dates_follow_the_gregorian_calendar() {
    for (unix, text) in [
        (0, "1970-01-01 00:00:00 UTC"),
        (-1, "1969-12-31 23:59:59 UTC"),
        (951_782_400, "2000-02-29 00:00:00 UTC"),
        (1_709_164_800, "2024-02-29 00:00:00 UTC"),
        (1_400_000_000, "2014-05-13 16:53:20 UTC"),
        (2_147_483_647, "2038-01-19 03:14:07 UTC"),
        (4_107_542_400, "2100-03-01 00:00:00 UTC"),
    ] {
        assert_eq!(date(Timestamp::from_unix(unix)), text);
    }
}

#[test]
fn columns_line_up() {
    let rows = [
        ["a".to_owned(), "short".to_owned()],
        ["longer".to_owned(), "é".to_owned()],
    ];
    assert_eq!(
        table(["ID", "NAME"], rows, "none"),
        "ID      NAME\na       short\nlonger  é"
    );
    assert_eq!(table(["ID"], [], "No keys."), "No keys.");
}
