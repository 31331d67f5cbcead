/* sc_state_file.c - states as safetensors files, one tensor for each leaf: a number has no dimensions, text is UTF-8 in a
 * tensor of bytes, a list of numbers is one tensor, and the items of another list NAME are NAME.0, NAME.1, ... An absent
 * value has no tensor. A saved file has a CRC-32 of all that follows its metadata; a file from elsewhere need not. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sc_cells.h"
#include "sc_safetensors.h"

#define CHECKSUM "scriptc_state_crc32"
#define ANY_RANK 255

static bool has_numbered_items(const sc_leaf *leaf) { return leaf->is_list && (leaf->is_tensor || leaf->is_text); }

/* ---- kinds of values ---- */

static unsigned all_kinds(const sc_leaf *leaf) { return (1u << leaf->n_kinds) - 1; }

static bool is_number(const sc_leaf *leaf) { return !leaf->is_list && !leaf->is_tensor && !leaf->is_text; }

/* Return the kinds of values, a bit for each, that the presence of a leaf's tensor or text fits. */
static unsigned kinds_by_presence(const sc_leaf *leaf, const sc_cell *c) {
    if (leaf->is_list || is_number(leaf)) return all_kinds(leaf);
    return c->form.data || c->text ? leaf->given : all_kinds(leaf) & ~(unsigned)leaf->given;
}

/* Return the kinds of values that the number of a leaf fits. */
static unsigned kinds_by_number(const sc_leaf *leaf, const sc_cell *c) {
    unsigned kinds = all_kinds(leaf);
    int64_t number = leaf->is_bool ? c->number.b : c->number.i;
    for (int k = 0; k < leaf->n_kinds; k++)
        if (leaf->fixed >> k & 1 && leaf->fixed_to[k] != number) kinds &= ~(1u << k);
    return kinds;
}

static bool is_single(unsigned kinds) { return kinds && !(kinds & (kinds - 1)); }

/* Return the end of the leaves of the slot that leaf i begins. */
static int slot_end(const sc_package *p, int i) {
    int end = i + 1;
    while (end < p->n_leaves && p->leaves[end].slot == p->leaves[i].slot) end++;
    return end;
}

/* ---- saving ---- */

typedef struct piece { /* one tensor of the file */
    const sc_leaf *leaf;
    const sc_cell *cell;
    int64_t item; /* of a list, or -1 */
    size_t begin, bytes;
} piece;

typedef struct buffer { /* text that grows */
    char *at;
    size_t n, cap;
    bool failed; /* memory has ended */
} buffer;

static void add(buffer *b, const char *text, size_t n) {
    if (b->failed) return;
    if (b->n + n > b->cap) {
        size_t cap = 2 * (b->n + n) + 256;
        char *grown = realloc(b->at, cap);
        if (!grown) {
            b->failed = true;
            return;
        }
        b->at = grown;
        b->cap = cap;
    }
    memcpy(b->at + b->n, text, n);
    b->n += n;
}

static void add_text(buffer *b, const char *text) { add(b, text, strlen(text)); }

static void add_number(buffer *b, uint64_t number) {
    char text[24];
    add(b, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)number));
}

static void add_name(buffer *b, const piece *p) {
    for (const char *c = p->leaf->name; *c; c++) {
        char text[8];
        if ((unsigned char)*c < 0x20) add(b, text, (size_t)snprintf(text, sizeof text, "\\u%04x", (unsigned)*c));
        else if (*c == '"' || *c == '\\') add(b, (char[]){'\\', *c}, 2);
        else add(b, c, 1);
    }
    if (p->item < 0) return;
    add_text(b, ".");
    add_number(b, (uint64_t)p->item);
}

static int rank_of(const piece *p) {
    return p->leaf->is_tensor ? p->cell->form.rank : p->leaf->is_text || p->leaf->is_list;
}

static uint64_t size_of(const piece *p, int dim) {
    if (p->leaf->is_tensor) return (uint64_t)p->cell->form.size[dim];
    return p->leaf->is_text ? sc_str_utf8_length(p->cell->text) : (uint64_t)p->cell->n;
}

static void add_row(buffer *b, const piece *p) {
    add_text(b, ",\"");
    add_name(b, p);
    add_text(b, "\":{\"dtype\":\"");
    add_text(b, sc_dtype_names[p->leaf->dtype]);
    add_text(b, "\",\"shape\":[");
    for (int d = 0; d < rank_of(p); d++) {
        add_text(b, d ? "," : "");
        add_number(b, size_of(p, d));
    }
    add_text(b, "],\"data_offsets\":[");
    add_number(b, p->begin);
    add_text(b, ",");
    add_number(b, p->begin + p->bytes);
    add_text(b, "]}");
}

static char *write_number(const sc_leaf *leaf, sc_value v, char *to) {
    char truth = leaf->is_bool && v.b;
    size_t bytes = sc_dtype_size(leaf->dtype);
    memcpy(to, leaf->is_bool ? (const void *)&truth : (const void *)&v, bytes); /* an int or a double has eight bytes */
    return to + bytes;
}

/* Write the elements of a tensor in row-major order. */
static char *write_elements(const sc_tensor *t, int dim, const char *from, char *to) {
    size_t item = sc_dtype_size(t->dtype);
    if (dim == t->rank) return (char *)memcpy(to, from, item) + item;
    for (int64_t i = 0; i < t->size[dim]; i++) to = write_elements(t, dim + 1, from + (size_t)(i * t->stride[dim]) * item, to);
    return to;
}

static void write_piece(const piece *p, char *to) {
    if (p->leaf->is_tensor) write_elements(&p->cell->form, 0, p->cell->form.data, to);
    else if (p->leaf->is_text) sc_str_utf8_write(p->cell->text, to);
    else if (!p->leaf->is_list) write_number(p->leaf, p->cell->number, to);
    else
        for (int64_t i = 0; i < p->cell->n; i++) to = write_number(p->leaf, p->cell->items[i].number, to);
}

/* Return whether a number is saved: if its slot's value has it, unless the other leaves show what it is. */
static bool is_saved(const sc_leaf *leaf, unsigned kinds, unsigned by_presence) {
    return leaf->given & kinds && !(leaf->fixed == all_kinds(leaf) && is_single(by_presence));
}

/* Write the pieces of a cell to out, unless out is NULL, and return their number. */
static int64_t pieces_of(const sc_leaf *leaf, const sc_cell *cell, unsigned kinds, unsigned by_presence, piece *out) {
    if (!has_numbered_items(leaf)) {
        if (out) *out = (piece){leaf, cell, -1, 0, 0};
        if (is_number(leaf)) return is_saved(leaf, kinds, by_presence);
        return leaf->is_list || (leaf->is_tensor ? cell->form.data != NULL : cell->text != NULL);
    }
    for (int64_t i = 0; out && i < cell->n; i++) out[i] = (piece){leaf, &cell->items[i], i, 0, 0};
    return cell->n;
}

/* Write the pieces of all cells to out, unless out is NULL, and return their number. */
static int64_t all_pieces(const sc_state *s, piece *out) {
    const sc_package *p = s->model->package;
    int64_t n = 0;
    for (int begin = 0, end; begin < p->n_leaves; begin = end) {
        unsigned kinds = all_kinds(&p->leaves[begin]), by_presence = kinds;
        end = slot_end(p, begin);
        for (int i = begin; i < end; i++) {
            by_presence &= kinds_by_presence(&p->leaves[i], &s->cells[i]);
            if (is_number(&p->leaves[i])) kinds &= kinds_by_number(&p->leaves[i], &s->cells[i]);
        }
        for (int i = begin; i < end; i++)
            n += pieces_of(&p->leaves[i], &s->cells[i], kinds & by_presence, by_presence, out ? out + n : NULL);
    }
    return n;
}

static void measure_piece(piece *p) {
    p->bytes = sc_dtype_size(p->leaf->dtype);
    for (int d = 0; d < rank_of(p); d++) p->bytes *= size_of(p, d);
}

/* Give all pieces their place in the data, large elements first, so that all are aligned. Return the size of the data. */
static size_t arrange(piece *pieces, int64_t n) {
    size_t end = 0;
    for (size_t item = 16; item; item /= 2)
        for (int64_t i = 0; i < n; i++)
            if (sc_dtype_size(pieces[i].leaf->dtype) == item) {
                measure_piece(&pieces[i]);
                pieces[i].begin = end;
                end += pieces[i].bytes;
            }
    return end;
}

static char *image_of(const piece *pieces, int64_t n, size_t data, size_t *bytes) {
    static const char metadata[] = "{\"__metadata__\":{\"format\":\"pt\",\"" CHECKSUM "\":\"00000000\"}";
    buffer b = {0};
    add(&b, "\0\0\0\0\0\0\0\0", 8);
    add(&b, metadata, sizeof metadata - 1);
    for (int64_t i = 0; i < n; i++) add_row(&b, &pieces[i]);
    add_text(&b, "}");
    while (!b.failed && b.n % SC_ALIGN) add_text(&b, " ");
    char *image = b.failed ? NULL : realloc(b.at, b.n + data + 1);
    if (!image) {
        free(b.at);
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) write_piece(&pieces[i], image + b.n + pieces[i].begin);
    uint64_t header = b.n - 8;
    memcpy(image, &header, 8);
    *bytes = b.n + data;
    size_t after = 8 + sizeof metadata - 1;
    char sum[16];
    snprintf(sum, sizeof sum, "%08x", (unsigned)sc_crc32(0, image + after, *bytes - after));
    memcpy(image + after - 10, sum, 8);
    return image;
}

/* Write a file that appears whole or not at all: a temporary file beside it replaces it. Return an errno. */
static int write_file(const char *path, const char *data, size_t n) {
    size_t room = strlen(path) + 64;
    char *beside = malloc(room);
    int file = -1, failed = ENOMEM;
    for (int i = 0; beside && file < 0 && i < 10000; i++) { /* files of killed processes may be left */
        snprintf(beside, room, "%s.%ld-%d.tmp", path, (long)getpid(), i);
        file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        failed = errno;
        if (file < 0 && failed != EEXIST) break;
    }
    if (file >= 0) {
        failed = 0;
        for (size_t done = 0; done < n && !failed;) {
            ssize_t written = write(file, data + done, n - done);
            if (written > 0) done += (size_t)written;
            else if (written == 0 || errno != EINTR) failed = written ? errno : EIO;
        }
        if (!failed && fsync(file)) failed = errno;
        if (close(file) && !failed) failed = errno;
        if (!failed && rename(beside, path)) failed = errno;
        if (failed) unlink(beside);
    }
    free(beside);
    return failed;
}

/* Make the new name of a file last through a loss of power, where the file system can. */
static void sync_folder(const char *path) {
    char *folder = strdup(path), *end = folder ? strrchr(folder, '/') : NULL;
    if (end) end[end == folder] = 0;
    int file = folder ? open(end ? folder : ".", O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        (void)!fsync(file);
        close(file);
    }
    free(folder);
}

int sc_state_save(const sc_state *s, const char *path, sc_text error) {
    size_t bytes = 0;
    if (!path) return sc_tell(error, "no path of a state was given");
    int64_t n = all_pieces(s, NULL);
    piece *pieces = calloc((size_t)n + 1, sizeof *pieces);
    if (pieces) all_pieces(s, pieces);
    char *image = pieces ? image_of(pieces, n, arrange(pieces, n), &bytes) : NULL;
    free(pieces);
    if (!image) return sc_tell(error, "out of memory");
    struct stat info;
    char *real = realpath(path, NULL); /* a link stays; NULL for a new file */
    const char *to = real ? real : path;
    bool is_special = !stat(to, &info) && !S_ISREG(info.st_mode);
    int failed = is_special ? EINVAL : write_file(to, image, bytes);
    if (!failed) sync_folder(to);
    free(real);
    free(image);
    if (!failed) return 0;
    return sc_tell(error, "cannot write state '%s': %s", path, is_special ? "not a regular file" : strerror(failed));
}

/* ---- loading ---- */

typedef struct loader {
    const sc_package *package;
    sc_cell *made;  /* as many as the package has leaves */
    uint8_t *found; /* which leaves the file has */
    sc_ctx *cx;     /* makes strings */
    sc_span span;
    char sum[16]; /* the checksum, or "" */
} loader;

static int state_metadata(void *user, const char *key, const char *value, sc_text error) {
    if (!strcmp(key, CHECKSUM)) snprintf(((loader *)user)->sum, sizeof ((loader *)user)->sum, "%s", value);
    return (void)error, 0;
}

/* Return the leaf of a tensor of the file, or -1. *item becomes the number of an item of a list, or -1. */
static int leaf_named(const sc_package *p, const char *name, int64_t *item) {
    const char *dot = strrchr(name, '.');
    *item = -1;
    for (int i = 0; i < p->n_leaves; i++)
        if (!has_numbered_items(&p->leaves[i]) && !strcmp(p->leaves[i].name, name)) return i;
    if (!dot || !dot[1] || strlen(dot + 1) > 8 || strspn(dot + 1, "0123456789") != strlen(dot + 1)) return -1;
    *item = strtol(dot + 1, NULL, 10);
    size_t length = (size_t)(dot - name);
    for (int i = 0; i < p->n_leaves; i++) {
        const char *list = p->leaves[i].name;
        if (has_numbered_items(&p->leaves[i]) && strlen(list) == length && !memcmp(list, name, length)) return i;
    }
    return -1;
}

static int check_form(const loader *l, const sc_leaf *leaf, const char *name, const sc_row *row, sc_text error) {
    int rank = leaf->is_tensor ? leaf->rank : leaf->is_text || leaf->is_list;
    const char *dtype = sc_dtype_names[leaf->dtype];
    if (strcmp(row->dtype, dtype))
        return sc_tell(error, "tensor '%.200s' has dtype %.16s, compiled for %s", name, row->dtype, dtype);
    if (rank != ANY_RANK && row->rank != rank)
        return sc_tell(error, "tensor '%.200s' has %d dimensions, compiled for %d", name, row->rank, rank);
    bool is_fixed = leaf->is_tensor && !leaf->is_list && leaf->target < 0 && leaf->weight >= 0; /* changed in place alone */
    for (int d = 0; d < row->rank; d++) {
        uint64_t most = INT64_MAX, size = is_fixed ? (uint64_t)l->package->weights[leaf->weight].size[d] : row->size[d];
        if (row->size[d] != size)
            return sc_tell(error, "tensor '%.200s' has size %llu in dimension %d, compiled for %llu", name,
                           (unsigned long long)row->size[d], d, (unsigned long long)size);
        if (size > most) return sc_tell(error, "tensor '%.200s' is too large", name);
    }
    return sc_check_data(&l->span, name, row, sc_dtype_size(leaf->dtype), error);
}

static int load_tensor(sc_cell *c, const sc_leaf *leaf, const sc_row *row, const char *data) {
    sc_tensor t = {.dtype = leaf->dtype, .rank = (uint8_t)row->rank, .data = (void *)(uintptr_t)data};
    uint64_t count = 1, numel = 1;
    for (int d = row->rank; d-- > 0;) {
        t.size[d] = (int64_t)row->size[d];
        t.stride[d] = (int64_t)count;
        count *= row->size[d] ? row->size[d] : 1;
        numel *= row->size[d];
    }
    t.numel = (int64_t)numel;
    if (sc_cell_set_tensor(c, &t)) return -1;
    uint8_t *bools = c->form.data;
    for (int64_t i = 0; leaf->dtype == SC_BOOL && i < t.numel; i++) bools[i] = bools[i] != 0;
    return 0;
}

static int load_text(loader *l, sc_cell *c, const char *data, size_t n) {
    if (!l->cx && !(l->cx = sc_ctx_new(NULL))) return -1;
    sc_str *text = sc_str_from_utf8(l->cx, data, n);
    return text ? sc_cell_set_text(c, text) : -1;
}

static const char *load_number(const sc_leaf *leaf, sc_cell *c, const char *data) {
    if (leaf->is_bool) c->number = (sc_value){.b = *data != 0};
    else memcpy(&c->number, data, 8);
    return data + sc_dtype_size(leaf->dtype);
}

static void set_number(const sc_leaf *leaf, sc_cell *c, int64_t number) {
    c->number = leaf->is_bool ? (sc_value){.b = number != 0} : (sc_value){.i = number};
}

static int load_numbers(const sc_leaf *leaf, sc_cell *c, uint64_t n, const char *data) {
    if (n && !(c->items = calloc(n, sizeof *c->items))) return -1;
    for (; (uint64_t)c->n < n; c->n++) data = load_number(leaf, &c->items[c->n], data);
    return 0;
}

/* Return the cell of an item, for which the list grows; NULL if memory ends. */
static sc_cell *item_cell(sc_cell *list, int64_t item) {
    if (item >= list->n) {
        sc_cell *grown = realloc(list->items, (size_t)(item + 1) * sizeof *grown);
        if (!grown) return NULL;
        memset(grown + list->n, 0, (size_t)(item + 1 - list->n) * sizeof *grown);
        list->items = grown;
        list->n = item + 1;
    }
    return &list->items[item];
}

static int state_tensor(void *user, const char *name, const sc_row *row, sc_text error) {
    loader *l = user;
    int64_t item;
    int i = leaf_named(l->package, name, &item), failed;
    bool is_far = item >= l->span.data - l->span.after_metadata; /* the header has more bytes than items */
    if (i < 0 || is_far) return sc_tell(error, "unknown tensor '%.200s'", name);
    const sc_leaf *leaf = &l->package->leaves[i];
    if (check_form(l, leaf, name, row, error)) return -1;
    sc_cell *c = item < 0 ? &l->made[i] : item_cell(&l->made[i], item);
    if (!c) return sc_tell(error, "out of memory");
    if (c->form.data || c->text || (item < 0 && l->found[i]))
        return sc_tell(error, "tensor '%.200s' stands twice in the header", name);
    l->found[i] = 1;
    const char *data = l->span.data + row->offsets[0];
    if (leaf->is_tensor) failed = load_tensor(c, leaf, row, data);
    else if (leaf->is_text) failed = load_text(l, c, data, (size_t)(row->offsets[1] - row->offsets[0]));
    else failed = leaf->is_list ? load_numbers(leaf, c, row->size[0], data) : (load_number(leaf, c, data), 0);
    return failed ? sc_tell(error, "out of memory") : 0;
}

/* Check that the file has all that code needs of a slot: values that fit one of its kinds. Numbers that the kind fixes
 * need not be in the file. */
static int check_slot(loader *l, int begin, int end, sc_text error) {
    const sc_leaf *leaves = l->package->leaves;
    unsigned kinds = all_kinds(&leaves[begin]);
    const char *missing = NULL, *last = leaves[begin].name;
    for (int i = begin; i < end; i++) {
        const sc_leaf *leaf = &leaves[i];
        unsigned lacking = (is_number(leaf) ? leaf->fixed : 0u) | (all_kinds(leaf) & ~(unsigned)leaf->given);
        bool may_lack = !leaf->is_list && lacking;
        if (!l->found[i] && !has_numbered_items(leaf) && !may_lack) return sc_tell(error, "tensor '%s' is missing", leaf->name);
        kinds &= kinds_by_presence(leaf, &l->made[i]);
        if (is_number(leaf)) kinds &= l->found[i] ? kinds_by_number(leaf, &l->made[i]) : lacking;
        if (l->found[i]) last = leaf->name;
        else if (is_number(leaf)) missing = leaf->name;
    }
    if (!kinds) return sc_tell(error, "tensor '%s' does not fit the rest of its value", last);
    if (missing && !is_single(kinds)) return sc_tell(error, "tensor '%s' is missing", missing);
    for (int i = begin; missing && i < end; i++)
        for (int k = 0; !l->found[i] && k < leaves[i].n_kinds; k++)
            if (leaves[i].fixed & kinds & 1u << k) set_number(&leaves[i], &l->made[i], leaves[i].fixed_to[k]);
    return 0;
}

static int check_complete(loader *l, sc_text error) {
    const sc_package *p = l->package;
    for (int i = 0; i < p->n_leaves; i++)
        for (int64_t k = 0; has_numbered_items(&p->leaves[i]) && k < l->made[i].n; k++)
            if (!l->made[i].items[k].form.data && !l->made[i].items[k].text)
                return sc_tell(error, "tensor '%s.%lld' is missing", p->leaves[i].name, (long long)k);
    for (int i = 0; i < p->n_leaves; i = slot_end(p, i))
        if (check_slot(l, i, slot_end(p, i), error)) return -1;
    return 0;
}

static int check_sum(const loader *l, const char *end, sc_text error) {
    char expected[16];
    if (!*l->sum) return 0;
    size_t bytes = (size_t)(end - l->span.after_metadata);
    snprintf(expected, sizeof expected, "%08x", (unsigned)sc_crc32(0, l->span.after_metadata, bytes));
    return strcmp(expected, l->sum) ? sc_tell(error, "the file is damaged (checksum %s, saved with %s)", expected, l->sum) : 0;
}

/* Return the bytes of a file, or NULL after sc_tell. */
static char *read_file(const char *path, size_t *n, sc_text error) {
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), failed = 0;
    char *data = NULL;
    *n = 0;
    if (file < 0) failed = errno;
    else if (fstat(file, &info)) failed = errno;
    else if (!S_ISREG(info.st_mode)) failed = EINVAL;
    else if (!(data = malloc((size_t)info.st_size + 1))) failed = ENOMEM;
    while (data && !failed && *n < (size_t)info.st_size) {
        ssize_t got = read(file, data + *n, (size_t)info.st_size - *n);
        if (got > 0) *n += (size_t)got;
        else if (got == 0) break;
        else if (errno != EINTR) failed = errno;
    }
    if (file >= 0) close(file);
    if (!failed) return data;
    free(data);
    sc_tell(error, "cannot read state '%s': %s", path, failed == EINVAL ? "not a regular file" : strerror(failed));
    return NULL;
}

int sc_state_load(sc_state *s, const char *path, sc_text error) {
    const sc_package *p = s->model->package;
    char why[512] = "";
    sc_text inner = {why, sizeof why};
    size_t n;
    if (!path) return sc_tell(error, "no path of a state was given");
    char *file = read_file(path, &n, error);
    if (!file) return -1;
    size_t leaves = (size_t)p->n_leaves + 1;
    loader l = {.package = p, .made = calloc(leaves, sizeof *l.made), .found = calloc(leaves, 1)};
    const sc_reader to = {&l, state_metadata, state_tensor};
    int failed = !l.made || !l.found ? sc_tell(inner, "out of memory") : sc_read_safetensors(file, n, &to, &l.span, inner);
    failed = failed || check_sum(&l, file + n, inner) || check_complete(&l, inner) ? -1 : 0;
    sc_state_replace(s, l.made, failed);
    if (l.cx) sc_ctx_free(l.cx);
    free(l.found);
    free(file);
    return failed ? sc_tell(error, "state '%s': %s", path, why) : 0;
}
