"""What a request holds: pictures, texts or rows, within limits, or a refusal in one sentence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from cst.kinds.contract import FILES, ROWS, TEXTS, Limits

PATIENCE = 30.0
"""Seconds within which a request must have said all it has to say."""
LONGEST_NAME = 200

Content = tuple[list[Any], list[str]]
"""Values and what to call each."""


class RefusedError(Exception):
    """A request that gets no answer but this sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


async def content_of(request: Request, asks_for: str, limits: Limits) -> Content:
    """The samples in a request; ``asks_for`` says what the model takes."""
    type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await _body(request, limits.body)
    values, names = await READERS[asks_for](request, type, body, limits)
    if not values:
        raise RefusedError(422, f"The request holds no {asks_for}: give at least one.")
    if len(values) > limits.count:
        raise RefusedError(
            413, f"The request holds {len(values):,} {asks_for}, but {limits.count:,} are the most: split it."
        )
    return values, names


async def _body(request: Request, most: int) -> bytes:
    too_large = RefusedError(413, f"The request is larger than {most:,} bytes: send less at a time.")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise too_large
    except TimeoutError:
        raise RefusedError(408, f"The request did not end within {PATIENCE:g} seconds.") from None
    return bytes(body)


async def _files(request: Request, type: str, body: bytes, limits: Limits) -> Content:
    if type.startswith("image/") or type == "application/octet-stream":
        return ([body] if body else []), ["Picture 1"]
    if type != "multipart/form-data":
        raise RefusedError(
            415, "Send pictures as a form (multipart/form-data), or one as the body with its type, image/png."
        )

    async def chunks() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(
        request.headers, chunks(), max_files=limits.count, max_fields=limits.count, max_part_size=limits.body
    )
    try:
        form = await parser.parse()
    except MultiPartException as error:
        too_many = "Too many" in error.message
        sentence = f"more than {limits.count:,} pictures at once" if too_many else "a form that cannot be read"
        raise RefusedError(413 if too_many else 400, f"The request holds {sentence}.") from None
    except (KeyError, ValueError, AssertionError):
        raise RefusedError(400, "The request holds a form that cannot be read.") from None
    try:
        files = [part for _, part in form.multi_items() if isinstance(part, UploadFile)]
        values = [await file.read() for file in files]
        names = [(file.filename or f"Picture {n}")[:LONGEST_NAME] for n, file in enumerate(files, 1)]
    finally:
        await form.close()
    return values, names


async def _texts(request: Request, type: str, body: bytes, limits: Limits) -> Content:
    if type == "text/plain":
        try:
            return [body.decode("utf-8")], ["0"]
        except UnicodeDecodeError:
            raise RefusedError(400, "The text is not UTF-8.") from None
    return _listed(type, body, TEXTS, '{"texts": ["...", "..."]}')


async def _rows(request: Request, type: str, body: bytes, limits: Limits) -> Content:
    return _listed(type, body, ROWS, '{"rows": [{"column": 1.5, ...}]}')


def _listed(type: str, body: bytes, key: str, example: str) -> Content:
    """The list under a key of a JSON object."""
    if type != "application/json":
        raise RefusedError(415, f"Send JSON (application/json), such as {example}.")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedError(400, f"The body is not JSON: send an object such as {example}.") from None
    values = value.get(key) if isinstance(value, dict) else None
    if not isinstance(values, list):
        raise RefusedError(422, f"The request has no list '{key}': send an object such as {example}.")
    return values, [str(place) for place in range(len(values))]


READERS: dict[str, Callable[[Request, str, bytes, Limits], Awaitable[Content]]] = {
    FILES: _files,
    TEXTS: _texts,
    ROWS: _rows,
}
