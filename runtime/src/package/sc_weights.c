/* sc_weights.c - weights from a safetensors file: eight bytes with the length of the header, the header (JSON), the data.
 * The file comes from outside, so nothing in it is believed: it is checked against what the code was compiled for. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sc_package.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "safetensors files are little-endian");

#define MAX_NAME 1024 /* bytes of a tensor's name, terminated */

static const char *const dtype_names[SC_NDTYPES] = {"BOOL", "U8", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64", "C64", "C128"};

int sc_tell(sc_text error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (error.at && error.n) vsnprintf(error.at, error.n, format, args);
    va_end(args);
    return -1;
}

/* ---- CRC-32 as in zlib, eight bytes at a time ---- */

uint32_t sc_crc32(const void *data, size_t bytes) {
    uint32_t table[8][256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        table[0][i] = c;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++) table[t][i] = (table[t - 1][i] >> 8) ^ table[0][table[t - 1][i] & 255];

    const unsigned char *p = data;
    uint32_t crc = ~0u;
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

static bool string(json *j, char out[MAX_NAME]) {
    size_t length = 0;
    if (!eat(j, '"')) return false;
    while (j->at < j->end && *j->at != '"') {
        if (length > MAX_NAME - 8 || (unsigned char)*j->at < 0x20) return false;
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

typedef struct row { /* the entry of one tensor in the header */
    char dtype[MAX_NAME];
    uint64_t size[SC_MAX_RANK], offsets[2];
    int rank;
} row;

static bool tensor_row(json *j, row *r) {
    char key[MAX_NAME];
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

/* ---- the file against what the code was compiled for ---- */

typedef struct reader {
    json header;
    const char *data;
    uint64_t bytes; /* of data */
    const sc_package *package;
    sc_weights *weights;
    sc_text error;
} reader;

static int metadata(reader *r) {
    char key[MAX_NAME], value[MAX_NAME], expected[16];
    json *j = &r->header;
    if (!eat(j, '{')) return sc_tell(r->error, "damaged header: __metadata__");
    if (eat(j, '}')) return 0;
    snprintf(expected, sizeof expected, "%08x", (unsigned)r->package->checksum);
    do {
        if (!string(j, key) || !eat(j, ':') || !string(j, value)) return sc_tell(r->error, "damaged header: __metadata__");
        if (!strcmp(key, "scriptc_crc32") && strcmp(value, expected))
            return sc_tell(r->error, "these weights belong to another build (checksum %.16s, compiled for %s)", value, expected);
    } while (eat(j, ','));
    return eat(j, '}') ? 0 : sc_tell(r->error, "damaged header: __metadata__");
}

static int check_row(reader *r, const sc_weight *w, const row *found) {
    uint64_t bytes = sc_dtype_size(w->dtype);
    if (strcmp(found->dtype, dtype_names[w->dtype]))
        return sc_tell(r->error, "tensor '%s' has dtype %.16s, compiled for %s", w->name, found->dtype, dtype_names[w->dtype]);
    if (found->rank != w->rank)
        return sc_tell(r->error, "tensor '%s' has %d dimensions, compiled for %d", w->name, found->rank, w->rank);
    for (int d = 0; d < w->rank; d++) {
        if (found->size[d] != (uint64_t)w->size[d])
            return sc_tell(r->error, "tensor '%s' has size %llu in dimension %d, compiled for %lld", w->name,
                           (unsigned long long)found->size[d], d, (long long)w->size[d]);
        bytes *= found->size[d];
    }
    if (found->offsets[0] > found->offsets[1] || found->offsets[1] > r->bytes)
        return sc_tell(r->error, "tensor '%s' lies outside of the file: is the file complete?", w->name);
    if (found->offsets[1] - found->offsets[0] != bytes)
        return sc_tell(r->error, "tensor '%s' has %llu bytes of data, its shape needs %llu", w->name,
                       (unsigned long long)(found->offsets[1] - found->offsets[0]), (unsigned long long)bytes);
    return 0;
}

static int place(reader *r, int i, uint64_t begin, uint64_t end) {
    const sc_weight *w = &r->package->weights[i];
    const char *at = r->data + begin;
    if (r->weights->data[i]) return sc_tell(r->error, "tensor '%s' stands twice in the header", w->name);
    if ((uintptr_t)at % sc_dtype_size(w->dtype) == 0) {
        r->weights->data[i] = (void *)(uintptr_t)at; /* never written: the tensors over it are read-only */
        return 0;
    }
    void *copy = malloc(end - begin + 1);
    if (!copy) return sc_tell(r->error, "out of memory");
    r->weights->data[i] = memcpy(copy, at, end - begin);
    r->weights->copied[i] = 1;
    return 0;
}

static int one_tensor(reader *r, const char *name) {
    row found;
    if (!tensor_row(&r->header, &found)) return sc_tell(r->error, "damaged header: tensor '%.200s'", name);
    for (int i = 0; i < r->package->n_weights; i++)
        if (!strcmp(r->package->weights[i].name, name))
            return check_row(r, &r->package->weights[i], &found) ? -1 : place(r, i, found.offsets[0], found.offsets[1]);
    return sc_tell(r->error, "unknown tensor '%.200s'", name);
}

static int read_header(reader *r) {
    char name[MAX_NAME];
    json *j = &r->header;
    if (!eat(j, '{')) return sc_tell(r->error, "damaged header");
    if (!eat(j, '}')) {
        do {
            if (!string(j, name) || !eat(j, ':')) return sc_tell(r->error, "damaged header");
            if (!strcmp(name, "__metadata__") ? metadata(r) : one_tensor(r, name)) return -1;
        } while (eat(j, ','));
        if (!eat(j, '}')) return sc_tell(r->error, "damaged header");
    }
    skip_space(j);
    if (j->at < j->end) return sc_tell(r->error, "damaged header");
    for (int i = 0; i < r->package->n_weights; i++)
        if (!r->weights->data[i]) return sc_tell(r->error, "tensor '%s' is missing", r->package->weights[i].name);
    return 0;
}

int sc_weights_read(sc_weights *w, const sc_package *package, const void *file, size_t bytes, sc_text error) {
    uint64_t header;
    w->n = package->n_weights;
    w->data = calloc((size_t)w->n + 1, sizeof *w->data);
    w->copied = calloc((size_t)w->n + 1, 1);
    if (!w->data || !w->copied) return sc_tell(error, "out of memory");
    if (bytes < 8) return sc_tell(error, "not a safetensors file: too short");
    memcpy(&header, file, 8);
    if (header > bytes - 8) return sc_tell(error, "not a complete safetensors file: the header is longer than the file");
    const char *text = (const char *)file + 8;
    reader r = {{text, text + header}, text + header, bytes - 8 - header, package, w, error};
    if (read_header(&r)) return -1;
    uint32_t found = sc_crc32(r.data, (size_t)r.bytes);
    if (found != package->checksum)
        return sc_tell(error, "the data is damaged or of another build (checksum %08x, compiled for %08x)", (unsigned)found,
                       (unsigned)package->checksum);
    return 0;
}

int sc_weights_open(sc_weights *w, const sc_package *package, const char *path, sc_text error) {
    char why[512] = "";
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return sc_tell(error, "cannot open weights '%s': %s", path, strerror(errno));
    if (fstat(file, &info) || !S_ISREG(info.st_mode)) {
        close(file);
        return sc_tell(error, "weights '%s': not a regular file", path);
    }
    w->map_bytes = (size_t)info.st_size;
    w->map = w->map_bytes ? mmap(NULL, w->map_bytes, PROT_READ, MAP_PRIVATE, file, 0) : NULL;
    close(file);
    if (w->map == MAP_FAILED) {
        w->map = NULL;
        return sc_tell(error, "cannot map weights '%s': %s", path, strerror(errno));
    }
    if (sc_weights_read(w, package, w->map ? w->map : "", w->map_bytes, (sc_text){why, sizeof why}))
        return sc_tell(error, "weights '%s': %s", path, why);
    return 0;
}

void sc_weights_close(sc_weights *w) {
    for (int i = 0; w->data && w->copied && i < w->n; i++)
        if (w->copied[i]) free(w->data[i]);
    free(w->data);
    free(w->copied);
    if (w->map) munmap(w->map, w->map_bytes);
    *w = (sc_weights){0};
}
