# Two tables of numbers and categories, with pandas and scikit-learn: lab.csv with labels, field.csv without.
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score

import cst

lab, field = pd.read_csv("lab.csv"), pd.read_csv("field.csv")
labels = lab.pop("species")

adapted = cst.adapt((lab, labels), field, drop=["batch"], out="runs/field")
predicted = adapted.predict(field)
probabilities = pd.DataFrame(adapted.predict_proba(field), columns=adapted.classes)
print(probabilities.describe().loc[["mean", "max"]])

again = cst.load("runs/field")  # in another program, on another day
assert (again.predict(pd.read_csv("field.csv")) == predicted).all()

truth = pd.read_csv("truth.csv")["species"]  # some biologist knew
numbers = lab.columns.drop(["sample_id", "batch", "site"])
plain = LogisticRegression(max_iter=1000).fit(lab[numbers].fillna(lab[numbers].median()), labels)
print("logistic regression", accuracy_score(truth, plain.predict(field[numbers].fillna(lab[numbers].median()))))
print("adapted", accuracy_score(truth, predicted))
