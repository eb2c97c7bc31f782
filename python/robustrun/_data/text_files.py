"""Reads text files in batches, for processes that tokenize them: JSON lines, also compressed, and
columns of Parquet and Arrow files.
"""

import contextlib
import gzip

from .spec import DataError

_BATCH_BYTES = 1 << 20
_BATCH_ROWS = 100
_LINE_BYTES_MAX = 1 << 30


def batches(path, file_format, column):
    """(number of the first line or row, from 1; batch) of each batch: bytes of whole lines, or a
    list of records. `column`: the only one that is needed; empty: records are dictionaries."""
    return _lines(path) if file_format == "jsonl" else _rows(path, file_format, column)


def _lines(path):
    first, rest = 1, []  # rest: of a line that goes on
    size = 0
    for part in _parts(path):
        end = part.rfind(b"\n") + 1
        if end == 0:
            rest.append(part)
            size += len(part)
            if size > _LINE_BYTES_MAX:
                raise DataError("%s, line %d has more than %d bytes"
                                % (path, first, _LINE_BYTES_MAX))
            continue
        batch = b"".join(rest) + part[:end]
        rest = [part[end:]]
        size = len(rest[0])
        yield first, batch
        first += batch.count(b"\n")
    if size:
        yield first, b"".join(rest)


def _parts(path):
    """The content, in parts of some size."""
    try:
        if path.endswith(".zst"):
            yield from _zstandard_parts(path)
            return
        with (gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")) as file:
            while True:
                part = file.read(_BATCH_BYTES)
                if not part:
                    return
                yield part
    except (DataError, GeneratorExit):
        raise
    except Exception as error:  # zlib and zstandard have errors of their own
        raise DataError("cannot read %s: %s" % (path, error)) from None


def _zstandard_parts(path):
    try:
        import zstandard
    except ImportError:
        raise DataError("%s needs the package zstandard" % path) from None
    decompressor, frame = zstandard.ZstdDecompressor(), None
    with open(path, "rb") as file:
        while True:
            part = file.read(_BATCH_BYTES)
            if not part:
                break
            while part:
                frame = frame or decompressor.decompressobj()
                yield frame.decompress(part)
                part = frame.unused_data
                if frame.eof:
                    frame = None
    if frame is not None:
        raise DataError("cannot read %s: the file is cut off" % path)


def _rows(path, file_format, column):
    try:
        import pyarrow
    except ImportError:
        raise DataError("%s needs the package pyarrow" % path) from None
    columns = [column] if column else None
    first = 1
    try:
        with contextlib.ExitStack() as stack:
            read = _parquet if file_format == "parquet" else _arrow
            for batch in read(path, columns, stack):
                if column and column not in batch.schema.names:
                    raise _no_column(path, column, batch.schema.names)
                for begin in range(0, batch.num_rows, _BATCH_ROWS):
                    part = batch.slice(begin, _BATCH_ROWS)
                    if column:
                        part = part.column(part.schema.names.index(column))
                    yield first, part.to_pylist()
                    first += len(part)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError("cannot read %s: %s" % (path, " ".join(str(error).split()))) from None


def _no_column(path, column, names):
    return DataError("%s has no column %r; it has %s"
                     % (path, column, ", ".join(map(repr, names[:8])) or "none"))


def _parquet(path, columns, stack):
    from pyarrow import parquet

    file = stack.enter_context(parquet.ParquetFile(path))
    if columns and columns[0] not in file.schema_arrow.names:
        raise _no_column(path, columns[0], file.schema_arrow.names)
    return file.iter_batches(batch_size=_BATCH_ROWS, columns=columns)


def _arrow(path, columns, stack):
    """Both forms: files, and the streams that Hugging Face's datasets keep."""
    import pyarrow
    from pyarrow import ipc

    mapped = stack.enter_context(pyarrow.memory_map(path))
    try:
        file = ipc.open_file(mapped)
    except pyarrow.ArrowInvalid:
        mapped.seek(0)
        return ipc.open_stream(mapped)
    return (file.get_batch(i) for i in range(file.num_record_batches))
