/* sc_slots.c - objects that outlive a call: values that the caller keeps for the program, and prepared weights. */
#include "../include/sc.h"
#include <string.h>

static sc_target *target_at(sc_ctx *cx, int target) {
    if (target >= cx->n_targets) {
        int n = cx->n_targets ? 2 * cx->n_targets : 8;
        n = n > target ? n : target + 1;
        sc_target *grown = cx->alloc.realloc(cx->alloc.user, cx->targets, (size_t)cx->n_targets * sizeof *grown, (size_t)n * sizeof *grown);
        if (!grown) return NULL;
        for (int i = cx->n_targets; i < n; i++) grown[i] = (sc_target){.form = SC_UNSET};
        cx->targets = grown;
        cx->n_targets = n;
    }
    return &cx->targets[target];
}

int sc_state_set(sc_ctx *cx, int target, int form, int n, const sc_value *leaves, const char *kinds) {
    sc_target *t = target_at(cx, target);
    if (t && n > t->cap) {
        sc_value *grown = cx->alloc.realloc(cx->alloc.user, t->leaves, (size_t)t->cap * sizeof *grown, (size_t)n * sizeof *grown);
        if (grown) t->leaves = grown, t->cap = n;
    }
    if (!t || n > t->cap) return sc_raise(cx, "MemoryError", "out of memory");
    for (int i = 0; i < n; i++)
        if (kinds[i] == 'o') sc_retain(leaves[i].o);
    for (int i = 0; t->form >= 0 && i < t->n; i++)
        if (t->kinds[i] == 'o') sc_release(cx, t->leaves[i].o);
    if (t->form < 0) t->order = cx->n_set++;
    for (int i = 0; i < n; i++) t->leaves[i] = leaves[i];
    t->form = form;
    t->n = n;
    t->kinds = kinds;
    t->was_deleted |= form == SC_DELETED;
    return 0;
}

static sc_obj *find_kept(const sc_ctx *cx, int slot) {
    for (int i = 0; i < cx->n_kept; i++) {
        const struct sc_kept *k = &cx->kept_index[i];
        if (k->program == cx->locs && k->slot == slot) return k->object;
    }
    return NULL;
}

bool sc_has_kept(const sc_ctx *cx, int slot) {
    return find_kept(cx, slot) != NULL;
}

sc_obj *sc_ctx_kept(const sc_ctx *cx, int slot) {
    sc_obj *found = find_kept(cx, slot);
    if (found) found->refs++;
    return found;
}

static void move_to_kept(sc_ctx *cx, sc_obj *o) {
    o->prev->next = o->next;
    o->next->prev = o->prev;
    o->next = &cx->kept;
    o->prev = cx->kept.prev;
    cx->kept.prev->next = o;
    cx->kept.prev = o;
}

/* Prepared weights of a program that has more of them than near caches hold share blocks of SC_ROOM_BYTES in large pages
 * (sc_libc_blocks.h), of which a smaller weight would get none. Pages that nothing touched take no memory. */
enum { ROOM_FROM = 4 << 20,                        /* bytes of prepared weights before there are rooms */
       ROOM_LEAST = 1 << 14, ROOM_MOST = 4 << 20 }; /* bytes of a weight in a room; a larger one has large pages of its own */

/* Return a place for some bytes in a room, or NULL. */
static void *take_room(sc_ctx *cx, size_t nbytes) {
    struct sc_room *room = cx->rooms;
    if (!room || SC_ROOM_BYTES - room->taken < nbytes) {
        if (!(room = cx->alloc.realloc(cx->alloc.user, NULL, 0, SC_ROOM_BYTES))) return NULL;
        *room = (struct sc_room){cx->rooms, SC_ALIGN};
        cx->rooms = room;
    }
    void *place = (char *)room + room->taken;
    room->taken += (nbytes + SC_ALIGN - 1) / SC_ALIGN * SC_ALIGN;
    return place;
}

/* Return a copy of a storage in a room, or the storage itself. empty: the contents do not count. */
static sc_storage *in_room(sc_ctx *cx, sc_storage *s, bool empty) {
    if (!cx->has_libc || cx->kept_bytes < ROOM_FROM || s->nbytes < ROOM_LEAST || s->nbytes >= ROOM_MOST) return s;
    sc_error before = cx->error;
    void *place = take_room(cx, s->nbytes);
    sc_storage *copy = place ? sc_object(cx, SC_STORAGE) : NULL;
    if (!copy) {
        cx->error = before;
        return s;
    }
    copy->data = empty ? place : memcpy(place, s->data, s->nbytes);
    copy->nbytes = s->nbytes, copy->capacity = 0;
    copy->flags = SC_EXTERNAL; /* the block is freed with the context */
    copy->index = -1, copy->owner = NULL;
    cx->bytes_live += s->nbytes, cx->asked_live += s->nbytes; /* no peak: the program needs one of the two */
    return copy;
}

/* Let an object refer to a storage whose block fits. empty: as of in_room. */
static void fit(sc_ctx *cx, const sc_obj *object, sc_storage **storage, void **data, bool empty) {
    sc_storage *own = object->kind == SC_PACKED ? in_room(cx, *storage, empty) : *storage;
    if (own == *storage && !empty) own = sc_storage_fitting(cx, *storage);
    if (own == *storage) return;
    if (data) *data = (char *)own->data + ((char *)*data - (char *)(*storage)->data);
    sc_release(cx, *storage);
    *storage = own;
}

static int keep(sc_ctx *cx, int slot, sc_obj *object, sc_storage **storage, void **data, bool empty) {
    size_t row = sizeof *cx->kept_index, old = (size_t)cx->n_kept * row;
    struct sc_kept *index = sc_memory(cx, cx->kept_index, old, old + row);
    if (!index) return -1;
    index[cx->n_kept] = (struct sc_kept){cx->locs, slot, object};
    cx->kept_index = index;
    cx->n_kept++;
    fit(cx, object, storage, data, empty);
    move_to_kept(cx, object);
    move_to_kept(cx, &(*storage)->obj);
    object->refs++;
    cx->kept_bytes += (*storage)->nbytes;
    if (cx->on_keep && !empty) cx->on_keep(cx, (*storage)->nbytes);
    return 0;
}

int sc_ctx_keep(sc_ctx *cx, int slot, sc_obj *object, sc_storage **storage, void **data) {
    return keep(cx, slot, object, storage, data, false);
}

int sc_ctx_keep_empty(sc_ctx *cx, int slot, sc_obj *object, sc_storage **storage) {
    return keep(cx, slot, object, storage, NULL, true);
}
