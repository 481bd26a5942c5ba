"""The addresses: `GET /` for people, `POST /predict` for programs, `GET /health`."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp

from cst.engine.adapted import Adapted
from cst.kinds.contract import Limits, TooLargeError
from cst.serve.body import RefusedError, content_of
from cst.serve.guard import LOCAL, Guard, refused
from cst.serve.page import page, policy
from cst.serve.predictor import Predictor

SENTENCES = {
    404: "There is nothing here: ask GET /, GET /health or POST /predict.",
    405: "Ask POST /predict, or GET /.",
}


def application(adapted: Adapted, limits: Limits | None = None, names: tuple[str, ...] = LOCAL) -> ASGIApp:
    """What answers for a model, to be run by any ASGI server.

    Args:
        adapted: the model.
        limits: the most that a request may ask for.
        names: what the server goes by, in the address of the page; nothing for any name.
    """
    predictor = Predictor(adapted, limits or Limits())
    app = FastAPI(title="cst serve", docs_url=None, redoc_url=None, openapi_url=None)  # whose pages load from elsewhere
    content = page(predictor)

    @app.get("/")
    async def start() -> HTMLResponse:
        return HTMLResponse(content, headers={"Content-Security-Policy": policy()})

    @app.get("/health")
    async def health() -> dict[str, Any]:
        return predictor.about()

    @app.post("/predict")
    async def predict(request: Request) -> JSONResponse:
        values, names = await content_of(request, adapted.kind.asks_for, predictor.limits)
        try:
            return JSONResponse(await run_in_threadpool(predictor.answer, values, names))
        except TooLargeError as error:
            raise RefusedError(413, str(error)) from None
        except ValueError as error:
            sentence = " ".join(str(error).split())
            raise RefusedError(422, f"{sentence[:1].upper()}{sentence[1:]}") from None

    @app.exception_handler(RefusedError)
    async def say_why(request: Request, error: RefusedError) -> JSONResponse:
        return refused(error.status, error.sentence)

    @app.exception_handler(HTTPException)
    async def say_where(request: Request, error: HTTPException) -> JSONResponse:
        return refused(error.status_code, SENTENCES.get(error.status_code, "The request cannot be understood."))

    @app.exception_handler(ClientDisconnect)
    async def nobody_listens(request: Request, error: ClientDisconnect) -> JSONResponse:
        return refused(400, "The request ended before its end.")

    @app.exception_handler(Exception)
    async def our_mistake(request: Request, error: Exception) -> JSONResponse:
        return refused(500, "The server failed on this request; its log says why.")

    return Guard(app, names)
