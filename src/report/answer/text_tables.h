/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_TABLES_H
#define TEXT_TABLES_H
/*
 * What `why -v` shows behind the verdict: requests, threads, resources,
 * locks, conversations, disks, CPU takers, cgroups, losses.
 */

struct answer;
struct pen;

void text_tables(struct pen *p, const struct answer *a);

#endif /* TEXT_TABLES_H */
