"""How much a model can read, where that is known by its name.

deepagents summarises a conversation at 85 % of `max_input_tokens`. A name that is not in the table
gets the size most models have today; `DATAAGENT_MODEL` may name any other. Pure data.
"""

from __future__ import annotations

from typing import Final

from langchain_core.language_models.model_profile import ModelProfile

DEFAULT_INPUT_TOKENS: Final = 128_000

_INPUT_TOKENS: Final = (
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("gpt-5", 272_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("deepseek", 128_000),
    ("qwen3-coder", 262_144),
    ("qwen", 131_072),
    ("glm-4", 128_000),
    ("kimi", 262_144),
)
"""First match by start of the name wins, so the longer names stand first."""


def profile_of(model_name: str, *, is_openai: bool) -> ModelProfile:
    """What we know about a model. A vendor before a slash in the name does not count."""
    name = model_name.rpartition("/")[2].lower()
    known = (tokens for start, tokens in _INPUT_TOKENS if name.startswith(start))
    return {
        "max_input_tokens": next(known, DEFAULT_INPUT_TOKENS),
        "tool_calling": True,
        "image_tool_message": False,
        "pdf_tool_message": False,
        "structured_output": is_openai,
    }
