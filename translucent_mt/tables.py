"""Results as pandas tables, where pandas is installed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame


def data_frame(rows: Any, **options: Any) -> DataFrame:
    """Return a table; raise ImportError with what to install."""
    try:
        import pandas
    except ImportError:
        raise ImportError(f"to_pandas needs pandas: {sys.executable} -m pip install pandas") from None
    return pandas.DataFrame(rows, **options)
