"""Results as pandas tables, where pandas is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame


def data_frame(rows: Any, **options: Any) -> DataFrame:
    """Return a table; raise ImportError with what to install."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_pandas needs pandas: pip install pandas.") from None
    return pandas.DataFrame(rows, **options)
