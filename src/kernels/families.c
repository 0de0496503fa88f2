/* Which of the tables and slots that were compiled are taken, for a set of levels.
 *
 *     ref -> avx2 -> avx512        tables of the last text level that the set holds, whole
 *                      ^
 *             slots of avx512bf16  put over them, where the set holds that level too
 */
#include "kernels/families.h"

/* ---- what there is; defined in texts, and in files of a level ---- */

#define TABLE(name, level) extern const hn_##name##_kernels hn_##name##_kernels_##level;
#define TABLES_OF_texts(level) HN_FAMILIES(TABLE, level)
#define TABLES_OF_files(level)

#define HN_BUILT(level, made_of) TABLES_OF_##made_of(level)
HN_FAMILIES(TABLE, ref)
#include "base/built.def"
#undef HN_BUILT

/* What a level of files puts into a family's slots, in place of what its texts have: kernels/slots.def is made of the
 * files NAME_<level>.c that are built (cmake/hn_kernels.cmake). */
#define HN_SLOTS(name, level) void hn_##name##_slots_##level(hn_##name##_kernels *k);
#include "kernels/slots.def"
#undef HN_SLOTS

/* ---- what is taken ---- */

#define TAKE_TABLE(name, level) k->name = hn_##name##_kernels_##level;
#define TAKE_TABLES_OF_texts(level)                                                            \
    if (isa & HN_ISA(level)) {                                                                 \
        HN_FAMILIES(TAKE_TABLE, level)                                                         \
    }
#define TAKE_TABLES_OF_files(level)

void hn_families_init(hn_families *k, hn_isa isa)
{
    (void)isa; /* where there is only `ref` */
    HN_FAMILIES(TAKE_TABLE, ref)
#define HN_BUILT(level, made_of) TAKE_TABLES_OF_##made_of(level)
#include "base/built.def"
#undef HN_BUILT
#define HN_SLOTS(name, level)                                                                  \
    if (isa & HN_ISA(level))                                                                   \
        hn_##name##_slots_##level(&k->name);
#include "kernels/slots.def"
#undef HN_SLOTS
    k->gemm.lanes = &k->gemv;
    k->int8.decode = &k->decode;
    k->int8.near = hn_isa_fetches_near();
}
