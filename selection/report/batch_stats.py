"""Batch statistics: counted article by article, in constant memory."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from selection import score
from selection.model import Extractor, Rule, State
from selection.report.article_stats import PAIRS, ArticleStats

#: Scores are counted in tenths; the last has 1 in it, too.
SCORE_LABELS = tuple(f"{n / 10:.1f}" for n in range(10))
_TOKEN_EDGES = (1, 50, 100, 200, 500, 1000, 2000)
TOKEN_LABELS = ("0", "1+", "50+", "100+", "200+", "500+", "1k+", "2k+")
PAIR_LABELS = ("nothing", "under half", "half or more", "0.95 or more")

LOW_AGREEMENT = 0.5
#: A margin up to the tie width (rule 6.1).
CLOSE_CALL = score.as_float(score.TIE_WIDTH)
#: Two texts are short in this number of tokens, and a third is long in a multiple of theirs.
SHORT_TOKENS, LONG_FACTOR = 200, 3


class Kind(StrEnum):
    """Name the kinds of articles that the page counts and lists."""

    COMPARED = "compared"
    CLOSE = "close"
    NONE = "none"
    LOW = "low"
    SHORT = "short"


class ColorScheme(StrEnum):
    """Name what the colours of a chart mean."""

    EXTRACTORS = "extractors"
    RULES = "rules"
    STATES = "states"
    SHARES = "shares"


@dataclass(frozen=True, slots=True)
class ChartData:
    """Represent the data of one chart: a count for every label of every series.

    Attributes:
        key: its name in the page.
        title, note: what is counted, in a few words and in a sentence.
        colors: what its series are.
        labels: of the bars or of the groups of bars.
        series: per name of a series its counts, one for each label; None draws nothing.
        is_distribution: whether the labels are steps of a scale, in order.
        scale: what the labels of a distribution measure.
    """

    key: str
    title: str
    note: str
    colors: ColorScheme
    labels: Sequence[str]
    series: Mapping[str, Sequence[int | None]]
    is_distribution: bool = False
    scale: str = ""


class BatchStats:
    """Count the statistics of a batch.

    Attributes:
        articles, bytes: number of articles, and the size of their JSON.
    """

    def __init__(self) -> None:
        self.articles = self.bytes = 0
        self._agreement = 0.0
        self._kinds = Counter[Kind]()
        self._picks = Counter[Extractor]()
        self._rules = Counter[Rule]()
        self._states = Counter[tuple[Extractor, State]]()
        self._scores = Counter[tuple[Extractor, int]]()
        self._tokens = Counter[tuple[Extractor, int]]()
        self._pairs = Counter[tuple[int, int]]()

    def add(self, stats: ArticleStats) -> None:
        """Count one article."""
        decision = stats.decision
        self.articles += 1
        self.bytes += stats.bytes
        self._picks[decision.extractor] += 1
        self._rules[decision.rule] += 1
        for candidate in decision.candidates:
            self._states[candidate.extractor, candidate.state] += 1
            self._tokens[candidate.extractor, token_step(candidate.tokens)] += 1
            if candidate.score is not None:
                self._scores[candidate.extractor, score_step(candidate.score)] += 1
        for number, coefficient in enumerate(stats.pairs):
            if coefficient is not None:
                self._pairs[number, pair_step(coefficient)] += 1
        if stats.agreement is not None:
            self._agreement += stats.agreement
        self._kinds.update(kinds_of(stats))

    @property
    def compared(self) -> int:
        """Return in how many articles two or three candidates were compared."""
        return self._kinds[Kind.COMPARED]

    @property
    def no_consensus(self) -> int:
        """Return how many of the compared articles have no consensus."""
        return self._kinds[Kind.NONE]

    @property
    def short_agreement(self) -> int:
        """Return in how many of them two candidates agree on a short text against a long one."""
        return self._kinds[Kind.SHORT]

    def decided_by(self, rule: Rule) -> int:
        """Return the number of articles that a rule decided."""
        return self._rules[rule]

    @property
    def low_agreement(self) -> int:
        """Return how many of them have a best score under :data:`LOW_AGREEMENT`."""
        return self._kinds[Kind.LOW]

    @property
    def close_calls(self) -> int:
        """Return how many of them have a margin of at most :data:`CLOSE_CALL`."""
        return self._kinds[Kind.CLOSE]

    @property
    def picks(self) -> dict[Extractor, int]:
        """The number of articles per extractor, for all three."""
        return {name: self._picks[name] for name in Extractor}

    @property
    def fallbacks(self) -> int:
        """The number of articles without an active candidate."""
        return self._rules[Rule.FALLBACK]

    @property
    def agreement(self) -> float | None:
        """The mean agreement of the compared articles, None without one."""
        return self._agreement / self.compared if self.compared else None

    def chart_data(self) -> list[ChartData]:
        """Return all charts, in the order of the page."""
        return [
            ChartData(
                "picks",
                "Picks per extractor",
                "How many articles each extractor's text was picked for.",
                ColorScheme.EXTRACTORS,
                list(Extractor),
                _diagonal({name: self._picks[name] for name in Extractor}),
            ),
            ChartData(
                "rules",
                "Picks per rule",
                "How many articles each rule decided.",
                ColorScheme.RULES,
                list(Rule),
                {"articles": [self._rules[rule] for rule in Rule]},
            ),
            ChartData(
                "states",
                "Candidate states",
                "Usable: a text without an error. Degraded: with one. Unavailable: no text.",
                ColorScheme.STATES,
                list(Extractor),
                {state: [self._states[name, state] for name in Extractor] for state in State},
            ),
            ChartData(
                "pairs",
                "Agreement of two extractors",
                "Articles by the Sørensen-Dice coefficient of two extractors' shingles: "
                f"{score.formula('shared', 'one', 'other')}.",
                ColorScheme.SHARES,
                [f"{one}, {other}" for one, other in PAIRS],
                {
                    label: [self._pairs[pair, step] for pair in range(len(PAIRS))]
                    for step, label in enumerate(PAIR_LABELS)
                },
            ),
            ChartData(
                "scores",
                "Scores",
                "Compared candidates by score, in tenths; 0.9 means 0.9 up to 1.",
                ColorScheme.EXTRACTORS,
                SCORE_LABELS,
                {name: [self._scores[name, step] for step in range(10)] for name in Extractor},
                is_distribution=True,
                scale="score",
            ),
            ChartData(
                "tokens",
                "Sizes of the texts",
                "Texts by number of tokens; 50+ means 50 up to 99.",
                ColorScheme.EXTRACTORS,
                TOKEN_LABELS,
                {
                    name: [self._tokens[name, step] for step in range(len(TOKEN_LABELS))]
                    for name in Extractor
                },
                is_distribution=True,
                scale="tokens",
            ),
        ]


def kinds_of(stats: ArticleStats) -> list[Kind]:
    """Return the kinds of an article."""
    agreement, margin = stats.agreement, stats.margin
    is_of_kind = {
        Kind.COMPARED: agreement is not None,
        Kind.CLOSE: margin is not None and abs(margin) <= CLOSE_CALL,
        Kind.NONE: agreement == 0,
        Kind.LOW: agreement is not None and agreement < LOW_AGREEMENT,
        Kind.SHORT: _has_short_agreement(stats),
    }
    return [kind for kind, is_it in is_of_kind.items() if is_it]


def _has_short_agreement(stats: ArticleStats) -> bool:
    """Return whether two candidates share half of a short text and the third is much longer."""
    for (one, other), coefficient in zip(PAIRS, stats.pairs):
        if coefficient is None or coefficient < 0.5:
            continue
        short = [c for c in stats.decision.candidates if c.extractor in (one, other)]
        third = next(c for c in stats.decision.candidates if c.extractor not in (one, other))
        longest = max(c.tokens for c in short)
        if longest < SHORT_TOKENS and third.active and third.tokens >= LONG_FACTOR * longest:
            return True
    return False


def score_step(score: float) -> int:
    """Return the index of a score in :data:`SCORE_LABELS`."""
    return min(int(score * 10), 9)


def token_step(tokens: int) -> int:
    """Return the index of a number of tokens in :data:`TOKEN_LABELS`."""
    return bisect_right(_TOKEN_EDGES, tokens)


def pair_step(coefficient: float) -> int:
    """Return the index of two texts' coefficient in :data:`PAIR_LABELS`."""
    if coefficient == 0:
        return 0
    return 1 + (coefficient >= 0.5) + (coefficient >= 0.95)


def _diagonal(counts: Mapping[Extractor, int]) -> dict[str, list[int | None]]:
    """Return each count as a series of its own, so that each bar has its extractor's colour."""
    return {
        name: [count if other == name else None for other in counts]
        for name, count in counts.items()
    }
