/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/cmd.h"

/* One declaration and one line for each command; see cmd.h. */

extern const struct cmd cmd_diff;
extern const struct cmd cmd_doctor;
extern const struct cmd cmd_explore;
extern const struct cmd cmd_forest;
extern const struct cmd cmd_functions;
extern const struct cmd cmd_learn;
extern const struct cmd cmd_log;
extern const struct cmd cmd_metrics;
extern const struct cmd cmd_record;
extern const struct cmd cmd_replay;
extern const struct cmd cmd_requests;
extern const struct cmd cmd_serve;
extern const struct cmd cmd_show;
extern const struct cmd cmd_status;
extern const struct cmd cmd_symbols;
extern const struct cmd cmd_stacks;
extern const struct cmd cmd_top;
extern const struct cmd cmd_tracepoints;
extern const struct cmd cmd_why;

const struct cmd *const commands[] = {
	&cmd_why,
	&cmd_stacks,
	&cmd_functions,
	&cmd_requests,
	&cmd_explore,
	&cmd_replay,
	&cmd_forest,
	&cmd_top,
	&cmd_metrics,
	&cmd_record,
	&cmd_serve,
	&cmd_status,
	&cmd_log,
	&cmd_show,
	&cmd_diff,
	&cmd_learn,
	&cmd_symbols,
	&cmd_tracepoints,
	&cmd_doctor,
	NULL,
};
