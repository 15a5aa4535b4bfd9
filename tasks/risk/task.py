"""Doors of the risk stages: score what the generalization leaves, plan an attack on it, weigh what it gives away."""

from pathlib import Path

import numpy as np
from prefect import task
from prefect.cache_policies import INPUTS, TASK_SOURCE

from tasks.artifact import Artifact, artifact, checked, written
from tasks.decision.adversary_facts import ScoreFigure
from tasks.delivery.seed import derive_seed
from tasks.errors import ParameterError, StageFailed
from tasks.generalization.played_file import load_played
from tasks.guard import guarded
from tasks.masking.masked_columns import with_masked
from tasks.masking.masked_file import load_masked
from tasks.request.load import load_request
from tasks.risk.beside import hands_of, planned_beside, worst
from tasks.risk.combined_score import combine, combined_beside, score_collected
from tasks.risk.finding_file import load_figure, save_figure, save_finding
from tasks.risk.frontier import frontier, with_frontier
from tasks.risk.other_terms import with_other_terms
from tasks.risk.profile import recipient_profile
from tasks.risk.released import released_tuples
from tasks.risk.score import score
from tasks.risk.score_file import save_score
from tasks.risk.sequential import external_fact, plan
from tasks.shared_table import shared_table


@task(name="score", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def score_release(  # noqa: PLR0917
    release_id: str,
    request: str,
    recipient: str,
    prepared: Artifact,
    played: Artifact,
    key_file: str,
    folder: str,
) -> Artifact:
    """Measure risk before and after, the game's outcome, also under other stakes, and the figures of the gates.

    Where terms of the recipient are uncertain, sets of them are drawn and judged.

    Parameters
    ----------
    release_id : str
        Names every input's bytes; part of the cache key.
    request, recipient : str
        Path of the request and id of the recipient.
    prepared, played : Artifact
        The coded data and the cells they are released as.
    key_file : str
        Path of the workspace's key, from which what is drawn follows.
    folder : str
        Private folder of the run.
    """
    with guarded("risk"):
        asked, outcome = load_request(Path(request)).request, load_played(checked(played))
        who = asked.recipient(recipient)
        coded, table = shared_table(asked, prepared)
        scored = score(table, outcome, asked, who, coded.distinct_values)
        scored = with_frontier(scored, frontier(table, asked, who))
        seed = derive_seed(Path(key_file), release_id, f"uncertain terms {recipient}")
        scored = with_other_terms(scored, table, asked, who, outcome, np.random.default_rng(int.from_bytes(seed)))
        target = Path(folder) / f"score-{recipient}.json"
        with written(target) as partial:
            save_score(scored, partial)
        return artifact(target)


@task(name="plan attack", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def plan_attack(  # noqa: PLR0917
    release_id: str,  # noqa: ARG001
    request: str,
    recipient: str,
    prepared: Artifact,
    played: Artifact,
    folder: str,
) -> Artifact:
    """Measure the risk from a recipient who plans a sequence of attempts; parameters as in ``score_release``.

    The fact is of the copy alone; where it may be laid beside others, gates judge what is then seen as well.
    Terms of one recipient that no plan can be solved with block that recipient, not the others.
    """
    with guarded("sequential adversary"):
        asked, outcome = load_request(Path(request)).request, load_played(checked(played))
        coded, table = shared_table(asked, prepared)
        kept = released_tuples(table, outcome, asked.policy.generalization.minimum_class_size)
        who = asked.recipient(recipient)
        derived = recipient_profile(who, outcome, kept)
        try:
            planned = plan(table, outcome, kept, derived, external_fact(asked, coded, derived.profile.prior))
            hands = hands_of(table, outcome, kept, asked, who)
            figures = worst(planned.figures, planned_beside(table, hands, kept, who))
        except ParameterError as error:
            raise StageFailed(**error.fields()) from None
        target = Path(folder) / f"sequential-{recipient}.json"
        with written(target) as partial:
            save_finding(planned.fact, figures, partial)
        return artifact(target)


@task(name="score as collected", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def score_as_collected(
    release_id: str,  # noqa: ARG001
    request: str,
    prepared: Artifact,
    folder: str,
) -> Artifact:
    """Score identity and attribute disclosure of the records as collected, once for all recipients."""
    with guarded("combined risk"):
        asked = load_request(Path(request)).request
        coded, table = shared_table(asked, prepared)
        target = Path(folder) / "combined.json"
        with written(target) as partial:
            save_figure(score_collected(asked, coded, table), partial)
        return artifact(target)


@task(name="combine risks", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def combine_risks(  # noqa: PLR0917
    release_id: str,  # noqa: ARG001
    request: str,
    recipient: str,
    prepared: Artifact,
    played: Artifact,
    masked: Artifact,
    initial: Artifact,
    folder: str,
) -> Artifact:
    """Score identity and attribute disclosure in one; parameters as in ``score_release``.

    ``masked`` holds the masked columns, ``initial`` is what ``score_as_collected`` gave. The fact is of the copy alone;
    where it may be laid beside others, gates judge what is then seen as well.
    """
    with guarded("combined risk"):
        asked = load_request(Path(request)).request
        coded, table = shared_table(asked, prepared)
        outcome = load_played(checked(played))
        kept = released_tuples(table, outcome, asked.policy.generalization.minimum_class_size)
        before = load_figure(checked(initial), ScoreFigure)
        hidden = with_masked(coded, asked, load_masked(checked(masked)))
        combined = combine(asked, hidden, table, outcome, kept, before)
        hands = hands_of(table, outcome, kept, asked, asked.recipient(recipient))
        figures = worst(combined.figures, combined_beside(asked, hidden, table, hands, kept))
        target = Path(folder) / f"combined-{recipient}.json"
        with written(target) as partial:
            save_finding(combined.fact, figures, partial)
        return artifact(target)
