"""All generalization methods, in the order in which they are compared. One more is a module and a line here."""

from tasks.generalization.methods.common import COMMON
from tasks.generalization.methods.k_anonymity import K_ANONYMITY
from tasks.generalization.methods.partitions import BASIC_PARTITION, NO_ATTACK_PARTITION
from tasks.generalization.methods.per_record import BASIC, NO_ATTACK, SH_FRIENDLY
from tasks.generalization.methods.remainder import NO_ATTACK_REMAINDER
from tasks.generalization.methods.safe_harbor import SAFE_HARBOR

METHODS = {
    method.name: method
    for method in (
        SAFE_HARBOR,
        K_ANONYMITY,
        COMMON,
        BASIC,
        NO_ATTACK,
        SH_FRIENDLY,
        BASIC_PARTITION,
        NO_ATTACK_PARTITION,
        NO_ATTACK_REMAINDER,
    )
}
