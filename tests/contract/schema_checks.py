"""A check and hooks of our own for schemathesis, which loads this module because SCHEMATHESIS_HOOKS names it."""

from typing import Any

import schemathesis
from schemathesis.core import NotSet
from schemathesis.core.failures import Failure

# What no schema can say: which languages, pairs and models there are, how much an operator allows, which files are
# documents, and how fields depend on each other.
REASONS = frozenset(
    {
        *("unsupported_language", "unsupported_pair", "unsupported_format", "unknown_model"),
        *("character_limit", "batch_limit", "body_too_large", "empty_input", "input_too_long", "invalid_option"),
        *("key_required", "invalid_key", "invalid_token", "not_offered", "leg_required", "model_changed"),
        *("unsupported_document", "broken_document", "document_encoding", "document_too_large", "invalid_document"),
        *("too_many_weights", "different_tokens"),  # which depend on the words of the texts
        "invalid_glossary",  # which glossaries there are, and which terms are the same
    }
)
DEPENDENT = (
    "does not fit its",  # a tensor's shape and its data
    "as many elements",  # two tensors
    "one text at a time",
    "quality is that of the model's own translations",  # the output quality with target_text
    "quality and attention need a request each",
    "format bertviz holds one map",
    "format pharaoh holds one map",
    "view=contrast needs target_text",
    "compares attention weights",  # which stage=scores and kind=occlusion are not
    "kind=occlusion is none",  # goes with some formats
    "two maps side by side",
    "cell explains one weight",  # goes with one stage and format
    "view=steps",  # goes with one format, kind and tokens
    "a given translation has no search",  # view=steps again
    "source_ids belong to target_ids",
    "target_ids are tokens of one model",  # go with views of one map
    "glossary must be the name",  # in a form, an object or a list is JSON in a string
    "one model translates this pair",  # leg, which only pairs with two models have
    "source=auto is only supported by /translate",  # source=auto elsewhere than at /translate
    "Content-Type",
)


@schemathesis.hook
def map_body(ctx: schemathesis.HookContext, body: Any) -> Any:
    """Let three requests in four name languages that there are: random ones are all refused for the same reason."""
    if isinstance(body, dict) and {"source", "target"} <= body.keys() and len(repr(body)) % 4:
        return {**body, "source": "en", "target": "fr"}
    return body


@schemathesis.hook
def map_query(ctx: schemathesis.HookContext, query: Any) -> Any:
    return map_body(ctx, query)


@schemathesis.check
def refused_for_a_reason(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case[Any]
) -> None:
    """Check that a valid request by the schema is refused only for reasons that a schema cannot express."""
    assert case.meta is not None
    if not case.meta.generation.mode.is_positive or response.status_code not in (400, 413, 422):
        return
    body = response.json()
    if body["code"] in REASONS or any(words in body["error"] for words in DEPENDENT):
        return
    # Fields may stand in the query string or in the body, so that a schema requires them in neither.
    if body["code"] == "missing_parameter" and (isinstance(case.body, NotSet) or case.media_type != "application/json"):
        return
    raise Failure(
        operation=case.operation.label,
        title="The schema allows what the server refuses",
        message=f"{body['code']}: {body['error']}",
    )
