"""A zygote whose plain texts do what they say: hang, crash, or meet an error of ours."""

import os
import time

from service.documents.format import ReadOptions
from service.documents.formats import text
from service.documents.sandbox import zygote

read = text.read


def faulty(data: bytes, options: ReadOptions) -> text.TextDocument:
    """Do what a text says; read any other."""
    match data.strip():
        case b"hang":
            time.sleep(3600)
        case b"loop":
            while True:
                pass
        case b"crash":
            os.abort()
        case b"fail":
            raise RuntimeError("SECRET")
    return read(data, options)


if __name__ == "__main__":
    text.read = faulty
    zygote.main()
