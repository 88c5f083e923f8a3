"""`--max-budget`: how much a question may use, as tokens. Pure.

Tokens are written `20000t`. Money is turned into tokens at the dearer of the two prices, so that it
is never more than was said.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from dataagent_core.config.settings import Prices

_TOKENS = re.compile(r"([0-9][0-9_,]*)t")
_MONEY = re.compile(r"[$€£¥]?([0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
_MILLION = 1_000_000


def max_tokens(amount: str, prices: Prices | None) -> int:
    """How many tokens an amount stands for.

    Raises:
        BadInput: it is neither tokens nor money, or no price is set, or it is nothing.
    """
    if found := _TOKENS.fullmatch(amount.strip()):
        return _some(int(re.sub("[_,]", "", found[1])))
    found = _MONEY.fullmatch(amount.strip())
    if found is None:
        raise BadInput(f"{amount!r} is no budget. Write tokens as 20000t, or money as 0.50.")
    dearer = 0.0 if prices is None else max(prices.input, prices.output)
    if dearer <= 0:
        raise BadInput(
            "A budget of money needs prices.",
            details={"hint": "set DATAAGENT_PRICE_INPUT and _OUTPUT, or write tokens: 20000t."},
        )
    return _some(int(float(found[1]) * _MILLION / dearer))


def _some(tokens: int) -> int:
    if tokens < 1:
        raise BadInput("The budget is nothing: not even one token.")
    return tokens
