"""Charts: a Vega-Lite specification that fits a result, drawn in the browser or to a picture."""

from dataagent_core.data.charts.default import default_spec
from dataagent_core.data.charts.drawing import for_browser
from dataagent_core.data.charts.render import ChartFormat, RenderedChart, Renderer, cjk_font
from dataagent_core.data.charts.spec import check_spec

__all__ = [
    "ChartFormat",
    "RenderedChart",
    "Renderer",
    "check_spec",
    "cjk_font",
    "default_spec",
    "for_browser",
]
