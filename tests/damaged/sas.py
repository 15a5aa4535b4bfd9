"""SAS data sets (``.sas7bdat``): one that SAS wrote, and others written by ReadStat, which ``pyreadstat`` carries."""

import base64
import ctypes
import gzip
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from types import MappingProxyType

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


class _ReadStat:
    """A file that ReadStat writes; OSError says what it refuses."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(readstat.__file__)
        for function in ("readstat_writer_init", "readstat_add_variable", "readstat_add_label_set"):
            getattr(self.library, function).restype = ctypes.c_void_p
        self.library.readstat_error_message.restype = ctypes.c_char_p
        self.content = bytearray()
        self._keep = _Writer(self._kept)
        self.writer = ctypes.c_void_p(self.library.readstat_writer_init())
        self.call("readstat_set_data_writer", self._keep)

    def _kept(self, data: int, size: int, _context: object) -> int:
        self.content.extend(ctypes.string_at(data, size))
        return size

    def call(self, name: str, *arguments: object) -> None:
        """A function that returns an error."""
        status = getattr(self.library, name)(self.writer, *arguments)
        if status:
            raise OSError(f"{name}: {self.library.readstat_error_message(status).decode()}")

    def end(self, path: Path) -> None:
        """End the file."""
        self.call("readstat_end_writing")
        self.library.readstat_writer_free(self.writer)
        path.write_bytes(self.content)


def written_by_readstat(
    path: Path,
    names: Sequence[str],
    rows: Sequence[Sequence[str | float | date]],
    formats: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write a data set with columns of the kinds of the first row; dates have SAS's format for them."""
    file, variables = _ReadStat(), list[ctypes.c_void_p]()
    for name, first in zip(names, rows[0], strict=True):
        kind = _STRING if isinstance(first, str) else _DOUBLE
        width = max(len(str(row[len(variables)]).encode()) for row in rows) if kind == _STRING else 8
        made = file.library.readstat_add_variable(file.writer, name.encode(), kind, ctypes.c_size_t(width))
        variables.append(ctypes.c_void_p(made))
        if named := "DATE9" if isinstance(first, date) else formats.get(name):
            file.library.readstat_variable_set_format(variables[-1], named.encode())
    file.call("readstat_begin_writing_sas7bdat", None, ctypes.c_long(len(rows)))
    for row in rows:
        file.call("readstat_begin_row")
        for variable, value in zip(variables, row, strict=True):
            if isinstance(value, str):
                file.call("readstat_insert_string_value", variable, value.encode())
            else:
                number = (value - _EPOCH).days if isinstance(value, date) else value
                file.call("readstat_insert_double_value", variable, ctypes.c_double(number))
        file.call("readstat_end_row")
    file.end(path)


def catalog_by_readstat(path: Path, labels: Mapping[str, Mapping[int, str]]) -> None:
    """Write a catalog of formats with the labels of numbers."""
    file = _ReadStat()
    for name, codes in labels.items():
        made = ctypes.c_void_p(file.library.readstat_add_label_set(file.writer, _DOUBLE, name.encode()))
        for code, label in codes.items():
            file.library.readstat_label_double_value(made, ctypes.c_double(code), label.encode())
    file.call("readstat_begin_writing_sas7bcat", None)
    file.end(path)
