/* sc_profile.h - what instrumented code counts in. A site is a statement of the user's source, or a kernel that it calls; a
 * program numbers its sites. All time between two visits belongs to the site visited first. Code that is not instrumented
 * visits none, and kernels then find no profile to report to. */
#ifndef SC_PROFILE_H
#define SC_PROFILE_H
#include <time.h>

#include "sc_kernels.h"

typedef struct sc_site {
    int64_t visits, ns;
    double flops, bytes; /* as reported by kernels */
} sc_site;

typedef struct sc_event {
    int64_t begin, end; /* nanoseconds of the monotonic clock */
    int32_t site;
} sc_event;

typedef struct sc_profile {
    sc_site *sites;
    sc_event *events;
    int64_t n_events, room, missed; /* events; the most of them; those dropped because there was no room */
    int64_t since;
    int n_sites, at; /* at: the running site, -1: none */
} sc_profile;

/* Attribute time to `site` from now on; -1: to none. */
static inline void sc_profile_at(sc_ctx *cx, int site) {
    sc_profile *p = cx->profile;
    if (!p) return;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    if (p->at >= 0) {
        p->sites[p->at].visits++;
        p->sites[p->at].ns += now - p->since;
        if (p->n_events < p->room) p->events[p->n_events++] = (sc_event){p->since, now, p->at};
        else p->missed++;
    }
    p->at = site < p->n_sites ? site : -1;
    p->since = now;
}

/* Report the work of the running site: floating point operations, and bytes read from and written to memory. */
static inline void sc_profile_work(const sc_ctx *cx, double flops, double bytes) {
    const sc_profile *p = cx->profile;
    if (!p || p->at < 0) return;
    p->sites[p->at].flops += flops;
    p->sites[p->at].bytes += bytes;
}

#endif
