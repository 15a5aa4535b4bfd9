"""All generalization methods, in the order in which they are compared. One more is a module and a line here."""

from tasks.generalization.methods.common import COMMON
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


def compared_with(chosen: Method) -> tuple[Method, ...]:
    """Methods that a release is compared with: all but remainder classes, whose search takes as long as all others.

    ``assess game`` compares those as well.
    """
    return tuple(method for method in Method if method is chosen or method is not Method.NO_ATTACK_REMAINDER)
