# A table of the paper's kind, shared by two machines that see one folder: each leaves to the other what it trains.
cst bench demo --methods source-only,cst --seeds 1 --out shared/demo > first.log 2>&1 &
cst bench demo --methods source-only,cst --seeds 1 --out shared/demo > second.log 2>&1
wait
# Whoever wants the table reads it from the folder.
cst table demo --methods source-only,cst --seeds 1 --out shared/demo --to table.csv
