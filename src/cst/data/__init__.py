"""Domains, tasks, and the views that training takes of them. `SAMPLERS` names the sampling rules."""

SAMPLERS = {
    "uniform": "cst.data.samplers:Uniform",
    "balanced": "cst.data.samplers:Balanced",
    "ia": "cst.data.samplers:Aligned",
}
