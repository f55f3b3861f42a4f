"""Measures: values with their units, in every notation that means the same.

`5 min` is `300 s`, `9 am` is `09:00`, `half` is `50 %`.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

from reverie.text.tokenize import NUMBER_WORDS
from reverie.text.word_forms import word_form

Dimension = Literal[
    "time", "months", "size", "bit rate", "ratio", "money", "clock", "date", "rate", "month rate", "count"
]


@dataclass(frozen=True, slots=True)
class Measure:
    """A span of a text that states a value in a dimension.

    `unit` is the currency of money, what a rate counts, a decimal that may be a version, or the mark of an hour that
    may be in either half of the day (`half past six`). `binary` is the value of a size whose prefix means powers of
    1024.
    """

    start: int
    end: int
    dimension: Dimension
    value: float
    unit: str = ""
    binary: float = math.nan


_SECONDS: Final = {
    "nanosecond nanoseconds ns": 1e-9,
    "microsecond microseconds us µs": 1e-6,
    "millisecond milliseconds millis msec ms": 1e-3,
    "second seconds sec secs s sekunde sekunden segundo segundos seconde secondes": 1.0,
    "minute minutes min mins minuten minuto minutos": 60.0,
    "hour hours hr hrs h stunde stunden hora horas heure heures": 3600.0,
    "day days d tag tage tagen día días jour jours": 86_400.0,
    "week weeks wk wks woche wochen semana semanas semaine semaines": 604_800.0,
    "fortnight fortnights": 1_209_600.0,
}
_MONTHS: Final = {
    "month months monat monate monaten mes meses mois": 1.0,
    "year years yr yrs jahr jahre jahren año años ans": 12.0,
}
_TIME_UNITS: Final = {name: seconds for names, seconds in _SECONDS.items() for name in names.split()}
_EITHER_HALF: Final = "either half"
_ORDINAL_WORDS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_ORDINALS: Final = {word: number for number, word in enumerate(_ORDINAL_WORDS.split(), start=1)}
_COUNTED = "attempts?|tries|try|retry|retries|failures?|errors?|requests?|timeouts?|reminders?|warnings?"
_MONTH_UNITS: Final = {name: months for names, months in _MONTHS.items() for name in names.split()}
_PREFIXES: Final = {name: power for power, names in enumerate(("", "k kilo", "m mega", "g giga", "t tera", "p peta"))
                    for name in names.split() or [""]}  # fmt: skip
_SCALES: Final = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "dozen": 12.0, "k": 1e3, "m": 1e6}
_PARTS: Final = {"half": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5}
_TIMES: Final = {"once": 1.0, "twice": 2.0, "thrice": 3.0}
_ADVERBS: Final = {
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "fortnightly": "fortnight",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "annually": "year",
    "stündlich": "hour",
    "täglich": "day",
    "wöchentlich": "week",
}
_CURRENCIES: Final = {
    name: code
    for code, names in (("usd", "$ usd dollar dollars"), ("eur", "€ eur euro euros"), ("gbp", "£ gbp pound pounds"))
    for name in names.split()
}
_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTH_NUMBERS: Final = {
    name: number for number, long in enumerate(_MONTH_NAMES.split(), start=1) for name in (long, long[:3])
}
_QUARTERS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_SECONDS_A_MONTH = 30.4375 * 86_400.0
_NEARLY = 0.02
_NEARLY_A_MONTH = 0.05
_NEARLY_A_SIZE = 0.075  # 1024 for 1000, up to three times

_ONES = "one|two|three|four|five|six|seven|eight|nine"
_DIGITS = r"(?<![\w.,:/-])\d+(?:[,_]\d{3})*(?:\.\d+)?(?!\d|[.:]\d)"
_SPELLED = rf"\b(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})(?:[ -](?:{_ONES}))?\b"
_NUMBER = rf"(?:{_DIGITS}(?:/\d+)?|{_SPELLED})"
_SCALED = (
    rf"(?P<n>{_NUMBER}|(?<![\w.,:/-])\d+,\d{{1,2}}(?= ?(?:%|[kmgt]i?b\b))"
    r"|\ba(?= (?:dozen|hundred|thousand|million)\b))"
    r"(?:(?: ?(?P<scale>hundred|thousand|million|billion|dozen)\b)|(?P<suffix>(?-i:[kKM]))(?![\w/]))?"
)
_DECIMAL_COMMA: Final = re.compile(r"\d+,\d{1,2}")
_SHORT: Final = {"req": "request", "reqs": "request", "msg": "message", "msgs": "message", "tx": "transaction"}
_PERIOD = rf"(?P<period>{'|'.join(sorted((*_TIME_UNITS, *_MONTH_UNITS), key=len, reverse=True))})\b"
_NAMED = rf"(?P<named>{'|'.join(_MONTH_NUMBERS)})"
_DAY_PART = r"(?: (?:in the|at) (?P<day>morning|afternoon|evening|night)\b)?"
_NO_PERIOD = f"(?! ?{_PERIOD.replace('?P<period>', '?:')})"
_CODE_SPAN: Final = re.compile(r"`[^`\n]*`")
_SIZE: Final = re.compile(r"([kmgtp]|kilo|mega|giga|tera|peta|)(i?)(b|bytes?)", re.IGNORECASE)

_RUN: Final = re.compile(r"\w+|[$€£]")
_FIRST_WORDS: Final = frozenset(
    (
        *(word.partition("-")[0] for word in NUMBER_WORDS),
        *(*_MONTH_NUMBERS, *_QUARTERS, *_TIMES, *_ADVERBS, *_PARTS),
        *_ORDINALS,
        *("q1", "q2", "q3", "q4", "the", "noon", "midnight", "every", "alle", "a", "an", "$", "€", "£"),
    )
)
"""The words with which a measure can begin; any other begins with a digit."""

LONGEST_READ = 4_000
"""In characters. A longer text is about many things and is not compared measure by measure."""

Span = tuple[int, int]
Read = Callable[[re.Match[str]], Measure | None]


def measures_in(text: str) -> tuple[Measure, ...]:
    """Return the measures of a text in order; they do not overlap, and code in backquotes has none."""
    return _measures(text)


def same_measure(one: Measure, other: Measure) -> bool:
    """Return whether two measures are one amount; sizes may be in thousands or in powers of two."""
    if one.dimension == other.dimension == "clock":
        return _equal(one.value, other.value) or _is_other_half(one, other)
    if one.dimension == other.dimension and one.unit == other.unit:
        return _equal(one.value, other.value) or any(
            _equal(x, y)
            for x, y in ((one.binary, other.binary), (one.value, other.binary), (one.binary, other.value))
        )
    if {one.dimension, other.dimension} == {"rate", "time"}:
        return not (one.unit or other.unit) and _equal(one.value * other.value, 1.0)  # ten times a second, 100 ms
    if {one.dimension, other.dimension} == {"count", "ratio"}:
        return 0 < one.value < 1 and _equal(one.value, other.value)
    return False


def _is_other_half(one: Measure, other: Measure) -> bool:
    """Return whether two times of day are twelve hours apart and one of them does not say which half it means."""
    return _EITHER_HALF in (one.unit, other.unit) and _equal(one.value % 720, other.value % 720)


def surely_differ(one: Measure, other: Measure) -> bool:
    """Return whether two measures have one dimension and are too far apart to mean the same amount."""
    if same_measure(one, other):
        return False
    if {one.dimension, other.dimension} == {"time", "months"}:
        seconds = [m.value * (_SECONDS_A_MONTH if m.dimension == "months" else 1.0) for m in (one, other)]
        return not math.isclose(*seconds, rel_tol=_NEARLY_A_MONTH)
    if one.dimension != other.dimension or (one.unit != other.unit and one.dimension not in ("count", "clock")):
        return False
    if one.dimension == "size":
        return not math.isclose(one.value, other.value, rel_tol=_NEARLY_A_SIZE)
    if one.dimension == "date":
        return one.value % 10_000 != other.value % 10_000 or min(one.value, other.value) >= 10_000  # with a year
    exact = one.dimension in ("clock", "count") and not _equal(one.value, other.value)
    return exact or not math.isclose(one.value, other.value, rel_tol=_NEARLY)


def in_notation_of(model: str, text: str) -> str:
    """Return a text in which every measure that `model` states too has the notation of `model`."""
    known = measures_in(model)
    parts, at = [], 0
    for measure in measures_in(text) if known else ():
        same = next((other for other in known if same_measure(measure, other)), None)
        if same is not None:
            parts += [text[at : measure.start], model[same.start : same.end]]
            at = measure.end
    return "".join((*parts, text[at:]))


def with_placeholders(text: str, measures: Sequence[Measure]) -> str:
    """Return a text with one private-use character in place of each measure, so that each is one token."""
    parts, at = [], 0
    for number, measure in enumerate(measures):
        parts += [text[at : measure.start], f" {placeholder(number)} "]
        at = measure.end
    return "".join((*parts, text[at:]))


def placeholder(number: int) -> str:
    """Return the placeholder character of the measure with this number."""
    return chr(0xE000 + number)


@lru_cache(maxsize=2_048)  # a new text is compared with its neighbours, which are often those of the next one
def _measures(text: str) -> tuple[Measure, ...]:
    starts = _starts(text) if len(text) <= LONGEST_READ else []
    if not starts:
        return ()
    taken = bytearray(len(text))
    for match in _CODE_SPAN.finditer(text):
        taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
    found: list[Measure] = []
    for pattern, read in _PATTERNS:
        for match in _matches_at(starts, pattern, text):
            if any(taken[match.start() : match.end()]):
                continue
            measure = read(match)
            if measure is not None and not math.isnan(measure.value):
                taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
                found.append(measure)
    return tuple(sorted(found, key=lambda measure: measure.start))


def _starts(text: str) -> list[int]:
    """Return where a pattern matches: at few words of most texts, so each pattern is tried only there."""
    runs = (run.start() for run in _RUN.finditer(text) if _can_begin(run.group()))
    lower, fits = (text.lower(), _ANY_IN_LOWER_CASE) if text.isascii() else (text, _ANY)
    return [start for start in runs if fits.match(lower, start)]


def _can_begin(run: str) -> bool:
    return run[0].isdigit() or run.lower() in _FIRST_WORDS or not run.isascii()


def _matches_at(starts: Sequence[int], pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield what `pattern.finditer(text)` yields, for a pattern whose matches all begin at one of the starts."""
    end = 0
    for start in starts:
        if start >= end and (match := pattern.match(text, start)):
            end = match.end()
            yield match


def _date(match: re.Match[str]) -> Measure | None:
    parts = match.groupdict()
    month = _MONTH_NUMBERS[parts["named"].lower()] if parts.get("named") else int(match["month"])
    day = int(match["day"])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return Measure(*match.span(), "date", float(int(match["year"] or 0) * 10_000 + month * 100 + day))


def _quarter(match: re.Match[str]) -> Measure:
    number = match["q"] or _QUARTERS[match["ordinal"].lower()]
    return Measure(*match.span(), "date", float(number), "quarter")


def _clock(match: re.Match[str]) -> Measure | None:
    hour, minute = int(match["hour"]), int(match.groupdict().get("minute") or 0)
    half = match["half"]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    return Measure(*match.span(), "clock", float(hour % 24 * 60 + minute))


def _spoken_clock(match: re.Match[str]) -> Measure | None:
    """Read `half past six`, `a quarter to eight`, `nine o'clock`, `two in the morning`."""
    hour, parts = _value(match["hour"]), match.groupdict()
    if not 1 <= hour <= 12:
        return None
    minutes = {"half": 30.0, "quarter": 15.0}.get((parts.get("part") or "").lower(), 0.0)
    minutes = -minutes if (parts.get("side") or "").lower() == "to" else minutes
    day = (parts.get("day") or "").lower()
    if not day:
        return Measure(*match.span(), "clock", (hour % 12 * 60 + minutes) % 720, _EITHER_HALF)
    return Measure(*match.span(), "clock", (hour % 12 + (0 if day == "morning" else 12)) * 60 + minutes)


def _ordinal(match: re.Match[str]) -> Measure:
    word = match["word"]
    return Measure(*match.span(), "count", float(_ORDINALS[word.lower()] if word else int(match["digits"])))


def _number_and_a_half(match: re.Match[str]) -> Measure | None:
    return _with_unit(match.span(), _value(match["n"]) + 0.5, match["period"])


def _named_hour(match: re.Match[str]) -> Measure:
    return Measure(*match.span(), "clock", 720.0 if match.group().lower() == "noon" else 0.0)


def _every(match: re.Match[str]) -> Measure | None:
    return _rate(match.span(), 1.0, _value(match["n"] or "1"), match["period"])


def _times(match: re.Match[str]) -> Measure | None:
    times = _TIMES[match["word"].lower()] if match["word"] else _value(match["n"])
    return _rate(match.span(), times, 1.0, match["period"])


def _adverb(match: re.Match[str]) -> Measure | None:
    return _rate(match.span(), 1.0, 1.0, _ADVERBS[match.group().lower()])


def _rate(span: Span, times: float, periods: float, period: str) -> Measure | None:
    name = period.lower()
    if name == "quarter":
        name, periods = "month", 3 * periods
    if not (times and periods):
        return None
    if name in _MONTH_UNITS:
        return Measure(*span, "month rate", times / (periods * _MONTH_UNITS[name]))
    return Measure(*span, "rate", times / (periods * _TIME_UNITS[name]))


def _rate_of(match: re.Match[str]) -> Measure | None:
    """Read `600 requests a minute`, `10 req/s`: a rate, and what is counted."""
    measure = _rate(match.span(), _scaled(match), 1.0, match["period"])
    counted = match["what"].lower()
    return None if measure is None else replace(measure, unit=word_form(_SHORT.get(counted, counted)))


def _one_in(match: re.Match[str]) -> Measure | None:
    above, below = _value(match["n"]), _value(match["of"])
    return Measure(*match.span(), "ratio", above / below) if above < below else None


def _basis_points(match: re.Match[str]) -> Measure:
    return Measure(*match.span(), "ratio", _value(match["n"]) / 10_000.0)


def _and_a_half(match: re.Match[str]) -> Measure | None:
    count = 1.0 if match["n"].lower() in ("a", "an") else _value(match["n"])
    return _with_unit(match.span(), count + 0.5, match["period"])


def _half_a(match: re.Match[str]) -> Measure | None:
    return _with_unit(match.span(), 0.5, match["unit"])


def _one(match: re.Match[str]) -> Measure | None:
    return _with_unit(match.span(), 1.0, match["period"])


def _part(match: re.Match[str]) -> Measure:
    count = 1.0 if (match["n"] or "a").lower() == "a" else _value(match["n"])
    return Measure(*match.span(), "ratio", count / _PARTS[match["part"].lower()])


def _hours_and_minutes(match: re.Match[str]) -> Measure:
    return Measure(*match.span(), "time", 3600.0 * int(match["hour"]) + 60.0 * int(match["minute"]))


def _money(match: re.Match[str]) -> Measure:
    return Measure(*match.span(), "money", _scaled(match), _CURRENCIES[match["currency"].lower()])


def _percent(match: re.Match[str]) -> Measure:
    return Measure(*match.span(), "ratio", _scaled(match) / 100.0)


def _bit_rate(match: re.Match[str]) -> Measure:
    return Measure(*match.span(), "bit rate", _scaled(match) * 1000.0 ** _PREFIXES[match["prefix"].lower()])


def _amount(match: re.Match[str]) -> Measure | None:
    return _with_unit(match.span(), _scaled(match), match["unit"])


def _count(match: re.Match[str]) -> Measure:
    number = match["n"]
    is_version = "." in number and number.endswith("0")  # 3.10 is not 3.1
    return Measure(*match.span(), "count", _scaled(match), number if is_version else "")


def _with_unit(span: Span, value: float, unit: str) -> Measure | None:
    """Read a value and its unit; None if the word is no unit."""
    name = unit.lower()
    if name in _TIME_UNITS and unit not in ("S", "H", "D"):
        return Measure(*span, "time", value * _TIME_UNITS[name])
    if name in _MONTH_UNITS:
        return Measure(*span, "months", value * _MONTH_UNITS[name])
    if name in ("bit", "bits"):
        return Measure(*span, "size", value / 8.0, "", value / 8.0)
    size = _SIZE.fullmatch(unit)
    if size is None or unit == "b":
        return None
    binary = value * 1024.0 ** _PREFIXES[size[1].lower()]
    return Measure(*span, "size", binary if size[2] else value * 1000.0 ** _PREFIXES[size[1].lower()], "", binary)


def _scaled(match: re.Match[str]) -> float:
    number, scale = match["n"], match["scale"] or match["suffix"]
    value = 1.0 if number.lower() == "a" else _value(number)
    return value * _SCALES[scale.lower()] if scale else value


def _value(number: str) -> float:
    spelled = number.lower().replace(" ", "-")
    if spelled in NUMBER_WORDS:
        return float(NUMBER_WORDS[spelled])
    if _DECIMAL_COMMA.fullmatch(number):
        return float(number.replace(",", "."))
    above, _, below = re.sub(r"[,_]", "", number).partition("/")
    if not above.replace(".", "", 1).isdigit():  # two number words in a row that make no number
        return math.nan
    if below and float(above) >= float(below):  # 24/7
        return math.nan
    return float(above) / float(below) if below else float(above)


def _equal(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


_PATTERNS: Final[tuple[tuple[re.Pattern[str], Read], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), read)
    for pattern, read in (
        (r"(?<![\w-])(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?![\w-])", _date),
        (rf"(?<![\w.])(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_NAMED}\b(?:,? (?P<year>\d{{4}})\b)?", _date),
        (rf"\b{_NAMED}\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?![.:]\d)(?:,? (?P<year>\d{{4}})\b)?", _date),
        (r"\bQ(?P<q>[1-4])\b|\b(?:the )?(?P<ordinal>first|second|third|fourth) quarter\b", _quarter),
        (
            r"(?<![\w:.])(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)(?![\w:]*\d)(?: ?(?P<half>[ap])\.?m\b\.?)?",
            _clock,
        ),
        (r"(?<![\w:.])(?P<hour>1[0-2]|0?[1-9]) ?(?P<half>[ap])\.?m\b\.?", _clock),
        (r"\b(?:noon|midnight)\b", _named_hour),
        (rf"\b(?:a )?(?P<part>half|quarter) (?P<side>past|to) (?P<hour>{_NUMBER}){_DAY_PART}", _spoken_clock),
        (rf"(?P<hour>{_NUMBER}) o'clock\b{_DAY_PART}", _spoken_clock),
        (rf"(?P<hour>{_NUMBER}){_DAY_PART.removesuffix('?')}", _spoken_clock),
        (rf"(?<=\bat )(?P<hour>{_SPELLED})(?= sharp\b| on\b| every\b|[.,;!)]|$)", _spoken_clock),
        (rf"(?:\b(?P<word>{'|'.join(_ORDINALS)})|(?P<digits>\d+)(?:st|nd|rd|th))(?= (?:{_COUNTED})\b)", _ordinal),
        (r"(?<![\w:.])(?P<hour>[01]?\d|2[0-4]) Uhr(?: (?P<minute>[0-5]\d)\b)?(?P<half>)", _clock),
        (r"(?:(?<=\bà )|(?<=\bvers )|(?<=\bàs ))(?P<hour>[01]?\d|2[0-4]) ?h(?P<minute>[0-5]\d)?\b(?P<half>)", _clock),
        (r"(?<=\ba las )(?P<hour>[01]?\d|2[0-4])(?P<half>)(?![\w:])", _clock),
        (rf"\b(?:every|alle) (?:(?P<n>{_NUMBER}) ?)?{_PERIOD}", _every),
        (rf"(?:\b(?P<word>once|twice|thrice)|(?P<n>{_NUMBER}) times) (?:an?|per|each|every) {_PERIOD}", _times),
        (rf"\b(?:{'|'.join(_ADVERBS)})\b", _adverb),
        (
            rf"{_SCALED} (?P<what>(?![kmgt]?b(?:its?|ytes?)\b)[a-z]{{3,}})(?: (?:an?|per|each|every) |/){_PERIOD}",
            _rate_of,
        ),
        (
            rf"(?P<n>{_NUMBER}) (?:in|out of) (?:every )?(?P<of>{_NUMBER}){_NO_PERIOD}",
            _one_in,
        ),
        (rf"(?P<n>{_NUMBER}) basis points\b", _basis_points),
        (rf"\b(?P<n>{_NUMBER}|an?) {_PERIOD} and a half\b", _and_a_half),
        (rf"\b(?P<n>{_NUMBER}) and a half {_PERIOD}", _number_and_a_half),
        (r"\bhalf (?:an? )?(?P<unit>hour|minute|second|day|year|[kmgt]i?b|gigabyte|megabyte)\b", _half_a),
        (rf"(?<!per )(?<!\btimes )\ban? {_PERIOD}", _one),
        (r"\b(?:(?P<n>a|one|two|three|four) )?(?P<part>half|thirds?|quarters?|fifths?)(?= of\b| the\b)", _part),
        (r"(?<![\w.])(?P<hour>\d+) ?h(?:ours?|rs?)? ?(?P<minute>\d+) ?m(?:in(?:ute)?s?)?\b", _hours_and_minutes),
        (rf"(?P<currency>[$€£]) ?{_SCALED}", _money),
        (rf"{_SCALED} ?(?P<currency>€|(?:usd|eur|gbp|dollars?|euros?|pounds?)\b)", _money),
        (rf"{_SCALED} ?(?:%|percent\b|per cent\b|prozent\b)", _percent),
        (rf"{_SCALED} ?(?P<prefix>[kmgt]?)(?:bps\b|bits?/s\b|b/s\b)", _bit_rate),
        (rf"{_SCALED}[ -]?(?P<unit>[^\W\d_]+)", _amount),
        (rf"{_SCALED}(?!\w|-\w|[/\\]\w)", _count),
    )
)
"""The longest notations first: a later pattern does not read again what an earlier one has matched."""

_ANY: Final = re.compile(
    "|".join(re.sub(r"\?P<\w+>", "?:", pattern.pattern) for pattern, _ in _PATTERNS), re.IGNORECASE
)
"""Matches wherever one of the patterns does: one attempt instead of one for each."""

_ANY_IN_LOWER_CASE: Final = re.compile(
    re.sub(r"(\\.)|([A-Z])", lambda found: found[1] or found[2].lower(), _ANY.pattern)
)
"""The same for a text in lower case, where it need not ignore case, which takes three times as long."""
