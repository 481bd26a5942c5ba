"""What the domains of the benchmarks are called: in a task's name, and by their publishers."""

DIGITS = {
    "mnist": "MNIST, 60,000 handwritten digits",
    "usps": "USPS, 7,291 digits from envelopes",
    "svhn": "SVHN, 73,257 house numbers",
}
OFFICE_31 = {"A": "amazon", "D": "dslr", "W": "webcam"}
OFFICE_HOME = {"Ar": "Art", "Cl": "Clipart", "Pr": "Product", "Rw": "Real World"}
OFFICE_CALTECH = {name: name for name in ("amazon", "caltech10", "dslr", "webcam")}
DOMAINNET = {"R": "real", "C": "clipart", "P": "painting", "S": "sketch"}
REVIEWS = {"B": "books", "D": "dvd", "E": "electronics", "K": "kitchen"}
SMALL_TABLES = {
    "breast-cancer-30-60": 2,
    "breast-cancer-15-60": 2,
    "breast-cancer-rescaled": 2,
    "wine-rescaled": 3,
    "iris-rescaled": 3,
    "digits-shares": 10,
}
"""Tables of scikit-learn's that are divided into domains, and how many classes each has."""
