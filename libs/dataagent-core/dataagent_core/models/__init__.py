"""Chat models by name.

Only the factory is imported here, so that a program loads only the model it uses.
"""

from dataagent_core.models.factory import close_model, create_model

__all__ = ["close_model", "create_model"]
