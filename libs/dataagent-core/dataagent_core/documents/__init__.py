"""The text of documents: PDF, Word, slides, workbooks, plain text and web pages.

`reader.py` is the door. Each document is read in a process of its own with limits on memory and
time, so that no file can hold up or bring down the program. What a file means as a table is
`data/files`' to say; who may read it is decided above. Only the nouns are imported here: the
process that reads loads this room, and must start quickly.
"""

from dataagent_core.documents.output import Document, ReadLimits

__all__ = ["Document", "ReadLimits"]
