/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CALL_COST_H
#define CALL_COST_H
/*
 * What a tracepoint does to call a program, beside the program itself, in ns.
 *
 * bench/callcost: 33 to 37 ns in a loop, 45 to 52 where 256 KiB are touched between two
 * calls, 78 to 130 with 1 MiB.
 */
#define CALL_NS 50.0

#endif /* CALL_COST_H */
