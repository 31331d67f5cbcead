/* sc_weights.c - weights from a safetensors file. The file comes from outside, so nothing in it is believed: it is checked
 * against what the code was compiled for. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* madvise */
#endif
#ifndef _DARWIN_C_SOURCE
#define _DARWIN_C_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sc_safetensors.h"

typedef struct reader {
    sc_span span;
    const sc_package *package;
    sc_weights *weights;
} reader;

static int weights_metadata(void *user, const char *key, const char *value, sc_text error) {
    char expected[16];
    snprintf(expected, sizeof expected, "%08x", (unsigned)((reader *)user)->package->checksum);
    if (!strcmp(key, "scriptc_crc32") && strcmp(value, expected))
        return sc_tell(error, "these weights belong to another build (checksum %.16s, compiled for %s)", value, expected);
    return 0;
}

static int check_row(const reader *r, const sc_weight *w, const sc_row *found, sc_text error) {
    if (strcmp(found->dtype, sc_dtype_names[w->dtype]))
        return sc_tell(error, "tensor '%s' has dtype %.16s, compiled for %s", w->name, found->dtype, sc_dtype_names[w->dtype]);
    if (found->rank != w->rank)
        return sc_tell(error, "tensor '%s' has %d dimensions, compiled for %d", w->name, found->rank, w->rank);
    for (int d = 0; d < w->rank; d++)
        if (found->size[d] != (uint64_t)w->size[d])
            return sc_tell(error, "tensor '%s' has size %llu in dimension %d, compiled for %lld", w->name,
                           (unsigned long long)found->size[d], d, (long long)w->size[d]);
    return sc_check_data(&r->span, w->name, found, sc_dtype_size(w->dtype), error);
}

static int place(reader *r, int i, uint64_t begin, uint64_t end, sc_text error) {
    const sc_weight *w = &r->package->weights[i];
    const char *at = r->span.data + begin;
    if (r->weights->data[i]) return sc_tell(error, "tensor '%s' stands twice in the header", w->name);
    if ((uintptr_t)at % sc_dtype_size(w->dtype) == 0) {
        r->weights->data[i] = (void *)(uintptr_t)at; /* never written: the tensors over it are read-only */
        return 0;
    }
    void *copy = malloc(end - begin + 1);
    if (!copy) return sc_tell(error, "out of memory");
    r->weights->data[i] = memcpy(copy, at, end - begin);
    r->weights->copied[i] = 1;
    return 0;
}

static int weights_tensor(void *user, const char *name, const sc_row *found, sc_text error) {
    reader *r = user;
    for (int i = 0; i < r->package->n_weights; i++) {
        if (strcmp(r->package->weights[i].name, name)) continue;
        if (check_row(r, &r->package->weights[i], found, error)) return -1;
        return place(r, i, found->offsets[0], found->offsets[1], error);
    }
    return sc_tell(error, "unknown tensor '%.200s'", name);
}

void sc_weights_release(const sc_weights *w) {
    if (w->map) madvise(w->map, w->map_bytes, MADV_DONTNEED); /* loses nothing: the mapping is never written */
}

/* Return the checksum of the data. The pages of a mapped file are released meanwhile, so that they are never all in memory. */
static uint32_t checksum(const sc_weights *w, const char *data, size_t bytes) {
    uint32_t crc = 0;
    for (size_t n; bytes; data += n, bytes -= n) {
        n = bytes < SC_RELEASED_BYTES ? bytes : SC_RELEASED_BYTES;
        crc = sc_crc32(crc, data, n);
        sc_weights_release(w);
    }
    return crc;
}

int sc_weights_read(sc_weights *w, const sc_package *package, const void *file, size_t bytes, sc_text error) {
    w->n = package->n_weights;
    w->data = calloc((size_t)w->n + 1, sizeof *w->data);
    w->copied = calloc((size_t)w->n + 1, 1);
    if (!w->data || !w->copied) return sc_tell(error, "out of memory");
    reader r = {.package = package, .weights = w};
    const sc_reader to = {&r, weights_metadata, weights_tensor};
    if (sc_read_safetensors(file, bytes, &to, &r.span, error)) return -1;
    for (int i = 0; i < w->n; i++)
        if (!w->data[i]) return sc_tell(error, "tensor '%s' is missing", package->weights[i].name);
    uint32_t found = checksum(w, r.span.data, (size_t)r.span.bytes);
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
