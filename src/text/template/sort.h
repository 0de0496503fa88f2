/* sort.h: the filters that order and compare items. Private to this folder. */
#ifndef HN_TEXT_TEMPLATE_SORT_H
#define HN_TEXT_TEMPLATE_SORT_H

#include "text/template/fn.h"

hn_status hn_tpl_filter_sort(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out);
hn_status hn_tpl_filter_dictsort(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out);
hn_status hn_tpl_filter_unique(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out);
hn_status hn_tpl_filter_groupby(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out);
hn_status hn_tpl_filter_min(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out);
hn_status hn_tpl_filter_max(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out);

#endif
