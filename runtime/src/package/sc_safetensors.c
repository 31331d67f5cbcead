/* sc_safetensors.c - reading a safetensors file: eight bytes with the length of the header, the header (JSON), the data. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sc_safetensors.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "safetensors files are little-endian");

const char *const sc_dtype_names[SC_NDTYPES] = {"BOOL", "U8",   "I8",  "I16", "I32", "I64",
                                                "F16",  "BF16", "F32", "F64", "C64", "C128"};

int sc_tell(sc_text error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (error.at && error.n) vsnprintf(error.at, error.n, format, args);
    va_end(args);
    return -1;
}

/* ---- CRC-32 as in zlib, eight bytes at a time ---- */

uint32_t sc_crc32(uint32_t crc, const void *data, size_t bytes) {
    uint32_t table[8][256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        table[0][i] = c;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++) table[t][i] = (table[t - 1][i] >> 8) ^ table[0][table[t - 1][i] & 255];

    const unsigned char *p = data;
    crc = ~crc;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        uint32_t word[2];
        memcpy(word, p, 8);
        word[0] ^= crc;
        crc = 0;
        for (int i = 0; i < 8; i++) crc ^= table[7 - i][(word[i / 4] >> (8 * (i % 4))) & 255];
    }
    for (; bytes; bytes--, p++) crc = (crc >> 8) ^ table[0][(crc ^ *p) & 255];
    return ~crc;
}

/* ---- the JSON of a header; functions return false where the text is something else ---- */

typedef struct json { const char *at, *end; } json;

static void skip_space(json *j) {
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\r' || *j->at == '\n')) j->at++;
}

static bool eat(json *j, char c) {
    skip_space(j);
    if (j->at == j->end || *j->at != c) return false;
    j->at++;
    return true;
}

static bool hex4(json *j, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF", *found;
        if (j->at == j->end || !*j->at || !(found = strchr(digits, *j->at))) return false;
        *code = *code * 16 + (uint32_t)(found - digits) % 16;
    }
    return true;
}

/* Write a code point as UTF-8, and return the number of bytes. */
static size_t encode(uint32_t c, char *out) {
    if (c < 0x80) return out[0] = (char)c, 1;
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    out[0] = (char)((0xF0 << (3 - more)) | (c >> (6 * more)));
    for (size_t i = 1; i <= more; i++) out[i] = (char)(0x80 | ((c >> (6 * (more - i))) & 63));
    return more + 1;
}

static bool escape(json *j, char *out, size_t *length) {
    if (j->at == j->end) return false;
    char c = *j->at++;
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found = c ? strchr(from, c) : NULL;
    if (found) return out[(*length)++] = to[found - from], true;
    uint32_t code, low;
    if (c != 'u' || !hex4(j, &code)) return false;
    if (code >= 0xD800 && code < 0xDC00) { /* the first half of a pair */
        if (j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u') return false;
        j->at += 2;
        if (!hex4(j, &low) || low < 0xDC00 || low >= 0xE000) return false;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    *length += encode(code, out + *length);
    return true;
}

static bool string(json *j, char out[SC_MAX_NAME]) {
    size_t length = 0;
    if (!eat(j, '"')) return false;
    while (j->at < j->end && *j->at != '"') {
        if (length > SC_MAX_NAME - 8 || (unsigned char)*j->at < 0x20) return false;
        if (*j->at != '\\') out[length++] = *j->at++;
        else if (j->at++, !escape(j, out, &length)) return false;
    }
    out[length] = 0;
    return j->at < j->end && *j->at++ == '"' && !memchr(out, 0, length);
}

static bool number(json *j, uint64_t *out) {
    skip_space(j);
    const char *start = j->at;
    *out = 0;
    for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; j->at++)
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, (uint64_t)(*j->at - '0'), out)) return false;
    return j->at > start;
}

/* Parse an array of at most max numbers; *n becomes their count. */
static bool numbers(json *j, uint64_t *out, int max, int *n) {
    *n = 0;
    if (!eat(j, '[')) return false;
    if (eat(j, ']')) return true;
    do
        if (*n == max || !number(j, &out[(*n)++])) return false;
    while (eat(j, ','));
    return eat(j, ']');
}

static bool tensor_row(json *j, sc_row *r) {
    char key[SC_MAX_NAME];
    int n, seen = 0;
    if (!eat(j, '{')) return false;
    do {
        if (!string(j, key) || !eat(j, ':')) return false;
        bool ok = !strcmp(key, "dtype")          ? seen |= 1, string(j, r->dtype)
                  : !strcmp(key, "shape")        ? seen |= 2, numbers(j, r->size, SC_MAX_RANK, &r->rank)
                  : !strcmp(key, "data_offsets") ? seen |= 4, numbers(j, r->offsets, 2, &n) && n == 2
                                                 : false;
        if (!ok) return false;
    } while (eat(j, ','));
    return eat(j, '}') && seen == 7;
}

/* ---- the header ---- */

static int metadata(json *j, const sc_reader *to, sc_text error) {
    char key[SC_MAX_NAME], value[SC_MAX_NAME];
    if (!eat(j, '{')) return sc_tell(error, "damaged header: __metadata__");
    if (eat(j, '}')) return 0;
    do {
        if (!string(j, key) || !eat(j, ':') || !string(j, value)) return sc_tell(error, "damaged header: __metadata__");
        if (to->metadata(to->user, key, value, error)) return -1;
    } while (eat(j, ','));
    return eat(j, '}') ? 0 : sc_tell(error, "damaged header: __metadata__");
}

static int one_tensor(json *j, const char *name, const sc_reader *to, sc_text error) {
    sc_row found;
    if (!tensor_row(j, &found)) return sc_tell(error, "damaged header: tensor '%.200s'", name);
    return to->tensor(to->user, name, &found, error);
}

int sc_read_safetensors(const void *file, size_t bytes, const sc_reader *to, sc_span *span, sc_text error) {
    char name[SC_MAX_NAME];
    uint64_t header;
    if (bytes < 8) return sc_tell(error, "not a safetensors file: too short");
    memcpy(&header, file, 8);
    if (header > bytes - 8) return sc_tell(error, "not a complete safetensors file: the header is longer than the file");
    const char *text = (const char *)file + 8;
    json *j = &(json){text, text + header};
    *span = (sc_span){text, text + header, bytes - 8 - header};
    if (!eat(j, '{')) return sc_tell(error, "damaged header");
    if (!eat(j, '}')) {
        do {
            if (!string(j, name) || !eat(j, ':')) return sc_tell(error, "damaged header");
            bool is_metadata = !strcmp(name, "__metadata__");
            if (is_metadata ? metadata(j, to, error) : one_tensor(j, name, to, error)) return -1;
            if (is_metadata) span->after_metadata = j->at;
        } while (eat(j, ','));
        if (!eat(j, '}')) return sc_tell(error, "damaged header");
    }
    skip_space(j);
    return j->at < j->end ? sc_tell(error, "damaged header") : 0;
}

int sc_check_data(const sc_span *span, const char *name, const sc_row *row, uint64_t item, sc_text error) {
    uint64_t bytes = item;
    for (int d = 0; d < row->rank; d++)
        if (__builtin_mul_overflow(bytes, row->size[d], &bytes)) return sc_tell(error, "tensor '%.200s' is too large", name);
    if (row->offsets[0] > row->offsets[1] || row->offsets[1] > span->bytes)
        return sc_tell(error, "tensor '%.200s' lies outside of the file: is the file complete?", name);
    if (row->offsets[1] - row->offsets[0] != bytes)
        return sc_tell(error, "tensor '%.200s' has %llu bytes of data, its shape needs %llu", name,
                       (unsigned long long)(row->offsets[1] - row->offsets[0]), (unsigned long long)bytes);
    return 0;
}
