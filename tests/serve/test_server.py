"""A served model, asked by a real client over a real socket."""

import io
import json
import shutil
import signal
import socket
import struct
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from served import CLASSES, SHORT, serving

import cst as package

pytest_plugins = ["served"]


@pytest.fixture(scope="module")
def images(image_run):
    with serving(package.load(image_run / "run")) as address:
        yield httpx.Client(base_url=address, timeout=60)


@pytest.fixture(scope="module")
def texts(text_run):
    with serving(package.load(text_run / "run")) as address:
        yield httpx.Client(base_url=address, timeout=60)


@pytest.fixture(scope="module")
def rows(table_run):
    with serving(package.load(table_run / "run")) as address:
        yield httpx.Client(base_url=address, timeout=60)


def check(answer, expected, classes):
    """The same labels and probabilities as the model in memory."""
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["classes"] == list(classes)
    probs = np.array([one["probabilities"] for one in body["predictions"]])
    np.testing.assert_allclose(probs, expected, atol=1e-6)
    assert [one["prediction"] for one in body["predictions"]] == [classes[i] for i in expected.argmax(1)]
    assert [one["probability"] for one in body["predictions"]] == pytest.approx(expected.max(1).tolist(), abs=1e-6)
    return body


def refused(answer, status):
    """One sentence, and nothing of the server's inside."""
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    sentence = answer.json()["error"]
    assert sentence.endswith(".")
    assert sentence[0].isupper()
    assert "\n" not in sentence
    assert not any(word in answer.text for word in ("Traceback", "cst/", "/tmp", "site-packages", "File "))
    return sentence


def test_pictures_as_a_form_or_as_the_body(images, image_run):
    files = sorted((image_run / "scans").iterdir())[:4]
    adapted = package.load(image_run / "run")
    expected = adapted.predict_proba(files)
    form = [("files", (file.name, file.read_bytes(), "image/png")) for file in files]
    body = check(images.post("/predict", files=form), expected, adapted.classes)
    assert [one["name"] for one in body["predictions"]] == [file.name for file in files]
    for type in ("image/png", "application/octet-stream"):
        answer = images.post("/predict", content=files[0].read_bytes(), headers={"Content-Type": type})
        check(answer, expected[:1], adapted.classes)


def test_texts(texts, text_run):
    adapted = package.load(text_run / "run")
    words = ["The pan is great", "/etc/passwd", "dull <script>alert(1)</script>"]
    expected = adapted.predict_proba(words)
    check(texts.post("/predict", json={"texts": words}), expected, adapted.classes)
    plain = texts.post("/predict", content=words[0].encode(), headers={"Content-Type": "text/plain; charset=utf-8"})
    check(plain, expected[:1], adapted.classes)


def test_rows_of_a_table_go_by_name(rows, table_run):
    adapted = package.load(table_run / "run")
    table = [{"colour": "red", "length": 3.5, "other": [1]}, {"length": "0.25", "colour": "blue"}]
    expected = adapted.predict_proba(pd.DataFrame({"length": [3.5, 0.25], "colour": ["red", "blue"]}))
    body = check(rows.post("/predict", json={"rows": table}), expected, CLASSES)
    assert body["notes"] == []
    gaps = rows.post("/predict", json={"rows": [{"length": None, "colour": "green"}]}).json()
    assert "no value in 1 of 1 rows" in gaps["notes"][0]
    assert "'green'" in gaps["notes"][1]


def test_rows_of_numbers_and_of_bytes():
    random = np.random.default_rng(0)
    labels = np.arange(40) % 2
    for inputs in (random.normal(size=(40, 3)), random.integers(256, size=(40, 1, 8, 8), dtype=np.uint8)):
        adapted = package.adapt((inputs, labels), inputs, **SHORT)
        with serving(adapted) as address:
            answer = httpx.post(f"{address}/predict", json={"rows": inputs[:3].tolist()})
            check(answer, adapted.predict_proba(inputs[:3]), (0, 1))
            assert "shape" in refused(httpx.post(f"{address}/predict", json={"rows": [[1.0]]}), 422)
            refused(httpx.post(f"{address}/predict", json={"rows": [["a"]]}), 422)
            refused(httpx.post(f"{address}/predict", content=b'{"rows": [[1e999, 1, 1]]}', headers=JSON), 422)


def test_health_says_what_the_model_takes(images, rows):
    about = images.get("/health").json()
    assert (about["status"], about["takes"], about["classes"]) == ("ok", "files", ["bar", "disc"])
    assert about["limits"]["pixels"] == 1_000_000
    assert [column["name"] for column in rows.get("/health").json()["columns"]] == ["length", "colour"]


def png(width, height):
    """A picture of one colour whose file is much smaller than its pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    lines = zlib.compressobj(9)
    line = bytes(1 + (width + 7) // 8)
    data = b"".join(lines.compress(line * 100) for _ in range(min(height, 5000) // 100)) + lines.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


JSON, PNG = {"Content-Type": "application/json"}, {"Content-Type": "image/png"}


def test_a_picture_bomb_is_refused(images):
    for side, words in ((5000, "5,000 x 5,000 pixels"), (60_000, "far more pixels")):
        bomb = png(side, side)
        assert len(bomb) < 50_000
        assert words in refused(images.post("/predict", content=bomb, headers=PNG), 413)


def test_requests_have_bounds(images, texts, image_run):
    assert "300,000 bytes" in refused(images.post("/predict", content=bytes(300_001), headers=PNG), 413)

    def endless():
        for _ in range(100):
            yield bytes(10_000)

    refused(images.post("/predict", content=endless(), headers=PNG), 413)  # nothing said how long it would be
    picture = next((image_run / "scans").iterdir()).read_bytes()
    many = [("files", ("a.png", picture, "image/png"))] * 6
    assert "5" in refused(images.post("/predict", files=many), 413)
    assert "6 texts, but 5 are the most" in refused(texts.post("/predict", json={"texts": ["a"] * 6}), 413)
    assert "Text 2 has more than 2,000 characters" in refused(
        texts.post("/predict", json={"texts": ["a", "b" * 2001]}), 413
    )


BAD = [
    (b"", PNG, 422),
    (b"no picture", PNG, 422),
    (b"%!PS-Adobe-3.0 EPSF-3.0\n", PNG, 422),
    (b"\x89PNG\r\n\x1a\n" + bytes(40), PNG, 422),
    (b"a=1", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
    (b'{"files": ["/etc/passwd"]}', JSON, 415),
    (b"--x\r\nno form", {"Content-Type": "multipart/form-data; boundary=x"}, 400),
    (b"", {"Content-Type": "multipart/form-data"}, 400),
    (
        b'--x\r\nContent-Disposition: form-data; name="files"\r\n\r\n/etc/passwd\r\n--x--\r\n',
        {"Content-Type": "multipart/form-data; boundary=x"},
        422,
    ),
]


@pytest.mark.parametrize(("body", "headers", "status"), BAD, ids=range(len(BAD)))
def test_bad_pictures_get_one_sentence(body, headers, status, images):
    refused(images.post("/predict", content=body, headers=headers), status)


def test_a_picture_that_was_cut_short_is_refused_by_its_name(images, image_run):
    picture = next((image_run / "scans").iterdir()).read_bytes()
    whole, cut = (("files", (name, picture[:end], "image/png")) for name, end in (("a.png", None), ("b.png", 120)))
    assert refused(images.post("/predict", files=[whole, cut]), 422).startswith("B.png cannot be read")


BAD_JSON = [
    (b"", 400),
    (b"{", 400),
    (b"[" * 100_000, 400),
    (b'{"rows": [{"length": ' + b"1" * 5000 + b"}]}", 400),
    (b"\xff\xfe\x00", 400),
    (b'"rows"', 422),
    (b'{"texts": ["a"]}', 422),
    (b'{"rows": {}}', 422),
    (b'{"rows": []}', 422),
    (b'{"rows": [1]}', 422),
    (b'{"rows": [{"length": 1}]}', 422),
    (b'{"rows": [{"length": "long", "colour": "red"}]}', 422),
    (b'{"rows": [{"length": "3,5", "colour": "red"}]}', 422),
    (b'{"rows": [{"length": 1e300, "colour": "red"}]}', 422),
    (b'{"rows": [{"length": {"a": 1}, "colour": "red"}]}', 422),
]


@pytest.mark.parametrize(("body", "status"), BAD_JSON, ids=range(len(BAD_JSON)))
def test_bad_rows_get_one_sentence(body, status, rows):
    refused(rows.post("/predict", content=body, headers=JSON), status)


def test_bad_texts_get_one_sentence(texts):
    for words in ([1], [""], [None], [["a"]], "a"):
        refused(texts.post("/predict", json={"texts": words}), 422)
    refused(texts.post("/predict", content=b"\xff", headers={"Content-Type": "text/plain"}), 400)
    assert texts.post("/predict", content=b'{"texts": ["\\ud800 half"]}', headers=JSON).status_code == 200


def test_no_file_of_the_server_can_be_read(images):
    for path in ("/etc/passwd", "/..%2f..%2fetc/passwd", "/page.js", "/model.json", "/docs", "/openapi.json"):
        refused(images.get(path), 404)
    refused(images.get("/predict"), 405)
    refused(images.put("/", content=b"x"), 405)


def test_other_sites_may_not_ask(images):
    refused(images.post("/predict", content=b"x", headers={"Origin": "https://example.org"}), 403)
    refused(images.get("/health", headers={"Host": "example.org"}), 403)
    assert images.get("/health", headers={"Host": "localhost:8000"}).status_code == 200
    refused(images.get("/health", headers={"Host": "["}), 400)
    refused(images.post("/predict", content=b"x", headers={"Origin": "null"}), 403)
    assert "access-control-allow-origin" not in images.get("/health").headers


def test_a_proxy_may_pass_requests_on(table_run):
    row = {"rows": [{"length": 1, "colour": "red"}]}
    with serving(package.load(table_run / "run"), names=("species.example",)) as address:
        headers = {"Host": "species.example", "Origin": "https://species.example"}
        assert httpx.post(f"{address}/predict", json=row, headers=headers).status_code == 200
        refused(httpx.post(f"{address}/predict", json=row), 403)


def test_bad_requests_do_not_hurt_others(rows, table_run):
    adapted = package.load(table_run / "run")
    expected = adapted.predict_proba(pd.DataFrame({"length": [1.0], "colour": ["red"]}))

    def ask(number):
        if number % 2:
            return rows.post("/predict", content=BAD_JSON[number % len(BAD_JSON)][0], headers=JSON)
        return rows.post("/predict", json={"rows": [{"length": 1.0, "colour": "red"}]})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(24)))
    for answer in answers[::2]:
        check(answer, expected, CLASSES)
    assert {answer.status_code for answer in answers[1::2]} <= {400, 422}


def test_who_does_not_end_a_request_is_not_waited_for(table_run, monkeypatch):
    monkeypatch.setattr("cst.serve.body.PATIENCE", 0.5)
    with serving(package.load(table_run / "run")) as address:
        port = int(address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as slow:
            head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
            slow.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
            answer = httpx.post(f"{address}/predict", json={"rows": [{"length": 1, "colour": "red"}]})
            assert answer.status_code == 200
            said = ""
            while "seconds" not in said and (part := slow.recv(4096)):
                said += part.decode()
    assert said.startswith("HTTP/1.1 408")
    assert "did not end within 0.5 seconds" in said


def test_too_many_at_once_are_sent_away(table_run, monkeypatch):
    monkeypatch.setattr("cst.serve.guard.MOST_AT_ONCE", 0)
    with serving(package.load(table_run / "run")) as address:
        assert "too many requests" in refused(httpx.get(f"{address}/health"), 503)


def test_a_mistake_of_the_server_stays_inside(table_run, monkeypatch):
    adapted = package.load(table_run / "run")

    def fail(inputs):
        raise RuntimeError("/tmp/secret")

    with serving(adapted) as address:
        monkeypatch.setattr(adapted, "of_inputs", fail)
        row = {"rows": [{"length": 1, "colour": "red"}]}
        assert "its log says why" in refused(httpx.post(f"{address}/predict", json=row), 500)
        monkeypatch.undo()
        assert httpx.post(f"{address}/predict", json=row).status_code == 200


def test_the_model_is_the_one_that_was_loaded(table_run, tmp_path):
    run = shutil.copytree(table_run / "run", tmp_path / "run")
    row = {"rows": [{"length": 1, "colour": "red"}]}
    with serving(package.load(run)) as address:
        before = httpx.post(f"{address}/predict", json=row).json()
        (run / "model.safetensors").write_bytes(b"another")
        (run / "model.json").unlink()
        assert httpx.post(f"{address}/predict", json=row).json() == before


def test_the_command_serves_until_it_is_stopped(image_run):
    words = [sys.executable, "-m", "cst", "serve", str(image_run / "run"), "--port", "0", "--max-megapixels", "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        try:
            address = line.partition(" at ")[2].split()[0]
            assert address.startswith("http://127.0.0.1:")
            for _ in range(200):
                try:
                    answer = httpx.get(f"{address}/health")
                    break
                except httpx.ConnectError:
                    continue
            assert answer.json()["limits"]["pixels"] == 1_000_000
            picture = io.BytesIO()
            Image.new("RGB", (1001, 1000)).save(picture, "png")
            refused(httpx.post(f"{address}/predict", content=picture.getvalue(), headers=PNG), 413)
        finally:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out == "Stopped.\n"
    assert err == ""


def test_mistakes_of_the_command_get_one_line(image_run, mistake, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = mistake("serve", image_run / "run", "--port", port)
        assert f"--port {port} of 127.0.0.1 cannot be had (Address already in use)" in sentence
    assert "--port must be from 0 to 65535" in mistake("serve", image_run / "run", "--port", 70000)
    assert "--max-count must be at least 1" in mistake("serve", image_run / "run", "--max-count", 0)
    assert "holds no adapted model" in mistake("serve", image_run / "scans")
    monkeypatch.setattr("cst.cli.serve.find_spec", lambda name: None)
    assert "needs the package fastapi: pip install fastapi" in mistake("serve", image_run / "run")


def test_json_holds_no_numbers_that_json_does_not_have(rows):
    answer = rows.post("/predict", content=b'{"rows": [{"length": NaN, "colour": "red"}]}', headers=JSON)
    assert answer.status_code == 200
    json.loads(answer.text, parse_constant=lambda word: pytest.fail(word))
