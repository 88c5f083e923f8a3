"""Build a workbook: summary with key figures and a chart, one sheet per table, notes."""

OUTPUT = "report.xlsx"
TITLE = "Sales by country, 2025"
FIGURES = [("Revenue (USD)", 2328.60), ("Invoices", 412), ("Countries", 24)]
# sheet name: (header, rows); the first table is drawn: its first column against its last
TABLES = {
    "By country": (
        ["Country", "Invoices", "Revenue (USD)"],
        [("USA", 91, 523.06), ("Canada", 56, 303.96)],
    ),
}
NOTES = ["Source: chinook, table Invoice", "Filter: all invoices", "Times: UTC"]

import os
from datetime import UTC, date, datetime

from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter

HEAD = PatternFill("solid", start_color="1F3864")
FOLDER = os.environ.get("REPORT_FOLDER", "/output")
_MAX_BARS = 20


def put(cell, value):
    """A value in its own type; text from data can never become a formula."""
    cell.value = value
    if isinstance(value, str):
        cell.data_type = "s"
        cell.quotePrefix = value[:1] in "=+-@"
    elif isinstance(value, bool):
        pass
    elif isinstance(value, datetime):
        cell.number_format = "yyyy-mm-dd hh:mm"
    elif isinstance(value, date):
        cell.number_format = "yyyy-mm-dd"
    elif isinstance(value, float):
        cell.number_format = "#,##0.00"
    elif isinstance(value, int):
        cell.number_format = "#,##0"


def is_summed(rows, column):
    return bool(rows) and all(type(row[column]) in (int, float) for row in rows)


def add_table(book, name, header, rows):
    sheet = book.create_sheet(name[:31])
    for column, text in enumerate(header, 1):
        cell = sheet.cell(1, column)
        put(cell, str(text))
        cell.font, cell.fill = Font(bold=True, color="FFFFFF"), HEAD
        cell.alignment = Alignment(vertical="center", wrap_text=True)
    for number, row in enumerate(rows, 2):
        for column, value in enumerate(row, 1):
            put(sheet.cell(number, column), value)
    last = len(rows) + 1
    sheet.freeze_panes = "A2"
    sheet.auto_filter.ref = f"A1:{get_column_letter(len(header))}{last}"
    add_totals(sheet, header, rows, last)
    for column, text in enumerate(header, 1):
        longest = max([len(str(text)), *(len(str(row[column - 1])) for row in rows[:200])])
        sheet.column_dimensions[get_column_letter(column)].width = min(max(longest + 2, 10), 50)
    return sheet


def add_totals(sheet, header, rows, last):
    """A line of sums, one row below the table so that sorting and filtering leave it alone."""
    summed = [column for column in range(len(header)) if is_summed(rows, column)]
    if not summed or len(rows) < 2:
        return
    put(sheet.cell(last + 2, 1), "Total")
    sheet.cell(last + 2, 1).font = Font(bold=True)
    for column in summed:
        if column == 0:
            continue
        letter = get_column_letter(column + 1)
        cell = sheet.cell(last + 2, column + 1, f"=SUM({letter}2:{letter}{last})")
        cell.font = Font(bold=True)
        cell.number_format = sheet.cell(2, column + 1).number_format


def add_summary(book):
    sheet = book.active
    sheet.title = "Summary"
    put(sheet["A1"], TITLE)
    sheet["A1"].font = Font(bold=True, size=16)
    for row, (label, value) in enumerate(FIGURES, 3):
        put(sheet.cell(row, 1), label)
        put(sheet.cell(row, 2), value)
        sheet.cell(row, 2).font = Font(bold=True, size=12)
    sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 34, 18
    return sheet


def add_chart(summary, sheet, header, rows):
    if not rows or len(header) < 2 or not is_summed(rows, len(header) - 1):
        return
    chart = BarChart()
    chart.type, chart.style, chart.legend = "bar", 10, None
    chart.title = str(header[-1])
    last = min(len(rows), _MAX_BARS) + 1
    chart.add_data(
        Reference(sheet, min_col=len(header), min_row=1, max_row=last), titles_from_data=True
    )
    chart.set_categories(Reference(sheet, min_col=1, min_row=2, max_row=last))
    chart.y_axis.scaling.min = 0
    chart.x_axis.delete = chart.y_axis.delete = False
    chart.height, chart.width = 9, 18
    summary.add_chart(chart, f"A{len(FIGURES) + 5}")


book = Workbook()
summary = add_summary(book)
for number, (name, (header, rows)) in enumerate(TABLES.items()):
    sheet = add_table(book, name, header, rows)
    if number == 0:
        add_chart(summary, sheet, header, rows)
notes = book.create_sheet("Notes")
for row, note in enumerate([*NOTES, f"Made: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"], 1):
    put(notes.cell(row, 1), note)
notes.column_dimensions["A"].width = 100
path = os.path.join(FOLDER, OUTPUT)
book.save(path)
print(
    f"{path}: {len(book.sheetnames)} sheets, "
    + ", ".join(f"{n}: {len(t[1])} rows" for n, t in TABLES.items())
)
