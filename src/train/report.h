/* report.h: report.html of a run: one page that needs nothing else, made of the run's folder:
 * metrics.jsonl, the result's keys and hash, samples.json and certificate.json where they are. */
#ifndef HN_TRAIN_REPORT_H
#define HN_TRAIN_REPORT_H

#include "base/heap.h"

/* Writes DIR/report.html; `path` takes its name. HN_ERR_IO if there is no run in the folder. */
hn_status hn_run_report_write(hn_heap *heap, const char *dir, char path[4096]);

#endif
