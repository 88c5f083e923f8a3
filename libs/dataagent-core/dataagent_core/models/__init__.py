"""Chat models by name, and what wraps each of them.

`scripted` needs no network, `openai_compatible` speaks to any OpenAI-compatible endpoint, `merge`
wraps every model. Nothing else is imported here, so that a program pays only for the model it uses.
"""

from dataagent_core.models.factory import close_model, create_model

__all__ = ["close_model", "create_model"]
