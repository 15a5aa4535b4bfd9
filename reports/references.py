"""The papers behind the figures of a record: only those whose method was used on it."""

from dataclasses import dataclass

from tasks.assessments.identity.kanonymity_fact import KAnonymityFact
from tasks.decision.record import DecisionRecord
from tasks.generalization.constraints.registry import PRIVACY_MODELS
from tasks.request.model import MaskingName

_ADDRESS = "45 CFR 164.514. Other requirements relating to uses and disclosures of protected health information."
_ALWAYS = (
    _ADDRESS,
    "Article 29 Data Protection Working Party (2014). Opinion 05/2014 on Anonymisation Techniques. WP216.",
    "Centers for Medicare & Medicaid Services. CMS Cell Size Suppression Policy.",
    "Dankar FK, El Emam K (2010). A method for evaluating marketer re-identification risk. Proceedings of the 2010 "
    "EDBT/ICDT Workshops.",
    "Desai T, Ritchie F, Welpton R (2016). Five Safes: designing data access for research. University of the West of "
    "England, Economics Working Paper 1601.",
    "El Emam K, Dankar FK (2008). Protecting privacy using k-anonymity. Journal of the American Medical Informatics "
    "Association 15(5), 627–637.",
    "European Medicines Agency (2014). Policy 0070 on publication of clinical data for medicinal products for human "
    "use; external guidance on its implementation (2016).",
    "Health Canada (2019). Public Release of Clinical Information: guidance document.",
    "HHS Office for Civil Rights (2012). Guidance Regarding Methods for De-identification of Protected Health "
    "Information in Accordance with the HIPAA Privacy Rule.",
    "Torra V (2017). Data Privacy: Foundations, New Developments and the Big Data Challenge. Springer.",
    "Wan Z, Vorobeychik Y, Xia W, Clayton EW, Kantarcioglu M, Ganta R, Heatherly R, Malin BA (2015). A Game Theoretic "
    "Framework for Analyzing Re-Identification Risk. PLoS ONE 10(3), e0120592.",
)
_SEQUENTIAL = (
    "Xia W, Heatherly R, Kantarcioglu M, Vorobeychik Y, Wan Z, Malin B (2015). Process-Driven Data Privacy. "
    "Proceedings of CIKM 2015. doi:10.1145/2806416.2806580.",
)
_K_ANONYMITY = (
    "El Emam K, Dankar FK, Issa R, et al. (2009). A globally optimal k-anonymity method for the de-identification of "
    "health data. Journal of the American Medical Informatics Association 16(5), 670–682.",
    "Kohlmayer F, Prasser F, Eckert C, Kemper A, Kuhn KA (2012). Flash: efficient, stable and optimal k-anonymity. "
    "Proceedings of PASSAT 2012.",
    "Sweeney L (2002). Achieving k-anonymity privacy protection using generalization and suppression. International "
    "Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 571–588.",
)
_LOSS_BY_METRIC = {
    "discernibility": (
        "Bayardo RJ, Agrawal R (2005). Data privacy through optimal k-anonymization. Proceedings of ICDE 2005.",
    ),
    "loss": ("Iyengar VS (2002). Transforming data to satisfy privacy constraints. Proceedings of KDD 2002.",),
    "non-uniform entropy": (
        "Gionis A, Tassa T (2007). k-Anonymization with minimal loss of information. Proceedings of ESA 2007.",
    ),
}
_COMBINED = ("Orooji M, Knapp GM (2019). A Novel Microdata Privacy Disclosure Risk Measure. arXiv:1901.07311.",)
_TORRA_SLIDES = "Torra V (2016). On machine learning for data privacy. Lecture, Linköping, 7 December 2016."
_LINKAGE = (
    _TORRA_SLIDES,
    "Wilson EB (1927). Probable inference, the law of succession, and statistical inference. Journal of the American "
    "Statistical Association 22, 209–212.",
)
_PROBABILISTIC = (
    "Fellegi IP, Sunter AB (1969). A theory for record linkage. Journal of the American Statistical Association 64, "
    "1183–1210.",
)
_JOINT = (
    "Sinkhorn R (1967). Diagonal equivalence to matrices with prescribed row and column sums. American Mathematical "
    "Monthly 74, 402–405.",
)
_MICROAGGREGATION = (
    "Domingo-Ferrer J, Mateo-Sanz JM (2002). Practical data-oriented microaggregation for statistical disclosure "
    "control. IEEE Transactions on Knowledge and Data Engineering 14(1), 189–201.",
)
_LOSS = (
    "Bayardo RJ, Agrawal R (2005). Data privacy through optimal k-anonymization. Proceedings of ICDE 2005.",
    "Ghinita G, Karras P, Kalnis P, Mamoulis N (2007). Fast data anonymization with low information loss. Proceedings "
    "of VLDB 2007.",
    "Gionis A, Tassa T (2007). k-Anonymization with minimal loss of information. Proceedings of ESA 2007.",
    "Iyengar VS (2002). Transforming data to satisfy privacy constraints. Proceedings of KDD 2002.",
    "LeFevre K, DeWitt DJ, Ramakrishnan R (2006). Mondrian multidimensional k-anonymity. Proceedings of ICDE 2006.",
    "Prasser F, Kohlmayer F, Lautenschläger R, Kuhn KA (2014). ARX: a comprehensive tool for anonymizing biomedical "
    "data. AMIA Annual Symposium Proceedings 2014.",
)
_NUMERIC = (
    "Mateo-Sanz JM, Sebé F, Domingo-Ferrer J (2004). Outlier protection in continuous microdata masking. Proceedings "
    "of Privacy in Statistical Databases 2004.",
)
_ASSOCIATIONS = (
    "Bergsma W (2013). A bias-correction for Cramér's V and Tschuprow's T. Journal of the Korean Statistical Society "
    "42(3), 323–328.",
)
_CLUSTERING = (
    "Lloyd SP (1982). Least squares quantization in PCM (k-means). IEEE Transactions on Information Theory 28(2), "
    "129–137.",
    "Rand WM (1971). Objective criteria for the evaluation of clustering methods. Journal of the American Statistical "
    "Association 66, 846–850.",
)

_DECOYS = (
    "Antonatos S, Braghin S, Holohan N, MacAonghusa P (2019). AnonTokens: tracing re-identification attacks through "
    "decoy records. arXiv:1906.09829.",
)
_DETECTABILITY = (
    "DeLong ER, DeLong DM, Clarke-Pearson DL (1988). Comparing the areas under two or more correlated receiver "
    "operating characteristic curves: a nonparametric approach. Biometrics 44(3), 837–845.",
    "Lopez-Paz D, Oquab M (2017). Revisiting classifier two-sample tests. Proceedings of ICLR 2017.",
)

_CHANCE = (
    "Clopper CJ, Pearson ES (1934). The use of confidence or fiducial limits illustrated in the case of the binomial. "
    "Biometrika 26(4), 404–413.",
)
_INDICES = (
    "Saltelli A, Annoni P, Azzini I, Campolongo F, Ratto M, Tarantola S (2010). Variance based sensitivity analysis of "
    "model output. Design and estimator for the total sensitivity index. Computer Physics Communications 181, 259–270.",
    "Sobol' IM (2001). Global sensitivity indices for nonlinear mathematical models and their Monte Carlo estimates. "
    "Mathematics and Computers in Simulation 55, 271–280.",
)


@dataclass(frozen=True)
class _Group:
    used: bool
    papers: tuple[str, ...]


def cited(record: DecisionRecord) -> tuple[str, ...]:
    """The papers of the record in the order of their authors.

    Attacks are known by their ids: those by likelihood end in ``probabilistic``, those of everybody at once in
    ``joint``.
    """
    papers = {*_ALWAYS}
    for group in (*_of_risk(record), *_of_masking(record), *_of_decoys(record), *_of_utility(record)):
        papers |= {*group.papers} if group.used else set()
    return tuple(sorted(papers, key=str.casefold))


def _of_risk(record: DecisionRecord) -> tuple[_Group, ...]:
    risk = record.risk
    if risk is None:
        return ()
    attacks = [] if risk.linkage is None else [attack.id for attack in risk.linkage.attacks]
    return (
        _Group(risk.sequential is not None, _SEQUENTIAL),
        _Group(risk.combined is not None, _COMBINED),
        _Group(risk.linkage is not None, _LINKAGE),
        _Group(any(name.endswith("probabilistic") for name in attacks), _PROBABILISTIC),
        _Group(any(name.endswith("joint") for name in attacks), _JOINT),
        _Group(risk.uncertainty is not None and risk.uncertainty.approved.draws > 1, _CHANCE),
        _Group(risk.uncertainty is not None and bool(risk.uncertainty.deciding), _INDICES),
        *_of_k_anonymity(risk.game.k_anonymity),
    )


def _of_k_anonymity(fact: KAnonymityFact | None) -> tuple[_Group, ...]:
    if fact is None:
        return ()
    return (
        _Group(used=True, papers=_K_ANONYMITY),
        _Group(used=True, papers=_LOSS_BY_METRIC.get(fact.metric, ())),
        *(_Group(model.term in fact.kinds, model.sources) for model in PRIVACY_MODELS),
    )


def _of_masking(record: DecisionRecord) -> tuple[_Group, ...]:
    methods = {fact.method for fact in record.masking}
    averaged = methods & {MaskingName.INDIVIDUAL_RANKING, MaskingName.MDAV}
    return (_Group(bool(methods), (_TORRA_SLIDES,)), _Group(bool(averaged), _MICROAGGREGATION))


def _of_decoys(record: DecisionRecord) -> tuple[_Group, ...]:
    fact = record.decoys
    if fact is None:
        return ()
    return (_Group(used=True, papers=_DECOYS), _Group(fact.detectability is not None, _DETECTABILITY))


def _of_utility(record: DecisionRecord) -> tuple[_Group, ...]:
    fact = record.utility
    if fact is None:
        return ()
    return (
        _Group(used=True, papers=_LOSS),
        _Group(bool(fact.numeric or fact.curves), _NUMERIC),
        _Group(any(one.measure.startswith("Cramér") for one in fact.associations), _ASSOCIATIONS),
        _Group(fact.clustering is not None, _CLUSTERING),
    )
