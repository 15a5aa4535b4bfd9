"""SAS data sets (``.sas7bdat``): one that SAS wrote, and others written by ReadStat, which ``pyreadstat`` carries."""

import base64
import ctypes
import gzip
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pyreadstat._readstat_writer as readstat

WRITTEN_BY_SAS = """
ABzY8000000t4;Tzi%6590%a{Y?rzrsTwImhE|+Ph7QKE<tPdZ<k}PoDV30tfhiEcqLD%osFk__I}<Y_BO7z2iUkHFRwn)cV2Ff(rnEJ-@6PeP
3QDE6L)7Pq?C-rFzd!EBdkNvt_rHDd?sp6GKi~PP8P5FB{c`c8bMw86q1Q`l-DJ|Mo>cN)@^UX+2qCRcx@=~f=^JluTuqM=j<KF?Wo5r??$3pr
cYe*vI_{AEboa21mQO+w&GBlxv)t)kTiw{baqIR}-fMR|?anLR?n<ZK?e*I6+P7C%-dR~bY>(ERyYlrX<tOfcZ@bl>KF<IE000000000000000
0000000000000000000000000000000000000000000000000000000000000C2(_Y`6MH<-h+`9MsN+7l-AS2YK^Sz1r_?kuOH$uiww>+qG)G
ROIVrkmP0mAg{|&{!Ni@MEPEkuSR*R$k(Ft`QzTv`M1a9(e#D=*Yo<?TDG_Qem_mqFg?xZ+1llg-%Ha;-YlkHU%PUB=hMC2ero3d0000000000
00000000000000000000000000000000000000000000000000000000000000000JUx&89gLmW@%iw<Quy(+QTu$6*N1<}@Ut;IJ~upiG^kg`
Jt)SlM)NgCUyWoqX1ZO=>(uYlim3+aBv}fzalI58<Jt=KXq|_}n9gBzA&snOTiNE;)wgy(2;s)gNBx}-`{AgID6gSW)YH#sugspV-n;THyinA*
{V?j+i2606`&Z_tqJF2MXPrdX8Mliqb?lzH|Cs#_22Zv}Pny4n@^`4}pP^CRFWPg_@AI9D<GMI`2agu#<vV+3l2qTX%QMw|GI-9O$CEnPZuOtW
JmpiVMeUiWJsY*pM(yS^yVB<5e@X}oQ|ru*kIz5m%8lWfCQ~!zuFZu1-`AB5`yU(DUM~Ou0ss
"""
"""Written by SAS 9.0401M8 on Linux: ids 1 to 3, Alice, Bob and Charlie of 30, 35 and 40. From the tests of
``sas-to-polars`` 1.0.0, copyright 2025 Samuel Edwards, MIT licence; compressed here."""

_STRING, _DOUBLE = 0, 5
_EPOCH = date(1960, 1, 1)
_Writer = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


def written_by_sas() -> bytes:
    """The bytes of the data set of SAS's own."""
    return gzip.decompress(base64.b85decode("".join(WRITTEN_BY_SAS.split())))


def written_by_readstat(path: Path, names: Sequence[str], rows: Sequence[Sequence[str | float | date]]) -> None:
    """Write a data set with columns of the kinds of the first row; dates have SAS's format for them."""
    library = ctypes.CDLL(readstat.__file__)
    for function in ("readstat_writer_init", "readstat_add_variable", "readstat_error_message"):
        getattr(library, function).restype = ctypes.c_char_p if function.endswith("message") else ctypes.c_void_p
    content = bytearray()

    @_Writer
    def keep(data: int, size: int, _context: object) -> int:
        content.extend(ctypes.string_at(data, size))
        return size

    def call(name: str, *arguments: object) -> None:
        status = getattr(library, name)(*arguments)
        if status:
            raise OSError(f"{name}: {library.readstat_error_message(status).decode()}")

    writer = ctypes.c_void_p(library.readstat_writer_init())
    call("readstat_set_data_writer", writer, keep)
    variables = []
    for name, first in zip(names, rows[0], strict=True):
        kind = _STRING if isinstance(first, str) else _DOUBLE
        width = max(len(str(row[len(variables)]).encode()) for row in rows) if kind == _STRING else 8
        made = library.readstat_add_variable(writer, name.encode(), kind, ctypes.c_size_t(width))
        variables.append(ctypes.c_void_p(made))
        if isinstance(first, date):
            library.readstat_variable_set_format(variables[-1], b"DATE9")
    call("readstat_begin_writing_sas7bdat", writer, None, ctypes.c_long(len(rows)))
    for row in rows:
        call("readstat_begin_row", writer)
        for variable, value in zip(variables, row, strict=True):
            if isinstance(value, str):
                call("readstat_insert_string_value", writer, variable, value.encode())
            else:
                number = (value - _EPOCH).days if isinstance(value, date) else value
                call("readstat_insert_double_value", writer, variable, ctypes.c_double(number))
        call("readstat_end_row", writer)
    call("readstat_end_writing", writer)
    library.readstat_writer_free(writer)
    path.write_bytes(content)
