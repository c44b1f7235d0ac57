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
        compared: articles in which two or three candidates were compared.
        no_consensus: of these, those without a consensus.
        low_agreement: of these, those whose best score is under :data:`LOW_AGREEMENT`.
        close_calls: of these, those whose margin is at most :data:`CLOSE_CALL`.
    """

    def __init__(self) -> None:
        self.articles = self.bytes = 0
        self.compared = self.no_consensus = self.low_agreement = self.close_calls = 0
        self._picks = Counter[Extractor]()
        self._rules = Counter[Rule]()
        self._states = Counter[tuple[Extractor, State]]()
        self._scores = Counter[tuple[Extractor, int]]()
        self._tokens = Counter[tuple[Extractor, int]]()
        self._pairs = Counter[tuple[int, int]]()
        self._agreement = 0.0

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

    def add(self, stats: ArticleStats) -> None:
        """Count one article."""
        decision = stats.decision
        self.articles += 1
        self.bytes += stats.bytes
        self._picks[decision.extractor] += 1
        self._rules[decision.rule] += 1
        self._agreement += stats.agreement or 0.0
        for candidate in decision.candidates:
            self._states[candidate.extractor, candidate.state] += 1
            self._tokens[candidate.extractor, bisect_right(_TOKEN_EDGES, candidate.tokens)] += 1
            if candidate.score is not None:
                self._scores[candidate.extractor, min(int(candidate.score * 10), 9)] += 1
        for number, coefficient in enumerate(stats.pairs):
            if coefficient is not None:
                self._pairs[number, _step(coefficient)] += 1
        if stats.agreement is not None:
            self.compared += 1
            self.no_consensus += stats.agreement == 0
            self.low_agreement += stats.agreement < LOW_AGREEMENT
        self.close_calls += stats.margin is not None and abs(stats.margin) <= CLOSE_CALL

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


def _step(coefficient: float) -> int:
    """Return the index in :data:`PAIR_LABELS`."""
    if coefficient == 0:
        return 0
    return 1 + (coefficient >= 0.5) + (coefficient >= 0.95)


def _diagonal(counts: Mapping[Extractor, int]) -> dict[str, list[int | None]]:
    """Return each count as a series of its own, so that each bar has its extractor's colour."""
    return {
        name: [count if other == name else None for other in counts]
        for name, count in counts.items()
    }
