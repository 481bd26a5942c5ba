# Two tables of reviews: books.csv with stars, pans.csv without.
cst inspect books.csv pans.csv --text review --label stars
cst train --source books.csv --target pans.csv --text review --label stars --epochs 1 --out runs/pans
cst predict runs/pans --input pans.csv --out predictions.csv
