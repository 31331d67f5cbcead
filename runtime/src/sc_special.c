/* sc_special.c - special functions in double. Small arguments by power series, large ones by asymptotic series, what is
 * between by recurrence toward them or by the trapezoidal rule, which converges exponentially on these integrands. */
#include <math.h>

#include "../include/sc_special.h"

#define PI 3.14159265358979323846
#define SQRT_PI 1.77245385090551602730

/* ---- the gamma family ---- */

SC_KERNEL double sc_lgamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

/* B(2k) / (2k)! */
static const double bernoulli_ratio[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160,
                                         -691.0 / 1307674368000, 1.0 / 74724249600, -3617.0 / 10670622842880000};
enum { BERNOULLIS = sizeof bernoulli_ratio / sizeof *bernoulli_ratio };

SC_KERNEL double sc_digamma(double x) {
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0) {
        if (x == floor(x)) return NAN;
        double part = x - trunc(x); /* tan's argument stays exact, for large x and for small */
        return sc_digamma(1 - x) - PI / tan(PI * part);
    }
    double sum = 0;
    while (x < 10) sum -= 1 / x++;
    double inverse = 1 / (x * x), power = inverse, factorial = 1;
    sum += log(x) - 0.5 / x;
    for (int k = 0; k < BERNOULLIS; k++) { /* B(2k) / (2k x^2k) */
        sum -= bernoulli_ratio[k] * factorial * power;
        factorial *= (2 * k + 2) * (2 * k + 3);
        power *= inverse;
    }
    return sum;
}

/* Compute the Hurwitz zeta function: a sum term by term until q is large, then Euler-Maclaurin. */
SC_KERNEL double sc_zeta(double s, double q) {
    if (s == 1) return INFINITY;
    if (s < 1 || isnan(q)) return NAN;
    if (q <= 0) {
        if (q == floor(q)) return INFINITY;
        if (s != floor(s)) return NAN; /* a power of a negative number */
    }
    double sum = 0;
    for (int i = 0; i < 12 || q < 12; i++) {
        double term = pow(q++, -s);
        sum += term;
        if (q > 1 && fabs(term) < 1e-18 * fabs(sum)) return sum;
        if (i > 10000) return sum; /* far below zero: later terms are still smaller */
    }
    double tail = pow(q, -s), rising = s;
    sum += tail * q / (s - 1) + 0.5 * tail;
    tail /= q;
    for (int k = 0; k < BERNOULLIS; k++) {
        sum += bernoulli_ratio[k] * rising * tail;
        rising *= (s + 2 * k + 1) * (s + 2 * k + 2);
        tail /= q * q;
    }
    return sum;
}

/* Return x^a e^-x / gamma(a + 1). */
static double gamma_term(double a, double x) {
    return exp(a * log(x) - x - sc_lgamma(a + 1));
}

static double lower_gamma_series(double a, double x) {
    double term = 1, sum = 1;
    for (double n = a + 1; fabs(term) > 1e-17 * fabs(sum) && n < a + 100000; n++) {
        term *= x / n;
        sum += term;
    }
    return gamma_term(a, x) * sum;
}

/* Evaluate the continued fraction by Lentz's method. */
static double upper_gamma_fraction(double a, double x) {
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < 100000; i++) {
        double an = -i * (i - a);
        b += 2;
        d = an * d + b;
        c = b + an / c;
        d = 1 / (d == 0 ? 1e-300 : d);
        c = c == 0 ? 1e-300 : c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-16) break;
    }
    return gamma_term(a, x) * a * h;
}

/* Return whether this is an edge case, and write its value to *out. whole: the value if all of the mass is below x. */
static bool gamma_edge(double a, double x, double whole, double *out) {
    if (x < 0 || a < 0) *out = NAN;
    else if (a == 0) *out = x > 0 ? whole : NAN;
    else if (x == 0) *out = 1 - whole;
    else if (isnan(a) || isnan(x)) *out = NAN;
    else if (isinf(a)) *out = isinf(x) ? NAN : 1 - whole;
    else if (isinf(x)) *out = whole;
    else return false;
    return true;
}

SC_KERNEL double sc_igamma(double a, double x) {
    double edge;
    if (gamma_edge(a, x, 1, &edge)) return edge;
    return x < a + 1 ? lower_gamma_series(a, x) : 1 - upper_gamma_fraction(a, x);
}

SC_KERNEL double sc_igammac(double a, double x) {
    double edge;
    if (gamma_edge(a, x, 0, &edge)) return edge;
    return x < a + 1 ? 1 - lower_gamma_series(a, x) : upper_gamma_fraction(a, x);
}

/* ---- the error function and the normal distribution ---- */

/* Solve erfc(x) = z for 0 < z <= 1, from a rational start by Halley's iteration. */
static double erfc_inverse(double z) {
    double t = sqrt(-2 * log(z / 2));
    double x = (t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)))) / sqrt(2);
    for (int i = 0; i < 3; i++) {
        double step = (erfc(x) - z) / (-2 / SQRT_PI * exp(-x * x));
        x -= step / (1 + x * step);
    }
    return x;
}

SC_KERNEL double sc_erfinv(double y) {
    double a = fabs(y);
    if (!(a <= 1)) return NAN;
    if (a == 1) return copysign(INFINITY, y);
    if (a > 0.5) return copysign(erfc_inverse(1 - a), y);
    double x = y * (SQRT_PI / 2) * (1 + PI / 12 * y * y);
    for (int i = 0; i < 3; i++) {
        double step = (erf(x) - y) / (2 / SQRT_PI * exp(-x * x));
        x -= step / (1 + x * step);
    }
    return x;
}

SC_KERNEL double sc_erfcx(double x) {
    if (x < -26.7) return INFINITY;
    if (!(x >= 10)) return exp(x * x) * erfc(x);
    double term = 1, sum = 1, inverse = 1 / (2 * x * x);
    for (int k = 1; k < 12; k++) {
        term *= -(2 * k - 1) * inverse;
        sum += term;
    }
    return sum / (x * SQRT_PI);
}

SC_KERNEL double sc_ndtr(double x) {
    return 0.5 * erfc(-x / sqrt(2));
}

SC_KERNEL double sc_ndtri(double p) {
    if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
    if (!(p > 0 && p < 1)) return NAN;
    return p < 0.5 ? -sqrt(2) * erfc_inverse(2 * p) : sqrt(2) * sc_erfinv(2 * p - 1);
}

SC_KERNEL double sc_log_ndtr(double x) {
    return x < -1 ? log(sc_erfcx(-x / sqrt(2)) / 2) - x * x / 2 : log1p(-erfc(x / sqrt(2)) / 2);
}

/* ---- modified Bessel functions ---- */

/* Return the asymptotic series of I (sign -1) or K (sign 1) of order n. */
static double bessel_asymptotic(int n, double x, double sign) {
    double term = 1, sum = 1;
    for (int k = 1; k < 30 && fabs(term) > 1e-17; k++) {
        term *= sign * (4.0 * n * n - (2.0 * k - 1) * (2.0 * k - 1)) / (8 * x * k);
        sum += term;
    }
    return sum;
}

static double bessel_ie(int n, double x) {
    x = fabs(x);
    if (isinf(x)) return 0;
    if (x > 20) return bessel_asymptotic(n, x, -1) / sqrt(2 * PI * x);
    double term = n ? x / 2 : 1, sum = term;
    for (int k = 1; term > 1e-18 * sum; k++) {
        term *= x * x / 4 / (k * (double)(k + n));
        sum += term;
    }
    return sum * exp(-x);
}

SC_KERNEL double sc_bessel_i0e(double x) {
    return isnan(x) ? x : bessel_ie(0, x);
}

SC_KERNEL double sc_bessel_i1e(double x) {
    return isnan(x) ? x : copysign(bessel_ie(1, x), x);
}

SC_KERNEL double sc_bessel_i0(double x) {
    return sc_bessel_i0e(x) * exp(fabs(x)); /* NaN at infinity, as in eager */
}

SC_KERNEL double sc_bessel_i1(double x) {
    return sc_bessel_i1e(x) * exp(fabs(x));
}

/* Return e^x K(order)(x), the integral of exp(-x (cosh t - 1)) cosh(order t) from 0 to infinity. */
static double bessel_ke(double order, double x) {
    const double h = 0.1;
    double sum = 0.5;
    for (double t = h;; t += h) {
        double decay = x * (cosh(t) - 1);
        if (decay > 745) return sum * h;
        sum += exp(-decay) * cosh(order * t);
    }
}

static double scaled_k(int n, double x) {
    if (isnan(x) || x < 0) return NAN;
    if (x == 0) return INFINITY;
    if (x > 20) return isinf(x) ? 0 : sqrt(PI / (2 * x)) * bessel_asymptotic(n, x, 1);
    return bessel_ke(n, x);
}

SC_KERNEL double sc_bessel_k0e(double x) {
    return scaled_k(0, x);
}

SC_KERNEL double sc_bessel_k1e(double x) {
    return scaled_k(1, x);
}

SC_KERNEL double sc_bessel_k0(double x) {
    return scaled_k(0, x) * exp(-x);
}

SC_KERNEL double sc_bessel_k1(double x) {
    return scaled_k(1, x) * exp(-x);
}

/* Return libm's value, but NaN at infinity, as in eager. */
SC_KERNEL double sc_bessel_j0(double x) {
    return isinf(x) ? NAN : j0(x);
}

SC_KERNEL double sc_bessel_j1(double x) {
    return isinf(x) ? NAN : j1(x);
}

SC_KERNEL double sc_bessel_y0(double x) {
    return isinf(x) ? NAN : y0(x);
}

SC_KERNEL double sc_bessel_y1(double x) {
    return isinf(x) ? NAN : y1(x);
}

/* ---- Airy ---- */

static double airy_series(double x) {
    double f = 1, g = x, cube = x * x * x, sum_f = f, sum_g = g;
    for (int k = 1; k < 200 && (fabs(f) > 1e-18 || fabs(g) > 1e-18); k++) {
        f *= cube / ((3.0 * k - 1) * (3.0 * k));
        g *= cube / ((3.0 * k) * (3.0 * k + 1));
        sum_f += f;
        sum_g += g;
    }
    return 0.355028053887817239 * sum_f - 0.258819403792806798 * sum_g;
}

static double airy_oscillating(double z) {
    double zeta = 2.0 / 3 * z * sqrt(z), u = 1, even = 1, odd = 0;
    for (int k = 1; k < 16; k++) {
        u *= (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2.0 * k - 1)) / zeta;
        double sign = k % 4 < 2 ? 1 : -1;
        if (k % 2) odd += sign * u;
        else even += sign * u;
    }
    return (sin(zeta + PI / 4) * even - cos(zeta + PI / 4) * odd) / (SQRT_PI * sqrt(sqrt(z)));
}

SC_KERNEL double sc_airy_ai(double x) {
    if (isnan(x) || isinf(x)) return NAN;
    if (x < -8) return airy_oscillating(-x);
    if (x < 2) return airy_series(x);
    double zeta = 2.0 / 3 * x * sqrt(x);
    return zeta > 745 ? 0 : sqrt(x / 3) / PI * exp(-zeta) * bessel_ke(1.0 / 3, zeta);
}

/* ---- orthogonal polynomials ---- */

/* Return a degree as an integer. As in eager, a degree outside int64 counts as negative. */
static double degree(double n) {
    return n < 0x1p63 ? trunc(n) : -1;
}

/* Evaluate the recurrence p(0) = 1, p(1) = first, p(k + 1) = 2 x p(k) - p(k - 1). */
static double chebyshev(double x, double first, double n) {
    if (n < 0) return 0;
    double before = 1, p = first;
    if (n < 1) return 1;
    for (double k = 2; k <= n; k++) {
        double next = 2 * x * p - before;
        before = p;
        p = next;
    }
    return p;
}

/* the largest degree for the recurrence; above, polynomials between -1 and 1 are computed from the angle */
enum { RECURRENCE = 64 };

SC_KERNEL double sc_chebyshev_t(double x, double n) {
    n = degree(n);
    return n > RECURRENCE && fabs(x) < 1 ? cos(n * acos(x)) : chebyshev(x, x, n);
}

SC_KERNEL double sc_chebyshev_u(double x, double n) {
    n = degree(n);
    return n > RECURRENCE && fabs(x) < 1 ? sin((n + 1) * acos(x)) / sin(acos(x)) : chebyshev(x, 2 * x, n);
}

SC_KERNEL double sc_chebyshev_v(double x, double n) {
    n = degree(n);
    return n > RECURRENCE && fabs(x) < 1 ? cos((n + 0.5) * acos(x)) / cos(acos(x) / 2) : chebyshev(x, 2 * x - 1, n);
}

SC_KERNEL double sc_chebyshev_w(double x, double n) {
    n = degree(n);
    return n > RECURRENCE && fabs(x) < 1 ? sin((n + 0.5) * acos(x)) / sin(acos(x) / 2) : chebyshev(x, 2 * x + 1, n);
}

/* Evaluate the recurrence p(k + 1) = scale (x p(k) - k p(k - 1)). */
static double hermite(double x, double n, double scale) {
    double before = 1, p = scale * x;
    n = degree(n);
    if (n < 0) return 0;
    if (n < 1) return 1;
    for (double k = 1; k < n; k++) {
        double next = scale * (x * p - k * before);
        before = p;
        p = next;
    }
    return p;
}

SC_KERNEL double sc_hermite_h(double x, double n) {
    return hermite(x, n, 2);
}

SC_KERNEL double sc_hermite_he(double x, double n) {
    return hermite(x, n, 1);
}

SC_KERNEL double sc_laguerre_l(double x, double n) {
    double before = 1, p = 1 - x;
    n = degree(n);
    if (n < 0) return 0;
    if (n < 1 || x == 0) return 1;
    for (double k = 1; k < n; k++) {
        double next = ((2 * k + 1 - x) * p - k * before) / (k + 1);
        before = p;
        p = next;
    }
    return p;
}

SC_KERNEL double sc_legendre_p(double x, double n) {
    double before = 1, p = x;
    n = degree(n);
    if (n < 0) return 0;
    if (n < 1) return 1;
    for (double k = 1; k < n; k++) {
        double next = ((2 * k + 1) * x * p - k * before) / (k + 1);
        before = p;
        p = next;
    }
    return p;
}
