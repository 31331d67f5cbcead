"""Format specs of the mini-language of `format()`, and of the operator %, at random."""

from __future__ import annotations

import random


def spec(rng: random.Random, kind: str) -> str:
    """A spec for an int, float, text or bool; now and then one that Python refuses."""
    align = rng.choice(["", "", "<", ">", "^", "*<", "0>", "=" if kind != "text" else ""])
    width = rng.choice(["", "", str(rng.randint(1, 12))])
    sign, alternate, zero = rng.choice(["", "", "+", " ", "-"]), rng.choice(["", "", "#"]), rng.choice(["", "", "0"])
    group = rng.choice(["", "", ",", "_"])
    precision = rng.choice(["", f".{rng.randint(0, 6)}"])
    match kind:
        case "int":
            code = rng.choice(["", "d", "x", "X", "o", "b", "e", "f", "g", "%", "n"])
            precision = precision if code in ("e", "f", "g", "%") else ""
            group = "" if code == "n" or (code in "xXob" and code and group == ",") else group
            return align + sign + (alternate if code in ("x", "X", "o",
                                                         "b") else "") + zero + width + group + precision + code
        case "float":
            code = rng.choice(["", "e", "E", "f", "F", "g", "G", "%"])
            return align + sign + zero + width + group + precision + code
        case "bool":
            return rng.choice(["", "d", "5", ">6", "<7d", "05d", "+d", "x", ".1f"])
    return align + width + precision + rng.choice(["", "", "s", "d" if rng.random() < 0.1 else ""])


def percent(rng: random.Random, kind: str) -> str:
    """What stands for one value in the text in front of the operator %."""
    flags = "".join(f for f in "-+ 0#" if rng.random() < 0.15)
    width = rng.choice(["", "", str(rng.randint(1, 10))])
    precision = rng.choice(["", "", f".{rng.randint(0, 5)}"])
    codes = {"int": "diuxXofegsr", "float": "feEgGdsr", "text": "sr"}[kind]
    return f"%{flags}{width}{precision}{rng.choice(codes)}"
