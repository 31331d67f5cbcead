/* sc_special.h - special functions of one or two real numbers, computed in double for every dtype; sc_kernels.h declares them. Each
 * is a series, a recurrence or an integral of tens of terms. Accurate to about 1e-13 of the value where that is not near a zero. */
#ifndef SC_SPECIAL_H
#define SC_SPECIAL_H
#include "sc_kernels.h"

double lgamma_r(double x, int *sign); /* lgamma writes a global; macOS has this one, but its math.h hides it */

#endif
