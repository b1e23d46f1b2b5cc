"""The privacy statement: what is guaranteed, to whom, what it cost, and what is not covered."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from dpfy.accounting.composition import compose
from dpfy.accounting.meter import Charge
from dpfy.privacy import Adjacency, CountingMode, PrivacyUnit

FORMAT = 1


class ChargeLine(BaseModel):
    """One mechanism run.

    Args:
        label: what was released.
        kind: count, domain, select or measure.
        share: of the whole Gaussian budget spent, in [0, 1].
        epsilon_alone: epsilon of this run alone at the statement's delta.
        noise_multiplier: standard deviation over l2 sensitivity; None without Gaussian noise.
        threshold_delta: delta that a threshold added.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str
    kind: str
    share: float
    epsilon_alone: float
    noise_multiplier: float | None
    threshold_delta: float


class Statement(BaseModel):
    """The statement, as JSON by schema. All figures are public parameters or were paid for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    product: str
    code_version: str
    date: str
    dataset: str
    intended_use: str = "synthetic data that may be handed on under the guarantee stated here"
    region: str = "not stated: the guarantee does not depend on a place; the law that applies does"
    epsilon: float
    delta: float
    epsilon_target: float
    delta_words: str
    variant: str = "(epsilon, delta)-differential privacy; inside, Gaussian differential privacy"
    strength: str
    privacy_unit: str
    user_columns: list[list[str]]
    adjacency: str
    adjacency_words: str
    max_records_per_user: int
    contribution_bound: str
    counting: str
    charges: list[ChargeLine]
    composition: str
    accountant: str
    mechanisms: str
    sampling: str = "none: every mechanism reads all bounded records; there is no amplification by sampling"
    noise: str
    noise_is_secure: bool
    seeds: str = "none: what was drawn can't be drawn again; sampling from the generator may be seeded at no cost"
    floating_point: str = "noise is added to whole numbers as whole numbers, so no low-order bits tell a count"
    timing: str = "not protected: how long a run takes may depend on the data"
    generator: str
    users: int
    records: int
    public_inputs: list[str]
    preprocessing: list[str]
    post_processing: str
    tuning: str
    not_protected: list[str]
    trust: str
    access: str = (
        "the workspace folder, with ledger, keys and generators, is readable by its owner alone; the source is not "
        "copied; what does not fit into memory is spilled encrypted and removed"
    )
    retention: str = "the generator holds no record; deleting the source needs no change to it"
    minimisation: str
    releases: str
    analysts: str = "one account for all: whoever runs dpfy on the data set spends from the same budget"
    source: str = (
        "static: a changed source is a new run; its cost adds up in the ledger where the data set's name, its content "
        "or the population's name is the same"
    )
    utility: str
    evidence: str
    plain_words: str


NOT_PROTECTED = (
    "the names of columns, the name of the data set, and which columns name a user",
    "storage types, inferred from all rows: number, text or date; decimal places; date format; time zones; "
    "whether a column is wholly empty",
    "how numbers and lines are spelled: decimal and thousands marks, smallest and largest number of places or digits, "
    "separator, line ends",
    "whether a run ended, and with which exit code",
    "whatever the owner declared public: categories, ranges, rules, key patterns, the contribution bound, filters "
    "and the list of people who opted out",
    "how long the run took and how large its files are",
    "messages to the owner on the screen, and the report, which reads raw data",
    "properties of a whole group that hold without any single person",
)


def plain_words(epsilon: float, delta: float, unit: PrivacyUnit) -> str:
    """The guarantee for a reader who is no expert."""
    who = {
        Adjacency.ADD_REMOVE_RECORD: "one record was in the source",
        Adjacency.ADD_REMOVE_USER: "one user, with all of that user's records, was in the source",
        Adjacency.FIXED_GRAPH: "the records of one user count, given who shares a record with whom",
    }[unit.adjacency]
    strength = strength_words(epsilon)
    rows = (
        " It protects rows, not people: someone with several rows is protected less. Name the column that tells "
        "people apart (--user) to protect people."
        if unit.is_record
        else ""
    )
    return (
        f"Whoever sees the synthetic data, and anything made from it, learns almost the same whether or not {who}: "
        f"no conclusion becomes more than e^{epsilon:.3g} times as likely, apart from a probability of "
        f"{delta:.2g}. {strength}{rows}"
    )


def strength_words(epsilon: float) -> str:
    """How strong an epsilon is, in words."""
    if epsilon <= 1:
        return "This is a strong guarantee."
    if epsilon <= 5:
        return "This is a moderate guarantee, common for releases of statistics."
    if epsilon <= 10:
        return "This is a weak guarantee on paper; it still limits what can be learned in the worst case."
    return "At this epsilon the guarantee says little: read it as a limit, not as protection."


def unit_words(unit: PrivacyUnit) -> str:
    """The privacy unit in words."""
    if unit.is_record:
        return "one record (a row of the table); rows are protected, not people"
    columns = " or ".join(" + ".join(owner) for owner in unit.owners)
    return f"one user (a person named in {columns}), with at most {unit.max_records_per_user} records"


def adjacency_words(unit: PrivacyUnit) -> str:
    """The neighbouring relation in words."""
    match unit.adjacency:
        case Adjacency.ADD_REMOVE_RECORD:
            return "two tables are neighbours when one has one record more"
        case Adjacency.ADD_REMOVE_USER:
            return "two tables are neighbours when one has all records of one user more"
        case Adjacency.FIXED_GRAPH:
            return (
                "who shares a record with whom is taken as public; two tables are neighbours when the records that "
                "belong to one user stay in that graph of one of them, but their content is left out of every sum"
            )


def charge_lines(charges: Sequence[Charge], delta: float) -> list[ChargeLine]:
    """Charges as lines of the statement."""
    composed = [compose([charge.event]) for charge in charges]
    whole = sum(c.gaussian_mu_squared for c in composed) or 1.0
    return [
        ChargeLine(
            label=charge.label,
            kind=charge.kind.value,
            share=round(part.gaussian_mu_squared / whole, 9),
            epsilon_alone=part.epsilon(delta),
            noise_multiplier=part.gaussian_mu_squared**-0.5 if part.gaussian_mu_squared else None,
            threshold_delta=part.threshold_delta,
        )
        for charge, part in zip(charges, composed, strict=True)
    ]


def not_protected(unit: PrivacyUnit) -> list[str]:
    """What the guarantee leaves out, for this unit."""
    extra = []
    if unit.is_record:
        extra.append("people: a person with several rows is protected less than one row is")
    if unit.adjacency is Adjacency.FIXED_GRAPH:
        extra.append("who shares a record with whom, and how many records each user has: the graph is taken as public")
    if not unit.is_record:
        extra.append(
            "(not kept, rather than not protected) how one user's records depend on each other beyond static columns"
        )
    return [*NOT_PROTECTED, *extra]


def counting_words(mode: CountingMode, unit: PrivacyUnit) -> str:
    """How records count, in words."""
    if mode is CountingMode.USERS:
        return "per user: each of a user's r records counts 1/r (l2 sensitivity 1)"
    return f"per record: each record counts 1 (l2 sensitivity {unit.max_records_per_user})"
