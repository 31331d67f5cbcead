"""The structs of scriptc_api.h for ctypes."""

import ctypes as c


class DLTensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p),
        ("device", c.c_int32 * 2),
        ("ndim", c.c_int32),
        ("code", c.c_uint8),
        ("bits", c.c_uint8),
        ("lanes", c.c_uint16),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),
        ("byte_offset", c.c_uint64),
    ]


class Text(c.Structure):
    _fields_ = [("data", c.c_void_p), ("n", c.c_int64)]

    def __str__(self):
        return c.string_at(self.data, self.n).decode(errors="surrogatepass")


NUMBERS = {"i64": (int, c.c_int64), "f64": (float, c.c_double), "bool": (bool, c.c_bool), "str": (str, Text)}


class Managed(c.Structure):
    pass


Deleter = c.CFUNCTYPE(None, c.POINTER(Managed))
Managed._fields_ = [
    ("version", c.c_uint32 * 2),
    ("manager_ctx", c.c_void_p),
    ("deleter", Deleter),
    ("flags", c.c_uint64),
    ("tensor", DLTensor),
]


class Error(c.Structure):
    _fields_ = [
        ("type", c.c_char_p),
        ("message", c.c_char_p),
        ("file", c.c_char_p),
        ("function", c.c_char_p),
        ("text", c.c_char_p),
        ("line", c.c_int),
        ("traceback", c.c_char_p),
    ]


Print = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p)
Warn = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_char_p, c.c_char_p, c.c_int)


class Output(c.Structure):
    _fields_ = [("print", Print), ("warn", Warn), ("user", c.c_void_p)]
