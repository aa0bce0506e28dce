//! Calendars and clocks: instants in time zones, civil dates, durations. The primitives of `lib/Time.ns` call this
//! module. Instants and durations are numbers of nanoseconds; an instant counts from the start of 1970. The rules of
//! the zones are part of the program, so that its answers do not depend on the machine that it runs on.

use std::sync::OnceLock;

use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Span, Timestamp, Zoned};

use crate::Problem;

fn zones() -> &'static TimeZoneDatabase {
    static ZONES: OnceLock<TimeZoneDatabase> = OnceLock::new();
    ZONES.get_or_init(TimeZoneDatabase::bundled)
}

/// The names of all zones, in alphabetical order.
pub fn zone_names() -> Vec<String> {
    let mut names: Vec<String> = zones().available().map(|name| name.to_string()).collect();
    names.sort();
    names
}

/// The zone of a name such as `Europe/Berlin`, or of an offset such as `+02:00`.
fn zone(name: &str) -> Result<TimeZone, Problem> {
    if name == "UTC" {
        return Ok(TimeZone::UTC);
    }
    if name.starts_with(['+', '-']) {
        let parsed = strtime::parse("%:z", name).or_else(|_| strtime::parse("%z", name));
        let offset: Option<Offset> = parsed.ok().and_then(|parsed| parsed.offset());
        return offset
            .map(TimeZone::fixed)
            .ok_or_else(|| Problem::unlocated(format!("{name} is no offset from UTC")));
    }
    zones().get(name).map_err(|_| Problem::unlocated(format!("there is no time zone {name}")))
}

/// The usual spelling of a zone's name.
pub fn zone_name(name: &str) -> Result<String, Problem> {
    let zone = zone(name)?;
    Ok(zone.iana_name().map_or_else(|| name.to_owned(), str::to_owned))
}

fn zoned(nanoseconds: i128, name: &str) -> Result<Zoned, Problem> {
    let instant = Timestamp::from_nanosecond(nanoseconds).map_err(Problem::unlocated)?;
    Ok(instant.to_zoned(zone(name)?))
}

/// An instant as clocks and calendars in a zone show it.
pub struct Fields {
    /// Year, month, day, hour, minute, second, nanosecond, offset from UTC in seconds, day of the week (1 is Monday),
    /// day of the year, year and number of the ISO week.
    pub numbers: [i64; 12],
    /// Whether daylight saving time is in force.
    pub is_saving: bool,
    /// The usual abbreviation of the offset.
    pub abbreviation: String,
}

/// How an instant looks in a zone.
pub fn fields(nanoseconds: i128, name: &str) -> Result<Fields, Problem> {
    let zoned = zoned(nanoseconds, name)?;
    let week = zoned.date().iso_week_date();
    let info = zoned.time_zone().to_offset_info(zoned.timestamp());
    Ok(Fields {
        numbers: [
            zoned.year().into(),
            zoned.month().into(),
            zoned.day().into(),
            zoned.hour().into(),
            zoned.minute().into(),
            zoned.second().into(),
            zoned.subsec_nanosecond().into(),
            zoned.offset().seconds().into(),
            zoned.weekday().to_monday_one_offset().into(),
            zoned.day_of_year().into(),
            week.year().into(),
            week.week().into(),
        ],
        is_saving: info.dst().is_dst(),
        abbreviation: info.abbreviation().to_owned(),
    })
}

/// The instant of a date and time in a zone: `numbers` are year, month, day, hour, minute, second and nanosecond. If
/// clocks there show the time twice or never, `choice` decides: `earlier`, `later`, `compatible` (RFC 5545) or `reject`.
pub fn instant(numbers: [i64; 7], name: &str, choice: &str) -> Result<i128, Problem> {
    let ambiguous = zone(name)?.to_ambiguous_zoned(civil(numbers)?);
    let zoned = match choice {
        "earlier" => ambiguous.earlier(),
        "later" => ambiguous.later(),
        "reject" => ambiguous.unambiguous(),
        _ => ambiguous.compatible(),
    };
    zoned.map(|zoned| zoned.timestamp().as_nanosecond()).map_err(Problem::unlocated)
}

fn civil(numbers: [i64; 7]) -> Result<DateTime, Problem> {
    let wrong = || Problem::unlocated("there is no such date or time");
    let byte = |index: usize| i8::try_from(numbers[index]).map_err(|_| wrong());
    let year = i16::try_from(numbers[0]).map_err(|_| wrong())?;
    let nanosecond = i32::try_from(numbers[6]).map_err(|_| wrong())?;
    DateTime::new(year, byte(1)?, byte(2)?, byte(3)?, byte(4)?, byte(5)?, nanosecond)
        .map_err(|_| wrong())
}

/// An instant after some years, months, weeks and days of the calendar in a zone, at the same time of the day. The day
/// of a month that is too short becomes its last one.
pub fn shifted(
    nanoseconds: i128,
    name: &str,
    [years, months, weeks, days]: [i64; 4],
) -> Result<i128, Problem> {
    let span = Span::new()
        .try_years(years)
        .and_then(|span| span.try_months(months))
        .and_then(|span| span.try_weeks(weeks))
        .and_then(|span| span.try_days(days));
    let span = span.map_err(Problem::unlocated)?;
    let shifted = zoned(nanoseconds, name)?.checked_add(span);
    shifted.map(|zoned| zoned.timestamp().as_nanosecond()).map_err(Problem::unlocated)
}

/// The text of an instant in a zone, by a format such as `%Y-%m-%d %H:%M`; for an empty format, in the form of RFC 3339.
pub fn formatted(nanoseconds: i128, name: &str, format: &str) -> Result<String, Problem> {
    let zoned = zoned(nanoseconds, name)?;
    if format.is_empty() {
        let instant = zoned.timestamp();
        return Ok(match zoned.time_zone() == &TimeZone::UTC {
            true => instant.to_string(),
            false => instant.display_with_offset(zoned.offset()).to_string(),
        });
    }
    strtime::format(format, &zoned).map_err(Problem::unlocated)
}

/// The instant of a text in a format. If the text has no offset or zone, it is a time in the zone of that name; if it has
/// no time, the start of the day.
pub fn parsed(text: &str, format: &str, name: &str) -> Result<i128, Problem> {
    if format.is_empty() {
        return standard(text, name);
    }
    let parts = strtime::parse(format, text).map_err(|error| {
        let text: String = text.chars().take(LONGEST_QUOTED).collect();
        Problem::unlocated(format!("{text:?} is not of the form {format}: {}", reason(&error)))
    })?;
    if let Ok(instant) = parts.to_timestamp() {
        return Ok(instant.as_nanosecond());
    }
    let date = parts.to_date().map_err(Problem::unlocated)?;
    let civil = match parts.to_time() {
        Ok(time) => date.to_datetime(time),
        Err(_) => date.at(0, 0, 0, 0),
    };
    in_zone(civil, name)
}

/// A message quotes at most so many characters of a text.
const LONGEST_QUOTED: usize = 40;

/// What the library of calendars says, without the name of its function.
fn reason(error: &jiff::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("strptime parsing failed: ").unwrap_or(&text).to_owned()
}

/// The instant of a text in the form of RFC 3339, or of ISO 8601 without an offset.
fn standard(text: &str, name: &str) -> Result<i128, Problem> {
    if let Ok(zoned) = text.parse::<Zoned>() {
        return Ok(zoned.timestamp().as_nanosecond());
    }
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant.as_nanosecond());
    }
    let civil: DateTime = text.parse().map_err(Problem::unlocated)?;
    in_zone(civil, name)
}

fn in_zone(civil: DateTime, name: &str) -> Result<i128, Problem> {
    let zoned = zone(name)?.to_ambiguous_zoned(civil).compatible();
    zoned.map(|zoned| zoned.timestamp().as_nanosecond()).map_err(Problem::unlocated)
}

/// A duration in the form of ISO 8601, such as `PT1H30M`.
pub fn duration_text(nanoseconds: i128) -> Option<String> {
    duration(nanoseconds).map(|duration| duration.to_string())
}

fn duration(nanoseconds: i128) -> Option<SignedDuration> {
    let seconds = i64::try_from(nanoseconds / 1_000_000_000).ok()?;
    Some(SignedDuration::new(seconds, (nanoseconds % 1_000_000_000) as i32))
}

/// The nanoseconds of a duration such as `PT1H30M` or `1h 30m`.
pub fn duration_of(text: &str) -> Result<i128, Problem> {
    text.parse::<SignedDuration>().map(|duration| duration.as_nanos()).map_err(Problem::unlocated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_times_and_instants_agree() {
        let numbers = [2024, 3, 31, 3, 30, 0, 0];
        let at = instant(numbers, "Europe/Berlin", "reject").unwrap();
        let fields = fields(at, "europe/berlin").unwrap();
        assert_eq!(fields.numbers[..8], [2024, 3, 31, 3, 30, 0, 0, 7200]);
        assert!(fields.is_saving);
        assert!(instant([2024, 3, 31, 2, 30, 0, 0], "Europe/Berlin", "reject").is_err());
        assert!(instant([2023, 2, 29, 0, 0, 0, 0], "UTC", "reject").is_err());
    }

    #[test]
    fn texts_are_read_and_written() {
        let at = parsed("2024-02-29T12:00:00+01:00", "", "UTC").unwrap();
        assert_eq!(formatted(at, "UTC", "").unwrap(), "2024-02-29T11:00:00Z");
        assert_eq!(formatted(at, "+05:30", "").unwrap(), "2024-02-29T16:30:00+05:30");
        assert_eq!(parsed("29.02.2024", "%d.%m.%Y", "UTC").unwrap(), at - 11 * 3_600_000_000_000);
        let problem = parsed("soon", "%Y-%m-%d", "UTC").unwrap_err();
        assert!(
            problem.message.starts_with("\"soon\" is not of the form %Y-%m-%d: "),
            "{problem:?}"
        );
        assert_eq!(duration_text(duration_of("1h 30m").unwrap()).unwrap(), "PT1H30M");
    }
}
