"""GET /glossaries: the glossaries that requests may name."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import JSONResponse

from service.api.dependencies import ServiceDep
from service.api.openapi import errors_of, example
from service.api.schemas.glossaries import GlossaryList

router = APIRouter(tags=["Translation"])


@router.get(
    "/glossaries",
    operation_id="list_glossaries",
    summary="Glossaries that requests may name",
    response_model=GlossaryList,
    responses={200: example([{"name": "legal", "source": "en", "target": "fr", "terms": 120}]), **errors_of(500)},
)
async def glossaries(service: ServiceDep) -> JSONResponse:
    """List the name, the language pair and the number of terms of each; the terms are not listed."""
    return JSONResponse([glossary._asdict() for glossary in service.glossaries.served()])
