/* sc_str_case.c - upper and lower case, and what all characters of a string are. */
#include "../include/sc_str.h"

SC_KERNEL bool sc_str_all(const sc_str *s, int any_of, bool of_empty) {
    for (int64_t i = 0; i < s->len; i++)
        if (!sc_unicode_has(sc_str_code(s, i), any_of)) return false;
    return s->len > 0 || of_empty;
}

/* Return whether some character has the wanted case, and none has the others. */
static bool case_is(const sc_str *s, int wanted, int others) {
    bool found = false;
    for (int64_t i = 0; i < s->len; i++) {
        uint32_t c = sc_str_code(s, i);
        if (sc_unicode_has(c, others)) return false;
        found = found || sc_unicode_has(c, wanted);
    }
    return found;
}

SC_KERNEL bool sc_str_islower(const sc_str *s) {
    return case_is(s, SC_LOWER, SC_UPPER | SC_TITLE);
}

SC_KERNEL bool sc_str_isupper(const sc_str *s) {
    return case_is(s, SC_UPPER, SC_LOWER | SC_TITLE);
}

SC_KERNEL bool sc_str_istitle(const sc_str *s) {
    bool found = false, in_word = false;
    for (int64_t i = 0; i < s->len; i++) {
        uint32_t c = sc_str_code(s, i);
        bool starts = sc_unicode_has(c, SC_UPPER | SC_TITLE), goes_on = sc_unicode_has(c, SC_LOWER);
        if ((starts && in_word) || (!starts && goes_on && !in_word)) return false;
        in_word = starts || goes_on;
        found = found || in_word;
    }
    return found;
}

SC_KERNEL bool sc_str_isidentifier(const sc_str *s) {
    for (int64_t i = 0; i < s->len; i++)
        if (!sc_unicode_has(sc_str_code(s, i), i ? SC_IN_NAME : SC_STARTS_NAME)) return false;
    return s->len > 0;
}

SC_KERNEL bool sc_str_isascii(const sc_str *s) {
    uint32_t most = 0;
    for (int64_t i = 0; i < s->len; i++) most |= sc_str_code(s, i);
    return most < 128;
}

/* ---- mappings: once to measure, once to write ---- */

typedef struct case_out { sc_str *to; int64_t len; uint32_t most; } case_out;

static void case_put(case_out *out, uint32_t code) {
    if (!out->to) out->most |= code;
    else sc_str_put(out->to->data, out->to->width, out->len, code);
    out->len++;
}

/* Return whether the next character in a direction, skipping case-ignorable ones, has a case. */
static bool case_beside(const sc_str *s, int64_t i, int step) {
    do i += step;
    while (i >= 0 && i < s->len && sc_unicode_has(sc_str_code(s, i), SC_IGNORABLE));
    return i >= 0 && i < s->len && sc_unicode_has(sc_str_code(s, i), SC_CASED);
}

static void case_map(case_out *out, const sc_str *s, int64_t i, int to) {
    enum { SIGMA = 0x3a3, SMALL_SIGMA = 0x3c3, FINAL_SIGMA = 0x3c2 };
    uint32_t c = sc_str_code(s, i), mapped[3];
    if (c == SIGMA && to == SC_TO_LOWER) {
        case_put(out, case_beside(s, i, -1) && !case_beside(s, i, 1) ? FINAL_SIGMA : SMALL_SIGMA);
        return;
    }
    int n = sc_unicode_map(c, to, mapped);
    for (int k = 0; k < n; k++) case_put(out, mapped[k]);
}

typedef void case_rule(case_out *out, const sc_str *s);

static void case_upper(case_out *out, const sc_str *s) {
    for (int64_t i = 0; i < s->len; i++) case_map(out, s, i, SC_TO_UPPER);
}

static void case_lower(case_out *out, const sc_str *s) {
    for (int64_t i = 0; i < s->len; i++) case_map(out, s, i, SC_TO_LOWER);
}

static void case_fold(case_out *out, const sc_str *s) {
    for (int64_t i = 0; i < s->len; i++) case_map(out, s, i, SC_TO_FOLDED);
}

static void case_capitalize(case_out *out, const sc_str *s) {
    for (int64_t i = 0; i < s->len; i++) case_map(out, s, i, i ? SC_TO_LOWER : SC_TO_TITLE);
}

static void case_title(case_out *out, const sc_str *s) {
    bool in_word = false;
    for (int64_t i = 0; i < s->len; i++) {
        case_map(out, s, i, in_word ? SC_TO_LOWER : SC_TO_TITLE);
        in_word = sc_unicode_has(sc_str_code(s, i), SC_CASED);
    }
}

static void case_swap(case_out *out, const sc_str *s) {
    for (int64_t i = 0; i < s->len; i++) {
        uint32_t c = sc_str_code(s, i);
        if (sc_unicode_has(c, SC_UPPER)) case_map(out, s, i, SC_TO_LOWER);
        else if (sc_unicode_has(c, SC_LOWER)) case_map(out, s, i, SC_TO_UPPER);
        else case_put(out, c);
    }
}

static sc_str *case_made(sc_ctx *cx, sc_str *s, case_rule *rule) {
    case_out out = {0};
    rule(&out, s);
    out.to = sc_str_new(cx, sc_str_width(out.most), out.len);
    out.len = 0;
    if (out.to) rule(&out, s);
    return out.to;
}

SC_KERNEL sc_str *sc_code_mapped(sc_ctx *cx, int64_t code, int to) {
    uint32_t c = (uint32_t)code;
    sc_str one = {.width = 4, .len = 1, .data = &c};
    return case_made(cx, &one, to == SC_TO_LOWER ? case_lower : case_upper);
}

/* ASCII letters differ from their other case by one bit. */
static inline uint8_t case_other(uint8_t c, uint8_t first) {
    return c ^ (uint8_t)((uint8_t)(c - first) < 26 ? 32 : 0);
}

static sc_str *case_ascii(sc_ctx *cx, const sc_str *s, uint8_t first) {
    if (s->len == 1) return sc_str_chr(cx, case_other((uint8_t)sc_str_code(s, 0), first));
    sc_str *made = sc_str_new(cx, 1, s->len);
    if (!made) return NULL;
    const uint8_t *from = s->data;
    uint8_t *to = made->data;
    for (int64_t i = 0; i < s->len; i++) to[i] = case_other(from[i], first);
    return made;
}

SC_KERNEL sc_str *sc_str_upper(sc_ctx *cx, sc_str *s) {
    return sc_str_isascii(s) ? case_ascii(cx, s, 'a') : case_made(cx, s, case_upper);
}

SC_KERNEL sc_str *sc_str_lower(sc_ctx *cx, sc_str *s) {
    return sc_str_isascii(s) ? case_ascii(cx, s, 'A') : case_made(cx, s, case_lower);
}

SC_KERNEL sc_str *sc_str_title(sc_ctx *cx, sc_str *s) {
    return case_made(cx, s, case_title);
}

SC_KERNEL sc_str *sc_str_capitalize(sc_ctx *cx, sc_str *s) {
    return case_made(cx, s, case_capitalize);
}

SC_KERNEL sc_str *sc_str_swapcase(sc_ctx *cx, sc_str *s) {
    return case_made(cx, s, case_swap);
}

SC_KERNEL sc_str *sc_str_casefold(sc_ctx *cx, sc_str *s) {
    return case_made(cx, s, case_fold);
}
