/* sc_tuple.c - tuples of parts, which are keys of dicts that the program has not read yet. */
#include "sc_internal.h"

int sc_tuple_join_parts(sc_ctx *cx, sc_list *t) {
    sc_parts parts = *sc_tuple_parts(t);
    sc_list *room = sc_list_new(cx, (sc_items)t->holds, t->len);
    if (!room) return -1;
    size_t width = t->holds == SC_BOOLS ? sizeof(bool) : sizeof(sc_value), n = (size_t)t->len - 1;
    t->storage = room->storage;
    t->items = room->storage ? room->items : (sc_value *)(void *)(t + 1);
    t->cap = room->cap;
    room->storage = NULL;
    sc_release(cx, room);
    memcpy(t->items, parts.front->items, n * width);
    for (size_t i = 0; t->holds == SC_OBJECTS && i < n; i++) sc_retain(t->items[i].o);
    if (t->holds == SC_BOOLS) t->bools[n] = parts.last.b;
    else t->items[n] = parts.last;
    sc_release(cx, parts.front);
    return 0;
}
