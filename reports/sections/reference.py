"""Qualification, definitions, and the papers behind the figures of a record: only those whose method was used on it."""

from collections.abc import Iterator

from reports.model.document import Block, Bullets, Facts, Heading, text
from reports.model.record_view import RecordView
from tasks.assessments.utility.associations import CORRELATION_RATIO, CRAMERS_V
from tasks.generalization.constraints.registry import PRIVACY_MODELS
from tasks.request.model import MaskingName

_ALWAYS = (
    "45 CFR 164.514. Other requirements relating to uses and disclosures of protected health information.",
    "Article 29 Data Protection Working Party (2014). Opinion 05/2014 on Anonymisation Techniques. WP216.",
    "Centers for Medicare & Medicaid Services. CMS Cell Size Suppression Policy.",
    "Dankar FK, El Emam K (2010). A method for evaluating marketer re-identification risk. EDBT/ICDT Workshops 2010.",
    "Desai T, Ritchie F, Welpton R (2016). Five Safes: designing data access for research. UWE, Working Paper 1601.",
    "El Emam K, Dankar FK (2008). Protecting privacy using k-anonymity. JAMIA 15(5), 627–637.",
    "European Medicines Agency (2014). Policy 0070 on publication of clinical data for medicinal products for human "
    "use; external guidance on its implementation (2016).",
    "Health Canada (2019). Public Release of Clinical Information: guidance document.",
    "HHS Office for Civil Rights (2012). Guidance Regarding Methods for De-identification of Protected Health "
    "Information in Accordance with the HIPAA Privacy Rule.",
    "Torra V (2017). Data Privacy: Foundations, New Developments and the Big Data Challenge. Springer.",
    "Wan Z, Vorobeychik Y, Xia W, Clayton EW, Kantarcioglu M, Ganta R, Heatherly R, Malin BA (2015). A Game Theoretic "
    "Framework for Analyzing Re-Identification Risk. PLoS ONE 10(3), e0120592.",
)
_BAYARDO = "Bayardo RJ, Agrawal R (2005). Data privacy through optimal k-anonymization. ICDE 2005."
_IYENGAR = "Iyengar VS (2002). Transforming data to satisfy privacy constraints. KDD 2002."
_GIONIS = "Gionis A, Tassa T (2007). k-Anonymization with minimal loss of information. ESA 2007."
_TORRA = "Torra V (2016). On machine learning for data privacy. Lecture, Linköping, 7 December 2016."
_BY_METHOD: dict[str, tuple[str, ...]] = {
    "sequential": (
        "Xia W, Heatherly R, Kantarcioglu M, Vorobeychik Y, Wan Z, Malin B (2015). Process-Driven Data Privacy. CIKM "
        "2015. doi:10.1145/2806416.2806580.",
    ),
    "combined": ("Orooji M, Knapp GM (2019). A Novel Microdata Privacy Disclosure Risk Measure. arXiv:1901.07311.",),
    "linkage": (
        _TORRA,
        "Wilson EB (1927). Probable inference, the law of succession, and statistical inference. JASA 22, 209–212.",
    ),
    "singling_out": (
        "Chen G, Keller-McNulty S (1998). Estimation of identification disclosure risk in microdata. Journal of "
        "Official Statistics 14(1), 79–95.",
        "Dankar FK, El Emam K, Neisa A, Roffey T (2012). Estimating the re-identification risk of clinical data sets. "
        "BMC Medical Informatics and Decision Making 12, 66.",
        "Elliot M, Manning A (2003). Using DIS to modify the classification of special uniques. UNECE/Eurostat work "
        "session on statistical data confidentiality, Luxembourg.",
        "Elliot M, Manning A, Mayes K, Gurd J, Bane M (2005). SUDA: a program for detecting special uniques. "
        "UNECE/Eurostat work session on statistical data confidentiality, Geneva.",
        "Hoshino N (2001). Applying Pitman's sampling formula to microdata disclosure risk assessment. Journal of "
        "Official Statistics 17(4), 499–520.",
        "Manning AM, Haglin DJ, Keane JA (2008). A recursive search algorithm for statistical disclosure assessment. "
        "Data Mining and Knowledge Discovery 16(2), 165–196.",
        "Skinner CJ, Elliot MJ (2002). A measure of disclosure risk for microdata. Journal of the Royal Statistical "
        "Society B 64(4), 855–867.",
        "Zayatz L (1991). Estimation of the percent of unique population elements on a microdata file using the "
        "sample. US Bureau of the Census, Statistical Research Division Report 91/08.",
    ),
    "sample": (
        "Benedetti R, Franconi L (1998). Statistical and technological solutions for controlled data dissemination. "
        "Pre-proceedings of New Techniques and Technologies for Statistics, Sorrento, 225–232.",
        "Dankar FK, El Emam K, Neisa A, Roffey T (2012). Estimating the re-identification risk of clinical data sets. "
        "BMC Medical Informatics and Decision Making 12, 66.",
        "Franconi L, Polettini S (2004). Individual risk estimation in µ-Argus: a review. Privacy in Statistical "
        "Databases 2004, 262–272.",
        "Uhlmann W (1966). Vergleich der hypergeometrischen mit der Binomial-Verteilung. Metrika 10, 145–158.",
    ),
    "attribute": (
        "Li J, Tao Y, Xiao X (2008). Preservation of proximity privacy in publishing numerical sensitive data. SIGMOD "
        "2008, 473–486.",
        "Machanavajjhala A, Kifer D, Gehrke J, Venkitasubramaniam M (2007). l-Diversity: privacy beyond k-anonymity. "
        "ACM Transactions on Knowledge Discovery from Data 1(1), 3.",
    ),
    "probabilistic": ("Fellegi IP, Sunter AB (1969). A theory for record linkage. JASA 64, 1183–1210.",),
    "joint": (
        "Sinkhorn R (1967). Diagonal equivalence to matrices with prescribed row and column sums. American "
        "Mathematical Monthly 74, 402–405.",
    ),
    "chance": (
        "Clopper CJ, Pearson ES (1934). The use of confidence or fiducial limits illustrated in the case of the "
        "binomial. Biometrika 26(4), 404–413.",
    ),
    "indices": (
        "Saltelli A, Annoni P, Azzini I, Campolongo F, Ratto M, Tarantola S (2010). Variance based sensitivity "
        "analysis of model output. Computer Physics Communications 181, 259–270.",
        "Sobol' IM (2001). Global sensitivity indices for nonlinear mathematical models and their Monte Carlo "
        "estimates. Mathematics and Computers in Simulation 55, 271–280.",
    ),
    "k-anonymity": (
        "El Emam K, Dankar FK, Issa R, et al. (2009). A globally optimal k-anonymity method for the de-identification "
        "of health data. JAMIA 16(5), 670–682.",
        "Kohlmayer F, Prasser F, Eckert C, Kemper A, Kuhn KA (2012). Flash: efficient, stable and optimal "
        "k-anonymity. PASSAT 2012.",
        "Sweeney L (2002). Achieving k-anonymity privacy protection using generalization and suppression. "
        "International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 571–588.",
    ),
    "discernibility": (_BAYARDO,),
    "loss": (_IYENGAR,),
    "non-uniform entropy": (_GIONIS,),
    "masking": (_TORRA,),
    "microaggregation": (
        "Domingo-Ferrer J, Mateo-Sanz JM (2002). Practical data-oriented microaggregation for statistical disclosure "
        "control. IEEE TKDE 14(1), 189–201.",
    ),
    "decoys": (
        "Antonatos S, Braghin S, Holohan N, MacAonghusa P (2019). AnonTokens: tracing re-identification attacks "
        "through decoy records. arXiv:1906.09829.",
    ),
    "detectability": (
        "DeLong ER, DeLong DM, Clarke-Pearson DL (1988). Comparing the areas under two or more correlated receiver "
        "operating characteristic curves: a nonparametric approach. Biometrics 44(3), 837–845.",
        "Lopez-Paz D, Oquab M (2017). Revisiting classifier two-sample tests. ICLR 2017.",
    ),
    "utility": (
        _BAYARDO,
        "Ghinita G, Karras P, Kalnis P, Mamoulis N (2007). Fast data anonymization with low information loss. VLDB "
        "2007.",
        _GIONIS,
        _IYENGAR,
        "LeFevre K, DeWitt DJ, Ramakrishnan R (2006). Mondrian multidimensional k-anonymity. ICDE 2006.",
        "Prasser F, Kohlmayer F, Lautenschläger R, Kuhn KA (2014). ARX: a comprehensive tool for anonymizing "
        "biomedical data. AMIA Annual Symposium Proceedings 2014.",
    ),
    "numbers": (
        "Mateo-Sanz JM, Sebé F, Domingo-Ferrer J (2004). Outlier protection in continuous microdata masking. Privacy "
        "in Statistical Databases 2004.",
    ),
    "associations": (
        "Bergsma W (2013). A bias-correction for Cramér's V and Tschuprow's T. Journal of the Korean Statistical "
        "Society 42(3), 323–328.",
    ),
    "correlation ratios": (
        "Kelley TL (1935). An unbiased correlation ratio measure. Proceedings of the National Academy of Sciences "
        "21(9), 554–559.",
    ),
    "clustering": (
        "Lloyd SP (1982). Least squares quantization in PCM (k-means). IEEE Transactions on Information Theory 28(2), "
        "129–137.",
        "Rand WM (1971). Objective criteria for the evaluation of clustering methods. JASA 66, 846–850.",
    ),
}
_DEFINITIONS = (
    ("", "Direct identifier", "A column that names a person by itself; never released."),
    (
        "",
        "Quasi-identifier",
        "A column that does not name a person by itself but may in combination with others, because the values are "
        "known elsewhere.",
    ),
    (
        "",
        "Class",
        "The records of a file with the same values of all quasi-identifiers (equivalence class). A cell is the same "
        "for groups of values, whether or not the file holds such a record.",
    ),
    (
        "",
        "Generalization hierarchy, level, strategy",
        "A tree that joins the values of an attribute into ever larger groups; its levels; one level for each "
        "quasi-identifier.",
    ),
    (
        "",
        "n_p, n_T",
        "The people of the population who match a released cell; those among them whose own released cell it is (the "
        "effective group).",
    ),
    (
        "",
        "Transparent risk",
        "The risk from a recipient who knows the rule, 1/n_T, in contrast to the naive claim 1/n_p.",
    ),
    ("", "Worth attacking", "Said of a record whose expected gain to the recipient exceeds the cost of an attempt."),
    ("sequential", "Candidates, group size", "The people in the external data whose record it may be; their number."),
    ("sequential", "Exploit", "One attempt on one candidate, such as contacting that person as the record's."),
    (
        "sequential",
        "Sequential adversary",
        "A recipient who makes repeated attempts and goes on or stops at each step as gains most.",
    ),
    ("combined", "Known set", "A set of attributes whose values somebody knows of a person."),
    (
        "combined",
        "Combined score",
        "The chance of finding a record by each known set, times the sensitivity of the rest.",
    ),
    (
        "decoys",
        "Decoy, decoy class",
        "An invented record whose groups match people of the population; a class of such records, "
        "which no other recipient's copy holds.",
    ),
    (
        "kept classes",
        "Kept class, standing alone",
        "A class of real records that only one recipient's copy holds; said of a class without one of the same origin "
        "in the copies that it is compared with.",
    ),
    (
        "linkage",
        "Linked, certain match",
        "Said of a person whose own record an attack names, in parts where several are equally near; of one for whom "
        "a single candidate is left, the right one.",
    ),
    (
        "singling_out",
        "Minimal sample unique (MSU)",
        "A set of columns by which a record is alone in the file, and is not by any smaller part of the set.",
    ),
    ("numbers", "IL1s", "Mean absolute change of a value over √2 standard deviations of the original."),
    (
        "",
        "Information kept",
        "One less the information loss, relative to the loss when every quasi-identifier is removed.",
    ),
    ("", "Suppression", "Leaving a record out of the released file."),
)
"""Method that a term belongs to, term and meaning; terms of no method are always defined."""


def reference(view: RecordView) -> Iterator[Block]:
    """The section."""
    expert = view.record.expert
    yield Heading("Qualification of the expert")
    yield (
        f"{f'As stated in the request: {expert}.' if expert else 'The request names no expert.'} The Privacy Rule "
        "requires appropriate knowledge of and experience with generally accepted statistical and scientific methods "
        "for rendering information not individually identifiable; no degree or certificate is prescribed (HHS 2012). "
        "The organisation keeps the evidence of the signing expert's qualification."
    )
    used = {"", *_used(view)}
    yield Heading("Definitions")
    yield Facts([(text(term), text(meaning)) for method, term, meaning in _DEFINITIONS if method in used])
    yield Heading("References")
    yield Bullets(cited(view), "references")


def cited(view: RecordView) -> list[str]:
    """The papers of the record in the order of their authors."""
    fact = view.record.risk.game.k_anonymity if view.record.risk else None
    models = [model for model in PRIVACY_MODELS if fact and model.term in fact.kinds]
    papers = {*_ALWAYS, *(one for model in models for one in model.sources)}
    papers |= {paper for method in _used(view) for paper in _BY_METHOD.get(method, ())}
    return sorted(papers, key=str.casefold)


def _used(view: RecordView) -> set[str]:
    """Methods that were used on a record; ids of attacks by likelihood end in ``probabilistic``, of all ``joint``."""
    record, risk, decoys, utility = view.record, view.record.risk, view.record.decoys, view.record.utility
    chances, fact = (risk.uncertainty, risk.game.k_anonymity) if risk else (None, None)
    attacks = [attack.id for attack in view.linkage.attacks] if view.linkage else []
    methods = {one.method for one in record.masking}
    found: dict[str, object] = {
        "sequential": view.sequential,
        "combined": view.combined,
        "linkage": view.linkage,
        "singling_out": view.singling_out,
        "attribute": view.attribute and view.attribute.columns,
        "probabilistic": any(name.endswith("probabilistic") for name in attacks),
        "joint": any(name.endswith("joint") for name in attacks),
        "sample": risk and risk.sample,
        "chance": chances and chances.approved.draws > 1,
        "indices": chances and chances.deciding,
        "k-anonymity": fact,
        "masking": methods,
        "microaggregation": methods & {MaskingName.INDIVIDUAL_RANKING, MaskingName.MDAV},
        "decoys": decoys,
        "kept classes": decoys and decoys.kept_per_decoy,
        "detectability": decoys and decoys.detectability,
        "utility": utility,
        "numbers": utility and (utility.numeric or utility.curves),
        "associations": utility and any(one.measure == CRAMERS_V for one in utility.associations),
        "correlation ratios": utility and any(one.measure == CORRELATION_RATIO for one in utility.associations),
        "clustering": utility and utility.clustering,
    }
    return {name for name, value in found.items() if value} | ({fact.metric} if fact else set())
