"""The chat models we ship, and what is done at a model's edge.

`scripted` and `offline` need no network, `openai_compatible` speaks to any OpenAI-compatible
endpoint, `merge` wraps every model. Nothing is imported here, so that a program pays only for
the model it uses. Above: `config/llm.py`, which picks one by name.
"""
