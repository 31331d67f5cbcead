/* Strings: widths, sharing, growing, searching, UTF-8, hashes, and every allocation failing once. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/include/sc_ops.h"
#include "../../runtime/include/sc_str.h"

static const sc_str hello = SC_STR_CONSTANT(1, 5, 1, "hello");

static sc_str *utf8(sc_ctx *cx, const char *text) {
    return sc_str_from_utf8(cx, text, strlen(text));
}

static bool is(const sc_str *s, const char *text) {
    char bytes[256];
    assert(sc_str_utf8_length(s) < sizeof bytes);
    *sc_str_utf8_write(s, bytes) = 0;
    return strcmp(bytes, text) == 0;
}

/* Consumes its argument. */
static void expect(sc_ctx *cx, sc_str *s, const char *text) {
    if (!s || !is(s, text)) abort();
    sc_release(cx, s);
}

static void test_widths(sc_ctx *cx) {
    sc_str *a = utf8(cx, "abc"), *b = utf8(cx, "a\xce\xb1"), *c = utf8(cx, "\xf0\x9f\x8d\x8e!");
    assert(a->width == 1 && b->width == 2 && c->width == 4 && c->len == 2);
    sc_str *all = sc_str_concat(cx, a, c, false), *narrow = sc_str_slice(cx, all, 0, 3, 1), *back;
    assert(all->width == 4 && narrow->width == 1 && sc_str_equal(narrow, a) && sc_str_hash(narrow) == sc_str_hash(a));
    expect(cx, sc_str_slice(cx, all, -1, -100, -2), "!ca");
    back = sc_str_replace(cx, c, c, a, -1);
    assert(sc_str_equal(back, a));
    expect(cx, sc_str_replace(cx, a, sc_str_chr(cx, 'b'), b, -1), "aa\xce\xb1""c");
    expect(cx, sc_str_replace(cx, b, sc_str_slice(cx, b, 0, 0, 1), sc_str_chr(cx, '-'), 2), "-a-\xce\xb1");
    assert(sc_str_compare(a, b) < 0 && sc_str_compare(c, b) > 0 && sc_str_compare(a, narrow) == 0);
    sc_str *const made[] = {a, b, c, all, narrow, back};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) sc_release(cx, made[i]);
}

static void test_constants(sc_ctx *cx) {
    sc_str *s = (sc_str *)&hello;
    sc_retain(s);
    sc_release(cx, s);
    sc_release(cx, s);
    assert(is(s, "hello") && sc_str_hash(s) == 1);
    expect(cx, sc_str_concat(cx, s, s, true), "hellohello");
    assert(is(s, "hello"));
    assert(sc_str_chr(cx, 'x') == sc_str_chr(cx, 'x') && sc_str_hash_of(utf8(cx, "x")) == sc_str_hash(sc_str_chr(cx, 'x')));
}

static void test_growing(sc_ctx *cx) {
    sc_str *s = sc_str_chr(cx, 'a');
    for (int i = 1; i < 100000; i++) { /* what compiled code does for s += c */
        sc_str *longer = sc_str_push(cx, s, 'a' + i % 26, true);
        sc_release(cx, s);
        s = longer;
    }
    assert(s->len == 100000 && sc_str_code(s, 99999) == 'a' + 99999 % 26);
    uint64_t hash = sc_str_hash(s);
    sc_str *other = sc_str_concat(cx, s, sc_str_chr(cx, 0x3b1), true);
    assert(other != s && other->width == 2 && sc_str_hash(other) != hash && s->len == 100000);
    sc_retain(s);
    sc_str *third = sc_str_push(cx, s, '!', true); /* somebody else has s */
    assert(third != s && s->len == 100000);
    sc_release(cx, s);
    sc_str *const made[] = {s, other, third};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) sc_release(cx, made[i]);
}

static void test_searching(sc_ctx *cx) {
    sc_str *s = utf8(cx, "abcabcab"), *ab = utf8(cx, "ab"), *wide = utf8(cx, "\xce\xb1"), *none = sc_str_slice(cx, s, 0, 0, 1);
    const int64_t end = INT64_MAX;
    assert(sc_str_find(s, ab, 0, end) == 0 && sc_str_find(s, ab, 1, end) == 3 && sc_str_find(s, ab, 1, 4) == -1);
    assert(sc_str_rfind(s, ab, 0, end) == 6 && sc_str_rfind(s, ab, -8, -1) == 3 && sc_str_find(s, wide, 0, end) == -1);
    assert(sc_str_count(s, ab, 0, end) == 3 && sc_str_count(s, none, 0, end) == 9 && sc_str_find(s, none, 9, end) == -1);
    assert(sc_str_startswith(s, ab, 3, end) && !sc_str_startswith(s, ab, 7, end) && sc_str_endswith(s, ab, 0, end));
    assert(sc_str_holds(s, 'c') && !sc_str_holds(s, 0x163) && sc_str_startswith(s, none, 8, end));
    int64_t code;
    assert(sc_str_get(cx, s, -1, &code) == 0 && code == 'b' && sc_str_get(cx, s, 8, &code) < 0);
    sc_list *parts = sc_list_new(cx, SC_OBJECTS, 0);
    expect(cx, sc_str_join(cx, wide, parts), "");
    for (int i = 0; i < 3; i++) assert(sc_list_append(cx, parts, SC_OBJECTS, (sc_value){.s = i == 1 ? wide : ab}) == 0);
    expect(cx, sc_str_join(cx, utf8(cx, "--"), parts), "ab--\xce\xb1--ab");
    void *const made[] = {s, ab, wide, none, parts};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) sc_release(cx, made[i]);
}

static void test_utf8(sc_ctx *cx) {
    expect(cx, utf8(cx, "\xff\xc3"), "\xef\xbf\xbd\xef\xbf\xbd");
    expect(cx, utf8(cx, "\xed\xa0\x80"), "\xed\xa0\x80"); /* a lone surrogate */
    expect(cx, utf8(cx, "\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf");
}

static void *failing_realloc(void *user, void *block, size_t old, size_t nbytes) {
    long *left = user;
    (void)old;
    if (nbytes && --*left < 0) return NULL;
    if (nbytes) return realloc(block, nbytes);
    free(block);
    return NULL;
}

static int workload(sc_ctx *cx) {
    sc_str *a = utf8(cx, "some text that is longer than what fits behind the struct of a string, so it has a storage");
    sc_str *b = a ? sc_str_repeat(cx, a, 3) : NULL, *c = b ? sc_str_concat(cx, a, b, true) : NULL;
    sc_str *d = c ? sc_str_replace(cx, c, a, (sc_str *)&hello, -1) : NULL;
    sc_list *parts = d ? sc_list_new(cx, SC_OBJECTS, 1) : NULL;
    if (!parts || sc_list_append(cx, parts, SC_OBJECTS, (sc_value){.s = d}) || sc_list_append(cx, parts, SC_OBJECTS, (sc_value){.s = c})) return -1;
    sc_str *e = sc_str_join(cx, a, parts), *f = e ? sc_str_slice(cx, e, 0, 999, 2) : NULL;
    return f ? 0 : -1;
}

static void test_failing_allocations(void) {
    for (long n = 0;; n++) {
        long left = n;
        sc_ctx *cx = sc_ctx_new(&(sc_allocator){failing_realloc, &left});
        if (!cx) continue;
        int status = workload(cx);
        assert(status == 0 || !strcmp(cx->error.type, "MemoryError"));
        sc_ctx_free(cx);
        if (status == 0) return;
    }
}

int main(void) {
    sc_ctx *cx = sc_ctx_new(NULL);
    test_widths(cx);
    test_growing(cx);
    test_searching(cx);
    test_utf8(cx);
    test_constants(cx);
    sc_ctx_free(cx);
    test_failing_allocations();
    puts("ok");
    return 0;
}
