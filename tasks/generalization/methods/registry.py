"""All generalization methods, in the order in which they are compared. One more is a module and a line here."""

from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.methods.common_strategy import COMMON
from tasks.generalization.methods.k_anonymity import K_ANONYMITY
from tasks.generalization.methods.no_attack_common import NO_ATTACK_COMMON
from tasks.generalization.methods.partitions import BASIC_PARTITION, NO_ATTACK_PARTITION
from tasks.generalization.methods.per_record import BASIC, NO_ATTACK, SH_FRIENDLY
from tasks.generalization.methods.remainder import NO_ATTACK_REMAINDER
from tasks.generalization.methods.safe_harbor import SAFE_HARBOR
from tasks.request.model import Method

METHODS = {
    method.name: method
    for method in (
        SAFE_HARBOR,
        K_ANONYMITY,
        COMMON,
        NO_ATTACK_COMMON,
        BASIC,
        NO_ATTACK,
        SH_FRIENDLY,
        BASIC_PARTITION,
        NO_ATTACK_PARTITION,
        NO_ATTACK_REMAINDER,
    )
}


MOST_BY_RECORD = 2**25
"""Distinct tuples, times strategies, up to which methods that choose for each record are tried beside a request's."""


def compared_with(chosen: Method, index: CountIndex) -> tuple[Method, ...]:
    """Methods that a release is compared with.

    Remainder classes, whose search takes as long as all others, are not, nor where games are large the common strategy
    and methods that choose for each record, nor partitions whose cells are counted anew for each price;
    ``assess game`` compares those as well.
    """
    slow = {Method.NO_ATTACK_REMAINDER}
    if not index.keeps_cells:
        slow |= {name for name, method in METHODS.items() if method.partitions}
    if index.choices > MOST_BY_RECORD:
        slow |= {Method.NO_ATTACK_COMMON} | {name for name, method in METHODS.items() if method.per_record}
    return tuple(method for method in Method if method is chosen or method not in slow)
