/* sc_libc_blocks.h - blocks of memory from libc, the allocator of contexts that are given none. Included first, since it asks for
 * functions beyond C. */
#ifndef SC_LIBC_BLOCKS_H
#define SC_LIBC_BLOCKS_H
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* posix_memalign, madvise */
#endif
#include <stdlib.h>

#ifdef __linux__
#include <sys/mman.h>

enum { LARGE_PAGE = 2 << 20, LARGE_BLOCK = 2 * LARGE_PAGE };

/* Return a block in large pages, which a core reads a third faster than small ones, if the system has some. Only whole pages are
 * asked for, so a block does not take more memory. */
static void *large_block(size_t nbytes) {
    void *block = NULL;
    if (posix_memalign(&block, LARGE_PAGE, nbytes)) return NULL;
    madvise(block, nbytes / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE); /* may fail: then pages are small */
    return block;
}
#endif

static void *libc_realloc(void *user, void *block, size_t old, size_t nbytes) {
    (void)user, (void)old;
#ifdef __linux__
    if (!block && nbytes >= LARGE_BLOCK) return large_block(nbytes);
#endif
    if (nbytes) return realloc(block, nbytes);
    free(block);
    return NULL;
}

#endif
