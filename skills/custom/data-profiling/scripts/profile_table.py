"""Profile a CSV, Excel or Parquet file: exact counts per column. Prints, changes nothing."""

PATH = "uploads/data.csv"
SHEET = 0  # of a workbook: its number or name

import pandas as pd

MISSING_WORDS = {"", "-", "--", "n/a", "na", "none", "null", "nan", "?", "unknown"}
SHOWN = 8


def load(path):
    if path.lower().endswith((".xlsx", ".xls")):
        return pd.read_excel(path, sheet_name=SHEET)
    if path.lower().endswith(".parquet"):
        return pd.read_parquet(path)
    return pd.read_csv(  # words such as "N/A" stay words, so that they are counted
        path,
        sep=None,
        engine="python",
        dtype_backend="numpy_nullable",
        keep_default_na=False,
        na_values=[""],
    )


def share(count, total):
    return f"{count} ({100 * count / total:.1f} %)" if total else "0"


def as_dates(column):
    """The column as dates if nearly all of it can be read so, else None."""
    parsed = pd.to_datetime(column, errors="coerce", format="mixed", utc=True)
    return parsed if parsed.notna().sum() >= 0.95 * max(column.notna().sum(), 1) else None


def describe_text(column, total):
    text = column.dropna().astype("string")
    words = text.str.strip().str.lower().isin(MISSING_WORDS).sum()
    padded = (text != text.str.strip()).sum()
    folded = text.str.strip().str.casefold().nunique()
    print(
        f"  says it is missing: {share(words, total)}; padded with spaces: {share(padded, total)}"
    )
    if folded < text.nunique():
        print(
            f"  same value in other spelling: {text.nunique()} values, "
            f"{folded} without case and spaces"
        )
    dates = as_dates(text) if len(text) and text.str.contains(r"\d").mean() > 0.95 else None
    if dates is not None:
        print(f"  can be read as dates: {dates.min()} to {dates.max()}")
        return
    for value, count in text.value_counts().head(SHOWN).items():
        print(f"    {str(value)[:60]!r}: {share(count, total)}")


def describe(column, total):
    missing, distinct = column.isna().sum(), column.nunique()
    print(f"\n{column.name}  [{column.dtype}]")
    print(f"  missing: {share(missing, total)}; distinct: {distinct}")
    if distinct == total and not missing:
        print("  every value is different: may be a key")
    if pd.api.types.is_bool_dtype(column) or not len(column.dropna()):
        return
    if pd.api.types.is_numeric_dtype(column):
        zeros, negative = (column == 0).sum(), (column < 0).sum()
        print(
            f"  min {column.min()}  median {column.median()}  "
            f"mean {column.mean():.6g}  max {column.max()}"
        )
        print(f"  zero: {share(zeros, total)}; negative: {share(negative, total)}")
    elif pd.api.types.is_datetime64_any_dtype(column):
        print(f"  from {column.min()} to {column.max()}")
    else:
        describe_text(column, total)


table = load(PATH)
rows = len(table)
print(f"{PATH}: {rows} rows, {table.shape[1]} columns")
print(f"rows that repeat another row entirely: {share(table.duplicated().sum(), rows)}")
for name in table.columns:
    describe(table[name], rows)
