"""Checks the figures of an answer's text against the results of its run."""

from dataagent_core.data.figures.checking import (
    Evidence,
    FigureReport,
    UnbackedFigure,
    VerifiedFigure,
    check_figures,
    to_metadata,
)
from dataagent_core.data.figures.extraction import Figure, find_figures
from dataagent_core.data.figures.index import ResultTable

__all__ = [
    "Evidence",
    "Figure",
    "FigureReport",
    "ResultTable",
    "UnbackedFigure",
    "VerifiedFigure",
    "check_figures",
    "find_figures",
    "to_metadata",
]
