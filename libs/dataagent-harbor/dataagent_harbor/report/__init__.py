"""The report of a graded run as JSON, HTML, Markdown and JUnit XML."""

from dataagent_harbor.report.document import Report, report_of
from dataagent_harbor.report.html import as_html
from dataagent_harbor.report.junit import as_junit
from dataagent_harbor.report.markdown import as_markdown

__all__ = ["Report", "as_html", "as_junit", "as_markdown", "report_of"]
