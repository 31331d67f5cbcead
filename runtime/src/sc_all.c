/* sc_all.c - every file that depends on the ISA level in one translation unit, for programs that include the runtime
 * (SC_UNITY): one unit per level, in which unused operations cost nothing.
 * Written from runtime/kernels by `python -m scriptc.runtime.kernels`. */
#ifndef SC_UNITY
#define SC_UNITY 1
#endif
#include "sc_layout.c"
#include "sc_iter_staging.c"
#include "sc_iter.c"
#include "sc_check.c"
#include "sc_copy_elements.c"
#include "sc_convert.c"
#include "sc_copy.c"
#include "sc_view.c"
#include "sc_complex.c"
#include "sc_join.c"
#include "sc_pad.c"
#include "sc_stacked.c"
#include "sc_reduce.c"
#include "sc_index.c"
#include "sc_scan.c"
#include "sc_sort.c"
#include "sc_norm.c"
#include "sc_random.c"
#include "sc_list.c"
#include "sc_dict.c"
#include "sc_str.c"
#include "sc_unicode.c"
#include "sc_str_case.c"
#include "sc_format.c"
#include "sc_text.c"
#include "sc_tensor_text.c"
#include "sc_special.c"
#include "sc_peaks.c"
#ifndef SC_WITHOUT_CONTRACTIONS /* set by tests of the files above alone */
#include "sc_gemm.c"
#include "sc_outer_sum.c"
#include "sc_linear_rows.c"
#include "sc_linalg.c"
#endif
#ifndef SC_WITHOUT_IMAGES /* set by tests of the files above alone */
#include "sc_conv_direct.c"
#include "sc_conv_tile.c"
#include "sc_conv_packed.c"
#include "sc_conv_depthwise.c"
#include "sc_conv_winograd.c"
#include "sc_conv.c"
#include "sc_signs.c"
#include "sc_signs_product.c"
#include "sc_pool.c"
#include "sc_resample.c"
#include "sc_boxes.c"
#endif
