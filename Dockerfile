# Two images, of which the first needs no GPU: docker build -t cst .
#                                              docker build --target cuda -t cst:cuda .
# docs/install.md says how to run them.
FROM python:3.11-slim AS wheel
WORKDIR /checkout
COPY . .
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /wheels

FROM python:3.11-slim AS base
COPY --from=wheel /wheels /wheels
# Whoever runs the image, caches need a place that can be written to.
ENV HOME=/tmp PYTHONUNBUFFERED=1
WORKDIR /data
ENTRYPOINT ["cst"]
CMD ["--help"]

# The PyTorch of PyPI brings CUDA's libraries; the host needs NVIDIA's driver and container toolkit only.
FROM base AS cuda
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[all]"
USER 1000

# With PIP_EXTRA_INDEX_URL, PyTorch's index of CPU builds, the constraint finds one; without it gigabytes of CUDA come.
FROM base AS cpu
ARG PIP_EXTRA_INDEX_URL
COPY constraints-cpu.txt /wheels/
RUN pip install --no-cache-dir -c /wheels/constraints-cpu.txt "$(echo /wheels/*.whl)[all]"
USER 1000
