"""Methods of strings over values of which some are known only at run time."""

from __future__ import annotations

from scriptc.frontend.library import serves
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import AV, Known


@serves("str.format")
def format(r: Reader, template: AV, *args: AV, **kwargs: AV) -> AV:
    return r.format_text(r.known(template, "a format"), args, kwargs)


@serves("str.join")
def join(r: Reader, separator: AV, parts: AV) -> AV:
    text = r.known(separator, "a separator")
    pieces: list[AV] = []
    for i, part in enumerate(r.iterate(parts)):
        pieces += [Known(text)] if i else []
        pieces += r.text_parts(part)
    return r.joined(pieces)
