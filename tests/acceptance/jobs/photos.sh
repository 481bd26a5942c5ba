# Two folders of photographs: photos/ in class folders, scans/ without labels.
cst inspect photos scans
cst train --source photos --target scans --out runs/scans
cst predict runs/scans --input scans --out predictions.csv
# Some scans have been sorted by hand since: how good was it?
cst evaluate runs/scans --target-labels sorted.csv --label-column kind
