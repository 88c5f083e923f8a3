"""The text of documents: PDF, Word, slides, workbooks, plain text and web pages.

Each document is read in a process of its own with limits on memory and time. That process imports
this package and must start quickly, so only plain values are imported here.
"""

from dataagent_core.documents.output import Document, ReadLimits

__all__ = ["Document", "ReadLimits"]
