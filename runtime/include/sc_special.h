/* sc_special.h - special functions of one or two real numbers, computed in double for every dtype. Out of line: each is a
 * series, a recurrence or an integral of tens of terms. Accurate to about 1e-13 of the value where that is not near a zero. */
#ifndef SC_SPECIAL_H
#define SC_SPECIAL_H
#include "sc.h"

double lgamma_r(double x, int *sign); /* lgamma writes a global; macOS has this one, but its math.h hides it */

SC_KERNEL double sc_lgamma(double x);
SC_KERNEL double sc_digamma(double x);
SC_KERNEL double sc_zeta(double s, double q);      /* Hurwitz */
SC_KERNEL double sc_igamma(double a, double x);    /* regularised, lower */
SC_KERNEL double sc_igammac(double a, double x);   /* regularised, upper */
SC_KERNEL double sc_erfinv(double y);
SC_KERNEL double sc_erfcx(double x);
SC_KERNEL double sc_ndtr(double x);
SC_KERNEL double sc_ndtri(double p);
SC_KERNEL double sc_log_ndtr(double x);
SC_KERNEL double sc_bessel_j0(double x);
SC_KERNEL double sc_bessel_j1(double x);
SC_KERNEL double sc_bessel_y0(double x);
SC_KERNEL double sc_bessel_y1(double x);
/* modified Bessel functions; the scaled ones by exp(-|x|), of the second kind by exp(x) */
SC_KERNEL double sc_bessel_i0e(double x);
SC_KERNEL double sc_bessel_i1e(double x);
SC_KERNEL double sc_bessel_i0(double x);
SC_KERNEL double sc_bessel_i1(double x);
SC_KERNEL double sc_bessel_k0e(double x);
SC_KERNEL double sc_bessel_k1e(double x);
SC_KERNEL double sc_bessel_k0(double x);
SC_KERNEL double sc_bessel_k1(double x);
SC_KERNEL double sc_airy_ai(double x);
/* orthogonal polynomials of degree n, cut to a whole number; 0 for a negative one */
SC_KERNEL double sc_chebyshev_t(double x, double n);
SC_KERNEL double sc_chebyshev_u(double x, double n);
SC_KERNEL double sc_chebyshev_v(double x, double n);
SC_KERNEL double sc_chebyshev_w(double x, double n);
SC_KERNEL double sc_hermite_h(double x, double n);
SC_KERNEL double sc_hermite_he(double x, double n);
SC_KERNEL double sc_laguerre_l(double x, double n);
SC_KERNEL double sc_legendre_p(double x, double n);

#endif
