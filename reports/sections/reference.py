"""Qualification, definitions, and the papers behind the figures of a record: only those whose method was used on it."""

from collections.abc import Iterator

from reports.document import Block, Bullets, Facts, Heading, Paragraph, text
from reports.record_view import RecordView
from tasks.generalization.constraints.registry import PRIVACY_MODELS
from tasks.request.model import MaskingName

_ALWAYS = (
    "45 CFR 164.514. Other requirements relating to uses and disclosures of protected health information.",
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


def reference(view: RecordView) -> Iterator[Block]:
    """The section."""
    expert = (
        f"As stated in the request: {view.record.expert}." if view.record.expert else "The request names no expert."
    )
    yield Heading("Qualification of the expert")
    yield Paragraph(
        f"{expert} The Privacy Rule requires appropriate knowledge of and experience with generally accepted "
        "statistical and scientific methods for rendering information not individually identifiable; no degree or "
        "certificate is prescribed (HHS 2012). The organization keeps the evidence of the signing expert's "
        "qualification."
    )
    yield Heading("Definitions")
    yield Facts(_definitions(view))
    yield Heading("References")
    yield Bullets(cited(view), "references")


def _definitions(view: RecordView) -> list[tuple[str, str]]:
    decoys, utility = view.record.decoys, view.record.utility
    found: list[tuple[bool, str, str]] = [
        (True, "Direct identifier", "A column that names a person by itself; never released."),
        (
            True,
            "Quasi-identifier",
            "A column that does not name a person by itself but may in combination with others, because the values "
            "are known elsewhere.",
        ),
        (
            True,
            "Class",
            "The records of a file with the same values of all quasi-identifiers (equivalence class). A cell is the "
            "same for groups of values, whether or not the file holds such a record.",
        ),
        (
            True,
            "Generalization hierarchy, level, strategy",
            "A tree that joins the values of an attribute into ever larger groups; its levels; one level for each "
            "quasi-identifier.",
        ),
        (
            True,
            text("n_p, n_T"),
            "The people of the population who match a released cell; those among them whose own released cell it is "
            "(the effective group).",
        ),
        (
            True,
            "Transparent risk",
            text("The risk from a recipient who knows the rule, 1/n_T, in contrast to the naive claim 1/n_p."),
        ),
        (
            True,
            "Worth attacking",
            "Said of a record whose expected gain to the recipient exceeds the cost of an attempt.",
        ),
        (
            view.sequential is not None,
            "Candidates, group size",
            "The people in the external data whose record it may be; their number.",
        ),
        (
            view.sequential is not None,
            "Exploit",
            "One attempt on one candidate, such as contacting that person as the record's.",
        ),
        (
            view.sequential is not None,
            "Sequential adversary",
            "A recipient who makes repeated attempts and goes on or stops at each step as gains most.",
        ),
        (view.combined is not None, "Known set", "A set of attributes whose values somebody knows of a person."),
        (
            view.combined is not None,
            "Combined score",
            "The chance of finding a record by each known set, times the sensitivity of the rest.",
        ),
        (
            decoys is not None,
            "Decoy, decoy class",
            "A record of no person of the data whose groups match people of the population; a class of such records, "
            "which no other recipient's copy holds.",
        ),
        (
            bool(decoys and decoys.kept_per_decoy),
            "Kept class, standing alone",
            "A class of real records that only one recipient's copy holds; said of a class without one of the same "
            "origin in the copies that it is compared with.",
        ),
        (
            view.linkage is not None,
            "Linked, certain match",
            "Said of a person whose own record an attack names, in parts where several are equally near; of one for "
            "whom a single candidate is left, the right one.",
        ),
        (
            bool(utility and (utility.numeric or utility.curves)),
            "IL1s",
            "Mean absolute change of a value over √2 standard deviations of the original.",
        ),
        (
            True,
            "Information kept",
            "One less the information loss, relative to the loss when every quasi-identifier is removed.",
        ),
        (True, "Suppression", "Leaving a record out of the released file."),
    ]
    return [(name, meaning) for used, name, meaning in found if used]


def cited(view: RecordView) -> list[str]:
    """The papers of the record in the order of their authors.

    Attacks are known by their ids: those by likelihood end in ``probabilistic``, those of everybody at once in
    ``joint``.
    """
    record, risk = view.record, view.record.risk
    papers = {*_ALWAYS}
    if risk is not None:
        attacks = [attack.id for attack in risk.linkage.attacks] if risk.linkage else []
        papers |= {*_SEQUENTIAL} if risk.sequential else set()
        papers |= {*_COMBINED} if risk.combined else set()
        papers |= {*_LINKAGE} if risk.linkage else set()
        papers |= {*_PROBABILISTIC} if any(name.endswith("probabilistic") for name in attacks) else set()
        papers |= {*_JOINT} if any(name.endswith("joint") for name in attacks) else set()
        papers |= {*_CHANCE} if risk.uncertainty and risk.uncertainty.approved.draws > 1 else set()
        papers |= {*_INDICES} if risk.uncertainty and risk.uncertainty.deciding else set()
        fact = risk.game.k_anonymity
        if fact is not None:
            papers |= {*_K_ANONYMITY, *_LOSS_BY_METRIC.get(fact.metric, ())}
            papers |= {one for model in PRIVACY_MODELS if model.term in fact.kinds for one in model.sources}
    methods = {fact.method for fact in record.masking}
    papers |= {_TORRA_SLIDES} if methods else set()
    papers |= {*_MICROAGGREGATION} if methods & {MaskingName.INDIVIDUAL_RANKING, MaskingName.MDAV} else set()
    papers |= {*_DECOYS} if record.decoys else set()
    papers |= {*_DETECTABILITY} if record.decoys and record.decoys.detectability else set()
    if record.utility is not None:
        papers |= {*_LOSS}
        papers |= {*_NUMERIC} if record.utility.numeric or record.utility.curves else set()
        papers |= (
            {*_ASSOCIATIONS} if any(one.measure.startswith("Cramér") for one in record.utility.associations) else set()
        )
        papers |= {*_CLUSTERING} if record.utility.clustering else set()
    return sorted(papers, key=str.casefold)
