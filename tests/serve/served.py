"""Small runs of each kind, and a real server for them."""

import socket
import threading
from contextlib import contextmanager

import numpy as np
import pytest
import uvicorn

import cst
from conftest import draw
from cst.kinds.contract import Limits
from cst.serve.app import application
from cst.serve.guard import LOCAL

SHORT = {"epochs": 1, "steps_per_epoch": 2, "batch_size": 4}
LIMITS = Limits(body=300_000, count=5, pixels=1_000_000, characters=2_000)
CLASSES = ("<b>bold</b>", "plain")


@contextmanager
def serving(adapted, limits=LIMITS, names=LOCAL):
    """The address of a server in a thread."""
    place = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application(adapted, limits, names), log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{place.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        place.close()


@pytest.fixture(scope="session")
def image_run(tmp_path_factory):
    place = tmp_path_factory.mktemp("served-images")
    random = np.random.default_rng(0)
    for number in range(8):
        for shape in ("bar", "disc"):
            draw(place / "photos" / shape / f"{number}.png", shape, "black", random)
            draw(place / "scans" / f"{shape}{number}.png", shape, "navy", random, (36, 44), "ivory")
    options = {"backbone": "cnn", "image_size": 16, "workers": 0}
    cst.adapt(place / "photos", place / "scans", out=place / "run", **options, **SHORT)
    return place


@pytest.fixture(scope="session")
def text_run(tmp_path_factory, tiny_bert):
    place = tmp_path_factory.mktemp("served-texts")
    texts = [f"The pan is {word}, really" for word in ("great", "awful", "fine", "dull") * 3]
    labels = ["good", "bad"] * 6
    cst.adapt((texts, labels), texts, backbone=f"hf:{tiny_bert}", out=place / "run", **SHORT)
    return place


@pytest.fixture(scope="session")
def table_run(tmp_path_factory):
    import pandas as pd

    place = tmp_path_factory.mktemp("served-tables")
    random = np.random.default_rng(0)
    labels = random.integers(2, size=60)
    columns = {"length": labels * 3 + random.normal(size=60), "colour": np.array(["red", "blue"])[labels]}
    frame = pd.DataFrame(columns)
    cst.adapt((frame, np.array(CLASSES)[labels]), frame, out=place / "run", **SHORT)
    return place
