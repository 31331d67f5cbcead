/* sc_boxes.c - boxes in images: non-maximum suppression, and pooling of the regions that boxes bound. float and double have
 * loops. */
#include <limits.h>
#include <math.h>

#include "sc_internal.h"

enum { BOX_BLOCK = 64, BOX_ROWS = 5 };

typedef struct box_pools { /* of the regions of one call: how many results a region has, and how they are sampled */
    int64_t images, channels, in[2], out[2], ratio;
    double scale;
    bool aligned;
} box_pools;

#define T float
#define N(name) box_##name##_f32
#include "sc_boxes_tile.inc"
#undef T
#undef N
#define T double
#define N(name) box_##name##_f64
#include "sc_boxes_tile.inc"
#undef T
#undef N

static int check_box_dtype(sc_ctx *cx, const char *kernel, const sc_tensor *x) {
    if (x->dtype == SC_F32 || x->dtype == SC_F64) return 0;
    return sc_raise(cx, "NotImplementedError", "\"%s\" not implemented for '%s'", kernel, sc_scalar_type_name(x->dtype));
}

static int check_nms(sc_ctx *cx, const sc_tensor *boxes, const sc_tensor *scores) {
    if (boxes->size[1] != 4)
        return sc_raise(cx, "RuntimeError", "boxes should have 4 elements in dimension 1, got %lld", (long long)boxes->size[1]);
    if (boxes->size[0] != scores->size[0])
        return sc_raise(cx, "RuntimeError",
                        "boxes and scores should have same number of elements in dimension 0, got %lld and %lld",
                        (long long)boxes->size[0], (long long)scores->size[0]);
    if (check_box_dtype(cx, "nms_kernel", boxes)) return -1;
    return boxes->dtype == scores->dtype ? 0 : sc_raise(cx, "RuntimeError", "dets should have the same type as scores");
}

SC_KERNEL sc_tensor *sc_nms(sc_ctx *cx, const sc_tensor *boxes, const sc_tensor *scores, double threshold) {
    if (check_nms(cx, boxes, scores)) return NULL;
    int64_t n = boxes->size[0];
    const int64_t room_size[2] = {BOX_ROWS, n};
    sc_tensor *in = sc_contiguous(cx, (sc_tensor *)boxes), *order = in ? sc_argsort(cx, scores, 0, true, true) : NULL;
    sc_tensor *by = order ? sc_contiguous(cx, order) : NULL, *room = by ? sc_empty(cx, boxes->dtype, 2, room_size) : NULL;
    sc_tensor *off = room ? sc_empty(cx, SC_BOOL, 1, &n) : NULL, *kept = off ? sc_empty(cx, SC_I64, 1, &n) : NULL, *out = NULL;
    if (kept) {
        int64_t found = boxes->dtype == SC_F32 ? box_nms_f32(in->data, by->data, n, threshold, room->data, off->data, kept->data)
                                               : box_nms_f64(in->data, by->data, n, threshold, room->data, off->data, kept->data);
        out = sc_empty(cx, SC_I64, 1, &found);
        if (out) memcpy(out->data, kept->data, (size_t)found * sizeof(int64_t));
    }
    sc_release(cx, in);
    sc_release(cx, order);
    sc_release(cx, by);
    sc_release(cx, room);
    sc_release(cx, off);
    sc_release(cx, kept);
    return out;
}

/* ---- roi_align ---- */

static int check_roi_align(sc_ctx *cx, const sc_tensor *x, const sc_tensor *rois) {
    if (rois->size[1] != 5) return sc_raise(cx, "RuntimeError", "rois must have shape as Tensor[K, 5]");
    if (x->dtype != rois->dtype) return sc_raise(cx, "RuntimeError", "input should have the same type as rois");
    return check_box_dtype(cx, "roi_align_forward_kernel", x);
}

SC_KERNEL sc_tensor *sc_roi_align(sc_ctx *cx, const sc_tensor *x, const sc_tensor *rois, double scale, int64_t height,
                                  int64_t width, int64_t ratio, bool aligned) {
    if (check_roi_align(cx, x, rois)) return NULL;
    box_pools s = {x->size[0], x->size[1], {x->size[2], x->size[3]}, {height, width}, ratio, scale, aligned};
    const int64_t size[4] = {rois->size[0], s.channels, height, width};
    if (height < 0 || width < 0) {
        sc_raise(cx, "RuntimeError", "Trying to create tensor with negative dimension %lld: [%lld, %lld, %lld, %lld]",
                 (long long)(height < 0 ? height : width), (long long)size[0], (long long)size[1], (long long)height,
                 (long long)width);
        return NULL;
    }
    bool single = x->dtype == SC_F32;
    sc_tensor *in = sc_contiguous(cx, (sc_tensor *)x), *by = in ? sc_contiguous(cx, (sc_tensor *)rois) : NULL;
    sc_tensor *out = by ? sc_empty(cx, x->dtype, 4, size) : NULL, *room = NULL;
    if (out && out->numel) {
        int64_t points = single ? box_points_f32(cx, &s, by->data, size[0]) : box_points_f64(cx, &s, by->data, size[0]);
        int64_t bytes = points * (int64_t)sizeof(box_point_f64);
        room = points < 0 ? NULL : sc_empty(cx, SC_U8, 1, &bytes);
        if (!room) {
            sc_release(cx, out);
            out = NULL;
        } else if (single)
            box_roi_align_f32(&s, in->data, by->data, size[0], room->data, out->data);
        else
            box_roi_align_f64(&s, in->data, by->data, size[0], room->data, out->data);
    }
    sc_release(cx, in);
    sc_release(cx, by);
    sc_release(cx, room);
    return out;
}
