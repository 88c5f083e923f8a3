"""Reads the text of a PDF with pypdf, page by page. Runs in the reading process."""

from __future__ import annotations

from typing import BinaryIO

from pypdf import PasswordType, PdfReader
from pypdf.errors import DependencyError, PdfReadError, PyPdfError

from dataagent_core.documents.output import DocumentOutput, count_of
from dataagent_core.errors import BadFile


def read_pdf(stream: BinaryIO, output: DocumentOutput) -> None:
    """Write the pages, from the start on, as many as allowed.

    Raises:
        BadFile: it is broken, or opens with a password only.
    """
    pdf = _open_pdf(stream, output)
    total = len(pdf.pages)
    output.what = f"PDF, {count_of(total, 'page')}"
    first = output.begin_at("page", total)
    last, is_blank = first, True
    for number in range(first, min(total, first + output.limits.pages)):
        output.at(f"page {number + 1}")
        text = _page(pdf, number, output)
        is_blank = is_blank and not text.strip()
        last = number + 1
        if not output.add(f"## Page {last}\n\n{text}\n\n"):
            break
    if is_blank and last > first:
        output.notes.append("The pages have no text. They are probably scans; no text was read.")
    output.ended_at("page", last, total)


def _open_pdf(stream: BinaryIO, output: DocumentOutput) -> PdfReader:
    try:
        pdf = PdfReader(stream, strict=False)
        if pdf.is_encrypted and pdf.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise BadFile(f"'{output.name}' is encrypted. Save it without a password.")
        len(pdf.pages)
    except DependencyError as error:
        raise BadFile(
            f"'{output.name}' is encrypted in a way that is not read. Save it without a password."
        ) from error
    except PyPdfError as error:
        raise BadFile(f"'{output.name}' is broken or cut off. Save it again as PDF.") from error
    return pdf


def _page(pdf: PdfReader, number: int, output: DocumentOutput) -> str:
    """Return a page's text; a broken page is noted and does not affect the others.

    pypdf raises all of these over broken pages, and `NotImplementedError` over filters it lacks.
    """
    try:
        return pdf.pages[number].extract_text().rstrip()
    except MemoryError:
        raise
    except (PdfReadError, PyPdfError, ArithmeticError, LookupError, ValueError, TypeError,
            AttributeError, RecursionError, NotImplementedError):  # fmt: skip
        output.notes.append(f"Page {number + 1} is broken and could not be read.")
        return ""
