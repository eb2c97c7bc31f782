"""Reads text files in batches, for processes that tokenize them: JSON lines, also compressed, and
columns of Parquet and Arrow files.
"""

import contextlib
import gzip

from .spec import DataError

_BATCH_BYTES = 1 << 20
_BATCH_ROWS = 100
_LINE_BYTES_MAX = 1 << 30


def batches(path, file_format, column, begin=1):
    """(number of the first line or row, from 1; batch) of each batch: bytes of whole lines, or a
    list of records. `column`: the only one that is needed; empty: records are dictionaries.
    `begin`: batches before this row may be left out."""
    return _lines(path) if file_format == "jsonl" else _rows(path, file_format, column, begin)


def rows(path, file_format):
    """The number of rows of a file with columns."""
    with _columns(path) as stack:
        if file_format == "parquet":
            from pyarrow import parquet

            return stack.enter_context(parquet.ParquetFile(path)).metadata.num_rows
        return sum(batch.num_rows for _, batch in _arrow(path, None, 1, stack))


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


def _rows(path, file_format, column, begin):
    with _columns(path) as stack:
        for first, batch in _record_batches(path, file_format, column, begin, stack):
            if column and column not in batch.schema.names:
                raise _no_column(path, column, batch.schema.names)
            for offset in range(0, batch.num_rows, _BATCH_ROWS):
                part = batch.slice(offset, _BATCH_ROWS)
                if column:
                    part = part.column(part.schema.names.index(column))
                yield first + offset, part.to_pylist()


def _record_batches(path, file_format, column, begin, stack):
    """(number of the first row, from 1; batch)"""
    read = _parquet if file_format == "parquet" else _arrow
    return read(path, [column] if column else None, begin, stack)


@contextlib.contextmanager
def _columns(path):
    """A stack for what pyarrow opens, and its errors."""
    try:
        import pyarrow
    except ImportError:
        raise DataError("%s needs the package pyarrow" % path) from None
    try:
        with contextlib.ExitStack() as stack:
            yield stack
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError("cannot read %s: %s" % (path, " ".join(str(error).split()))) from None


def _no_column(path, column, names):
    return DataError("%s has no column %r; it has %s"
                     % (path, column, ", ".join(map(repr, names[:8])) or "none"))


def _parquet(path, columns, begin, stack):
    from pyarrow import parquet

    file = stack.enter_context(parquet.ParquetFile(path))
    if columns and columns[0] not in file.schema_arrow.names:
        raise _no_column(path, columns[0], file.schema_arrow.names)
    first, group = 1, 0
    while group < file.num_row_groups:
        behind = first + file.metadata.row_group(group).num_rows
        if behind > begin:
            break
        first, group = behind, group + 1
    groups = list(range(group, file.num_row_groups))
    for batch in file.iter_batches(_BATCH_ROWS, groups, columns) if groups else ():
        yield first, batch
        first += batch.num_rows


def _arrow(path, columns, begin, stack):
    """Both forms: files, and the streams that Hugging Face's datasets keep."""
    import pyarrow
    from pyarrow import ipc

    mapped = stack.enter_context(pyarrow.memory_map(path))
    try:
        file = ipc.open_file(mapped)
        found = (file.get_batch(i) for i in range(file.num_record_batches))
    except pyarrow.ArrowInvalid:
        mapped.seek(0)
        found = ipc.open_stream(mapped)
    first = 1
    for batch in found:
        if first + batch.num_rows > begin:
            yield first, batch
        first += batch.num_rows
