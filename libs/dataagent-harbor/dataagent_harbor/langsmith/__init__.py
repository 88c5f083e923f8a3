"""Questions as a LangSmith data set, answers as its traces, grades as their feedback."""

from dataagent_harbor.langsmith.experiment import Experiment, open_experiment

__all__ = ["Experiment", "open_experiment"]
